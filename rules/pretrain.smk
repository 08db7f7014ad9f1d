# Backbones that the graph makes or adapts itself.


rule pretrain_backbone:
    """Make a small BERT: WordPiece vocabulary, LSA-initialised word embeddings."""
    input:
        corpora=WIRING.models.corpora,
    output:
        ONLY.models(PATHS.backbone, "backbone"),
    log:
        PATHS.log("pretrain/{model}"),
    conda:
        NEURAL
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(ESTIMATES.backbone, mem_mb=RESOURCES.backbone_mb),
    params:
        **decided_by("residuum.pretrain", "backbone", WIRING.models.spec),
        corpora=options.each("corpus", "corpora", folder_of, once=False),
        folder=options.output_folder,
        compute_threads=RESOURCES.threads,
    shell:
        "python -m residuum.pretrain backbone {params.corpora} --spec {params.spec:q} "
        "--threads {params.compute_threads} --output {params.folder} 2>&1 | tee {log}"


rule pretrain_adapt:
    """Adapt a backbone to corpora by hidden words, pairs or spans; a rerun resumes."""
    input:
        corpora=WIRING.models.corpora,
        start=WIRING.models.start_files,
    output:
        ONLY.models(PATHS.backbone, "masked-language", "next-text", "inverse-cloze"),
    log:
        PATHS.log("pretrain/{model}"),
    conda:
        NEURAL
    threads: RESOURCES.threads * RESOURCES.gpus
    resources:
        **RESOURCES.training(ESTIMATES.training, mem_mb=6000),
    params:
        **decided_by("residuum.pretrain", "adapt", WIRING.models.spec),
        start=WIRING.models.start,
        corpora=options.each("corpus", "corpora", folder_of, once=False),
        folder=options.output_folder,
        work=PATHS.work("{model}"),
        compute=RESOURCES.precise,
        torchrun=RESOURCES.torchrun,
    shell:
        "{params.torchrun} "
        "python -m residuum.pretrain adapt {params.corpora} --start {params.start} "
        "--spec {params.spec:q} {params.compute} --work {params.work} "
        "--output {params.folder} 2>&1 | tee {log}"

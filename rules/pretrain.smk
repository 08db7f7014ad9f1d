# Backbones that the graph makes or adapts itself.


rule pretrain_backbone:
    """Make a small BERT: WordPiece vocabulary, LSA-initialised word embeddings."""
    input:
        corpora=text_of,
        code=code("residuum.pretrain"),
    output:
        BACKBONE,
    log:
        f"{LOGS}/pretrain/{{backbone}}.log",
    benchmark:
        f"{TIMES}/pretrain/{{backbone}}.tsv"
    wildcard_constraints:
        backbone=either(REGISTRY.models_of("backbone")),
    conda:
        NEURAL
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=lambda w: _registry.spec(REGISTRY.model(w.backbone)),
        corpora=corpus_options,
        folder=lambda w, output: folder(output[0]),
        compute_threads=REGISTRY.scale.threads,
    shell:
        "python -m residuum.pretrain backbone {params.corpora} --spec {params.spec:q} "
        "--threads {params.compute_threads} --output {params.folder} 2>&1 | tee {log}"


rule pretrain_adapt:
    """Adapt a backbone to a corpus by masked-language modelling; a rerun resumes."""
    input:
        corpora=text_of,
        start=start_inputs,
        code=code("residuum.pretrain"),
    output:
        BACKBONE,
    log:
        f"{LOGS}/pretrain/{{backbone}}.log",
    benchmark:
        f"{TIMES}/pretrain/{{backbone}}.tsv"
    wildcard_constraints:
        backbone=either(REGISTRY.models_of("masked-language")),
    conda:
        NEURAL
    threads: REGISTRY.scale.threads * GPUS
    resources:
        mem_mb=6000 * GPUS,
        gpu=GPU * GPUS,
    params:
        spec=lambda w: _registry.spec(REGISTRY.model(w.backbone)),
        start=start_argument,
        corpora=corpus_options,
        folder=lambda w, output: folder(output[0]),
        work=f"{RESULTS}/work/{{backbone}}",
        compute=f"{COMPUTE} {PRECISION}",
        torchrun=TORCHRUN,
    shell:
        "{params.torchrun} "
        "python -m residuum.pretrain adapt {params.corpora} --start {params.start} "
        "--spec {params.spec:q} {params.compute} --work {params.work} "
        "--output {params.folder} 2>&1 | tee {log}"

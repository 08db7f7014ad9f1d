rule termweights_predict:
    """Predict the term weights (DeepCT) of a corpus in parts; a rerun resumes."""
    input:
        corpus=PATHS.corpus,
        model=PATHS.checkpoint,
    output:
        PATHS.term_weights,
    log:
        PATHS.log("termweights/{dataset}.{model}.seed{seed}"),
    conda:
        NEURAL
    threads: RESOURCES.threads
    resources:
        **RESOURCES.card(ESTIMATES.term_weights, mem_mb=6000),
    params:
        **decided_by("residuum.termweights", "predict"),
        corpus=options.folder("corpus"),
        model=options.folder("model"),
        folder=options.output_folder,
        compute=RESOURCES.batches,
    shell:
        "python -m residuum.termweights predict --corpus {params.corpus} --model {params.model} "
        "{params.compute} --output {params.folder} 2>&1 | tee {log}"

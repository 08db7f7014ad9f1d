rule train_train:
    """Train a dual encoder; after a kill the same command resumes."""
    input:
        tuples=WIRING.models.tuples,
        corpus=WIRING.models.trained_on(PATHS.corpus),
        queries=WIRING.models.queries,
        start=WIRING.models.start_files,
        rate=WIRING.models.chosen("learning_rate"),
        steps=WIRING.models.chosen("steps"),
        fixed=WIRING.models.fixed(PATHS.embeddings),
        fixed_queries=WIRING.models.fixed(PATHS.query_embeddings),
        gate=WIRING.models.gate,
        folds=WIRING.models.folds,
        spans=WIRING.models.spans,
        answers=WIRING.models.passage_answers,
    output:
        ONLY.finished(PATHS.checkpoint),
    log:
        PATHS.log("train/{model}.seed{seed}"),
    conda:
        NEURAL
    threads: RESOURCES.threads * RESOURCES.gpus
    resources:
        **RESOURCES.training(ESTIMATES.training, mem_mb=6000),
    params:
        **decided_by("residuum.train", "train", WIRING.models.spec),
        pairs=WIRING.models.pairs,
        start=WIRING.models.start,
        corpus=options.folder("corpus"),
        folder=options.output_folder,
        work=PATHS.work("{model}.seed{seed}"),
        compute=RESOURCES.precise,
        torchrun=RESOURCES.torchrun,
        rate=options.each("rate", "rate"),
        steps=options.each("steps", "steps"),
        fixed=options.each("fixed", "fixed", folder_of),
        fixed_queries=WIRING.models.fixed_queries,
        gate=options.each("gate", "gate", folder_of),
        folds=options.each("fold", "folds", options.by_split),
        held_out=WIRING.models.held_out,
        spans=options.each("spans", "spans", folder_of, once=False),
        answers=options.each("answers", "answers"),
        windows=WIRING.models.windows,
    shell:
        "{params.torchrun} "
        "python -m residuum.train train {params.pairs} --corpus {params.corpus} "
        "--start {params.start} --spec {params.spec:q} "
        "{params.rate} {params.steps} {params.fixed} {params.fixed_queries} {params.gate} "
        "{params.folds} "
        "{params.held_out} {params.spans} {params.answers} {params.windows} "
        "--seed {wildcards.seed} {params.compute} --work {params.work} "
        "--output {params.folder} 2>&1 | tee {log}"

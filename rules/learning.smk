# Whether a model learned: candidates that no step saw, scored by it and by its start, and judged.


rule learning_score:
    """Score the candidates of the tuning split with a trained model and with its start."""
    input:
        run=WIRING.models.candidates,
        queries=WIRING.models.learned_on(PATHS.queries),
        qrels=WIRING.models.learned_on(PATHS.qrels),
        corpus=WIRING.models.learned_on(PATHS.corpus),
        model=PATHS.checkpoint,
        start=WIRING.models.start_files,
    output:
        **recorded(scores=PATHS.held_out),
    log:
        PATHS.log("learning/{model}.seed{seed}.score"),
    conda:
        NEURAL
    threads: RESOURCES.threads
    resources:
        **RESOURCES.card(ESTIMATES.held_out, mem_mb=6000),
    params:
        **decided_by("residuum.learning", "score", WIRING.models.spec),
        corpus=options.folder("corpus"),
        model=options.folder("model"),
        start=WIRING.models.start,
        top=WIRING.models.top,
        windows=WIRING.models.judged_windows,
        kept=WIRING.models.kept,
        compute=RESOURCES.batches,
    shell:
        "python -m residuum.learning score --run {input.run} --top {params.top} "
        "--queries {input.queries} --qrels {input.qrels} --corpus {params.corpus} "
        "--model {params.model} --start {params.start} --spec {params.spec:q} {params.compute} "
        "{params.windows} {params.kept} --output {output.scores} 2>&1 | tee {log}"


rule learning_judge:
    """Say whether a model learned: better than its start and than chance, or not."""
    input:
        scores=WIRING.models.trainings(PATHS.held_out),
        qrels=WIRING.models.learned_on(PATHS.qrels),
        models=WIRING.models.trainings(PATHS.checkpoint),
        depths=WIRING.evaluations.depth_curves,
    output:
        **recorded(verdict=PATHS.learning),
    log:
        PATHS.log("learning/{model}.seed{seed}.judge"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.learning", "judge"),
        scores=options.each("scores", "scores"),
        models=options.each("model", "models", folder_of),
        measure=WIRING.models.learned_by,
        depths=options.each("depths", "depths"),
    shell:
        "python -m residuum.learning judge {params.scores} --qrels {input.qrels} "
        "{params.models} --measure {params.measure} {params.depths} --output {output.verdict} "
        "2>&1 | tee {log}"


rule learning_choose:
    """Choose a learning rate among those that a model was trained at."""
    input:
        trials=WIRING.models.trials,
    output:
        **recorded(record=PATHS.rate),
    log:
        PATHS.log("learning/{dataset}.{split}.{model}.choose"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.learning", "choose"),
        trials=WIRING.models.trial_options,
    shell:
        "python -m residuum.learning choose {params.trials} --output {output.record} "
        "2>&1 | tee {log}"


rule learning_curve:
    """Judge the models that a training kept, and choose a number of steps."""
    input:
        scores=WIRING.models.curve(PATHS.held_out),
        qrels=WIRING.models.learned_on(PATHS.qrels),
    output:
        **recorded(record=PATHS.steps),
    log:
        PATHS.log("learning/{dataset}.{split}.{model}.curve"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.learning", "curve"),
        measure=WIRING.models.learned_by,
        within=WIRING.models.within,
    shell:
        "python -m residuum.learning curve --scores {input.scores} --qrels {input.qrels} "
        "--measure {params.measure} --within {params.within} --output {output.record} "
        "2>&1 | tee {log}"

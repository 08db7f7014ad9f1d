# Fusions by a Python function of one's own: its parameter chosen on queries, then the run.


rule function_tune:
    """Choose the function's parameter on the tuning split, or on folds of the searched one."""
    input:
        runs=WIRING.runs.fused,
        function=WIRING.runs.function,
        qrels=PATHS.qrels,
        folds=WIRING.runs.folds,
    output:
        **recorded(tuning=ONLY.runs(PATHS.tuning, "function")),
    log:
        PATHS.log("function/{dataset}.{split}.{run}.tune"),
    resources:
        **RESOURCES.cpu(ESTIMATES.run, mem_mb=6000),
    params:
        **decided_by("residuum.function", "tune", WIRING.runs.spec),
        runs=options.each("run", "runs", options.by_system),
        folds=options.each("fold", "folds"),
    shell:
        "python -m residuum.function tune --spec {params.spec:q} {params.runs} "
        "--file {input.function:q} --qrels {input.qrels} {params.folds} "
        "--output {output.tuning} 2>&1 | tee {log}"


rule function_fuse:
    """Fuse the runs of the parts by the function, with the parameter that was tuned or given."""
    input:
        runs=WIRING.runs.fused,
        function=WIRING.runs.function,
        tuning=WIRING.runs.tuning,
    output:
        **recorded(run=ONLY.runs(PATHS.run, "function")),
    log:
        PATHS.log("function/{dataset}.{split}.{run}.fuse"),
    resources:
        **RESOURCES.cpu(ESTIMATES.run, mem_mb=6000),
    params:
        **decided_by("residuum.function", "fuse", WIRING.runs.spec),
        runs=options.each("run", "runs", options.by_system),
        tuning=options.each("tuning", "tuning"),
    shell:
        "python -m residuum.function fuse --spec {params.spec:q} {params.runs} "
        "--file {input.function:q} {params.tuning} --tag {wildcards.run} "
        "--output {output.run} 2>&1 | tee {log}"

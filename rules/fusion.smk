# Hybrid runs: lambda chosen on the tuning split or fixed, then the runs of the parts fused.


rule fusion_tune:
    """Choose lambda on the tuning split."""
    input:
        runs=WIRING.runs.fused,
        scores=WIRING.runs.true_scores,
        qrels=WIRING.runs.tuned_by,
        texts=WIRING.runs.tuned_by_texts,
        folds=WIRING.runs.folds,
    output:
        **recorded(tuning=ONLY.runs(PATHS.tuning, "fusion")),
    log:
        PATHS.log("fusion/{dataset}.{split}.{run}.tune"),
    resources:
        **RESOURCES.cpu(ESTIMATES.tuned_fusion, mem_mb=4000),
    params:
        **decided_by("residuum.fusion", "tune", WIRING.runs.spec),
        runs=options.each("run", "runs", options.by_system),
        scores=options.each("scores", "scores", options.by_system),
        folds=options.each("fold", "folds"),
        qrels=options.each("qrels", "qrels"),
        texts=options.texts,
    shell:
        "python -m residuum.fusion tune --spec {params.spec:q} {params.runs} {params.scores} "
        "{params.qrels} {params.texts} {params.folds} --output {output.tuning} 2>&1 | tee {log}"


rule fusion_fuse:
    """Fuse the runs of the parts with the lambda that was tuned or given."""
    input:
        runs=WIRING.runs.fused,
        scores=WIRING.runs.true_scores,
        tuning=WIRING.runs.tuning,
    output:
        **recorded(run=ONLY.runs(PATHS.run, "fusion")),
    log:
        PATHS.log("fusion/{dataset}.{split}.{run}.fuse"),
    resources:
        **RESOURCES.cpu(ESTIMATES.run, mem_mb=4000),
    params:
        **decided_by("residuum.fusion", "fuse", WIRING.runs.spec),
        runs=options.each("run", "runs", options.by_system),
        scores=options.each("scores", "scores", options.by_system),
        tuning=options.each("tuning", "tuning"),
        requested=WIRING.unions.requested,
    shell:
        "python -m residuum.fusion fuse --spec {params.spec:q} {params.runs} {params.scores} "
        "{params.requested} {params.tuning} --tag {wildcards.run} --output {output.run} 2>&1 "
        "| tee {log}"

rule groups_lengths:
    """Group the queries of a split by the words of their relevant docs."""
    input:
        qrels=PATHS.qrels,
        corpus=PATHS.corpus,
    output:
        **recorded(groups=ONLY.groupings(PATHS.groups, "lengths")),
    log:
        PATHS.log("groups/{dataset}.{split}.{grouping}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.lengths, mem_mb=2000),
    params:
        **decided_by("residuum.groups", "lengths", WIRING.groups.spec),
        corpus=options.folder("corpus"),
    shell:
        "python -m residuum.groups lengths --spec {params.spec:q} --qrels {input.qrels} "
        "--corpus {params.corpus} --output {output.groups} 2>&1 | tee {log}"


rule groups_halves:
    """Part the queries of a split by a measure of a system."""
    input:
        metrics=WIRING.groups.metrics,
    output:
        **recorded(groups=ONLY.groupings(PATHS.groups, "halves")),
    log:
        PATHS.log("groups/{dataset}.{split}.{grouping}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.groups", "halves", WIRING.groups.spec),
        metrics=options.each("metrics", "metrics"),
    shell:
        "python -m residuum.groups halves --spec {params.spec:q} {params.metrics} "
        "--output {output.groups} 2>&1 | tee {log}"


rule groups_folds:
    """Group the queries of a split by the folds that it names."""
    input:
        qrels=PATHS.qrels,
        folds=WIRING.runs.folds,
    output:
        **recorded(groups=ONLY.groupings(PATHS.groups, "folds")),
    log:
        PATHS.log("groups/{dataset}.{split}.{grouping}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.groups", "folds", WIRING.groups.spec),
        folds=options.each("fold", "folds"),
    shell:
        "python -m residuum.groups folds --spec {params.spec:q} --qrels {input.qrels} "
        "{params.folds} --output {output.groups} 2>&1 | tee {log}"

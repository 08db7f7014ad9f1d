rule significance_compare:
    """Test the pairs of systems that a table compares, in every column."""
    input:
        metrics=WIRING.pages.tested_metrics,
        learning=WIRING.pages.tested_learning,
        groups=WIRING.pages.tested_groups,
    output:
        **recorded(tests=ONLY.pages(PATHS.significance, "table")),
    log:
        PATHS.log("significance/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.significance", "compare", WIRING.pages.spec),
        together=WIRING.pages.together,
        metrics=PATHS.metrics_root,
        learning=options.each("learning", "learning"),
        groups=options.each("groups", "groups"),
    shell:
        "python -m residuum.significance compare --spec {params.spec:q} {params.together} "
        "--metrics {params.metrics} {params.learning} {params.groups} --workers {threads} "
        "--output {output.tests} 2>&1 | tee {log}"

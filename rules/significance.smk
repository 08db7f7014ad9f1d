rule significance_compare:
    """Test the pairs of systems that a table compares, in every column."""
    input:
        metrics=WIRING.page.table.tested_metrics,
        limits=WIRING.page.table.limits,
        learning=WIRING.page.table.tested_learning,
        groups=WIRING.page.table.tested_groups,
    output:
        **recorded(tests=ONLY.pages(PATHS.significance, "table")),
    log:
        PATHS.log("significance/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.significance", "compare", WIRING.page.table.spec),
        together=WIRING.page.table.together,
        metrics=PATHS.metrics_root,
        bounds=PATHS.bounds_root,
        learning=options.each("learning", "learning"),
        groups=options.each("groups", "groups"),
    shell:
        "python -m residuum.significance compare --spec {params.spec:q} {params.together} "
        "--metrics {params.metrics} --bounds {params.bounds} {params.learning} {params.groups} "
        "--workers {threads} "
        "--output {output.tests} 2>&1 | tee {log}"

rule table_render:
    """Render a paper's table with our numbers and our markers."""
    input:
        metrics=WIRING.pages.metrics,
        records=WIRING.pages.records,
        tests=PATHS.significance,
        tuning=WIRING.pages.tuning,
        learning=WIRING.pages.learning,
        groups=WIRING.pages.groups,
        computed=WIRING.arithmetic.of_table,
    output:
        **SHOWN.texts(ONLY.pages(PATHS.table, "table").forms("md", "tex")),
    log:
        PATHS.log("tables/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.pages.table.make", "render", WIRING.pages.spec),
        metrics=PATHS.metrics_root,
        tuning=options.each("tuning", "tuning"),
        learning=options.each("learning", "learning"),
        groups=options.each("groups", "groups"),
        computed=options.each("computed", "computed"),
    shell:
        "python -m residuum.pages.table.make render --spec {params.spec:q} --metrics {params.metrics} "
        "--significance {input.tests} {params.tuning} {params.learning} {params.groups} "
        "{params.computed} --output {output.tsv} 2>&1 | tee {log}"

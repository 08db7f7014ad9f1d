rule table_render:
    """Render a paper's table with our numbers and our markers."""
    input:
        metrics=WIRING.page.table.metrics,
        records=WIRING.page.table.records,
        tests=PATHS.significance,
        tuning=WIRING.page.table.tuning,
        learning=WIRING.page.table.learning,
        groups=WIRING.page.table.groups,
        computed=WIRING.page.table.computed,
    output:
        **SHOWN.texts(ONLY.pages(PATHS.table, "table").forms("md", "tex")),
    log:
        PATHS.log("tables/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.pages.table.make", "render", WIRING.page.table.spec),
        metrics=PATHS.metrics_root,
        tuning=options.each("tuning", "tuning"),
        learning=options.each("learning", "learning"),
        groups=options.each("groups", "groups"),
        computed=options.each("computed", "computed"),
    shell:
        "python -m residuum.pages.table.make render --spec {params.spec:q} --metrics "
        "{params.metrics} "
        "--significance {input.tests} {params.tuning} {params.learning} {params.groups} "
        "{params.computed} --output {output.tsv} 2>&1 | tee {log}"

rule claims_judge:
    """Judge what a paper says of its results in words."""
    input:
        metrics=WIRING.page.claims.metrics,
        tables=WIRING.page.claims.tables,
        curves=WIRING.page.claims.curves,
        groups=WIRING.page.claims.groups,
        limits=WIRING.page.claims.limits,
        learning=WIRING.page.claims.learning,
        measured=WIRING.page.claims.measured,
    output:
        **SHOWN.texts(ONLY.pages(PATHS.pages["claims"], "claims").forms("md", "tex")),
        **recorded(tests=ONLY.pages(PATHS.significance, "claims")),
    log:
        PATHS.log("claims/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=4000),
    params:
        **decided_by("residuum.pages.claims.make", "judge", WIRING.page.claims.spec),
        metrics=PATHS.metrics_root,
        bounds=PATHS.bounds_root,
        tables=options.each("table", "tables"),
        curves=options.each("depths", "curves"),
        groups=options.each("groups", "groups"),
        learning=options.each("learning", "learning"),
        measured=PATHS.fidelity_root,
    shell:
        "python -m residuum.pages.claims.make judge --spec {params.spec:q} --metrics "
        "{params.metrics} --bounds {params.bounds} "
        "{params.tables} {params.curves} {params.groups} {params.learning} "
        "--measured {params.measured} "
        "--tests {output.tests} --output {output.tsv} "
        "2>&1 | tee {log}"

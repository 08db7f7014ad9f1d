# Figures, and how long the searches of one over efforts took: seconds are no results.


rule figure_draw:
    """Draw measures at every rerank depth or effort, or in every group of the queries."""
    input:
        curves=WIRING.page.figure.curves,
        costs=WIRING.page.figure.costs,
        metrics=WIRING.page.figure.metrics,
        groups=WIRING.page.figure.groups,
        learning=WIRING.page.figure.learning,
    output:
        **SHOWN.drawings(PATHS.pages["figure"].forms("md", "pdf", "png")),
    log:
        PATHS.log("figures/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.pages.figure.make", "draw", WIRING.page.figure.spec),
        metrics=PATHS.metrics_root,
        curves=options.each("curve", "curves"),
        costs=options.each("cost", "costs"),
        groups=options.each("groups", "groups"),
        learning=options.each("learning", "learning"),
    shell:
        "python -m residuum.pages.figure.make draw --spec {params.spec:q} --metrics "
        "{params.metrics} "
        "{params.curves} {params.costs} {params.groups} {params.learning} --output {output.tsv} "
        "2>&1 | tee {log}"


rule figure_time:
    """Draw a figure over efforts by the time that a search takes."""
    input:
        curves=WIRING.page.figure.curves,
        timings=WIRING.page.figure.timings,
        learning=WIRING.page.figure.learning,
    output:
        tsv=PATHS.page_timing,
        pdf=PATHS.page_timing.beside(".pdf"),
        png=PATHS.page_timing.beside(".png"),
    log:
        PATHS.log("figures/{page}.time"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.pages.figure.make", "time", WIRING.page.figure.spec),
        curves=options.each("curve", "curves"),
        timings=options.each("timing", "timings"),
        learning=options.each("learning", "learning"),
    shell:
        "python -m residuum.pages.figure.make time --spec {params.spec:q} {params.curves} "
        "{params.timings} "
        "{params.learning} --output {output.tsv} 2>&1 | tee {log}"

rule venn_draw:
    """Draw what a dense and a lexical part answer, as circles."""
    input:
        metrics=WIRING.page.venn.metrics,
        learning=WIRING.page.venn.learning,
    output:
        **SHOWN.drawings(PATHS.pages["venn"].forms("md", "pdf", "png")),
    log:
        PATHS.log("venn/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.pages.venn.make", "draw", WIRING.page.venn.spec),
        metrics=PATHS.metrics_root,
        learning=options.each("learning", "learning"),
    shell:
        "python -m residuum.pages.venn.make draw --spec {params.spec:q} --metrics {params.metrics} "
        "{params.learning} --output {output.tsv} 2>&1 | tee {log}"

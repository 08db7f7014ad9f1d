rule lines_draw:
    """Draw a table's numbers as lines."""
    input:
        table=WIRING.page.lines.table,
    output:
        **SHOWN.drawings(PATHS.pages["lines"].forms("md", "pdf", "png")),
    log:
        PATHS.log("lines/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.pages.lines.make", "draw", WIRING.page.lines.spec),
    shell:
        "python -m residuum.pages.lines.make draw --spec {params.spec:q} --table {input.table} "
        "--output {output.tsv} 2>&1 | tee {log}"

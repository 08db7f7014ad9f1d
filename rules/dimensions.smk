rule dimensions_draw:
    """Draw how many dimensions of a random projection keep a lexical ranking."""
    input:
        measured=WIRING.page.dimensions.measured,
    output:
        **SHOWN.drawings(PATHS.pages["dimensions"].forms("md", "pdf", "png")),
    log:
        PATHS.log("dimensions/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.pages.dimensions.make", "draw", WIRING.page.dimensions.spec),
        measured=PATHS.fidelity_root,
    shell:
        "python -m residuum.pages.dimensions.make draw --spec {params.spec:q} --measured "
        "{params.measured} "
        "--output {output.tsv} 2>&1 | tee {log}"

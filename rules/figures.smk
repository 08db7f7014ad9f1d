rule figures_draw:
    """Draw measures at every rerank depth, or in every group of the queries."""
    input:
        depths=WIRING.figures.depths,
        scored=WIRING.figures.scored,
        metrics=WIRING.figures.metrics,
        groups=WIRING.figures.groups,
        learning=WIRING.pages.learning,
    output:
        **PATHS.pages["figure"].forms("md", "pdf", "png"),
    log:
        PATHS.log("figures/{page}"),
    benchmark:
        PATHS.time("figures/{page}")
    conda:
        f"{ENVS}/base.yaml"
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.figures", "draw", WIRING.pages.spec),
        metrics=PATHS.metrics_root,
        depths=options.each("depths", "depths"),
        scored=options.each("scored", "scored"),
        groups=options.each("groups", "groups"),
        learning=options.each("learning", "learning"),
    shell:
        "python -m residuum.figures draw --spec {params.spec:q} --metrics {params.metrics} "
        "{params.depths} {params.scored} {params.groups} {params.learning} --output {output.tsv} 2>&1 | tee {log}"

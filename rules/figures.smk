rule figures_draw:
    """Draw recall and accuracy at every rerank depth."""
    input:
        depths=WIRING.pages.of_rerankers(PATHS.depth_curve),
        scored=WIRING.pages.of_rerankers(PATHS.pairs.manifest),
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
        depths=options.each("depths", "depths"),
        scored=options.each("scored", "scored"),
        learning=options.each("learning", "learning"),
    shell:
        "python -m residuum.figures draw --spec {params.spec:q} {params.depths} "
        "{params.scored} {params.learning} --output {output.tsv} 2>&1 | tee {log}"

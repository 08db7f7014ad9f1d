# Candidates: docs that systems only put into order.


rule candidates_draw:
    """Join the first docs of the parts, and random ones of the corpus."""
    input:
        runs=WIRING.runs.fused,
        corpus=PATHS.corpus,
        queries=PATHS.queries,
        judged_before=WIRING.runs.residual_of,
    output:
        **recorded(run=ONLY.runs(PATHS.run, "candidates")),
    log:
        PATHS.log("candidates/{dataset}.{split}.{run}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.candidates, mem_mb=6000),
    params:
        **decided_by("residuum.candidates", "draw", WIRING.runs.spec),
        runs=options.each("run", "runs", options.by_system),
        corpus=options.folder("corpus"),
        judged_before=options.each("judged-before", "judged_before"),
    shell:
        "python -m residuum.candidates draw --corpus {params.corpus} --queries {input.queries} "
        "--spec {params.spec:q} {params.runs} {params.judged_before} --tag {wildcards.run} "
        "--output {output.run} 2>&1 | tee {log}"

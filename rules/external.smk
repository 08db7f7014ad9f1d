rule external_accept:
    """Check a run file and take it in; a faulty one is refused with its reason."""
    input:
        run=WIRING.runs.external,
        queries=PATHS.queries,
        corpus=PATHS.corpus,
        judged_before=WIRING.runs.residual_of,
    output:
        **recorded(run=ONLY.runs(PATHS.run, "external")),
    log:
        PATHS.log("external/{dataset}.{split}.{run}"),
    benchmark:
        PATHS.time("external/{dataset}.{split}.{run}")
    conda:
        f"{ENVS}/base.yaml"
    resources:
        **RESOURCES.cpu(ESTIMATES.run, mem_mb=4000),
    params:
        **decided_by("residuum.external", "accept", WIRING.runs.spec),
        corpus=options.folder("corpus"),
        judged_before=options.each("judged-before", "judged_before"),
    shell:
        "python -m residuum.external accept --run {input.run:q} --queries {input.queries} "
        "--corpus {params.corpus} {params.judged_before} --spec {params.spec:q} --tag {wildcards.run} "
        "--output {output.run} 2>&1 | tee {log}"

rule rrf_fuse:
    """Fuse the runs of the parts by their ranks."""
    input:
        runs=WIRING.runs.fused,
    output:
        **recorded(run=ONLY.runs(PATHS.run, "rrf")),
    log:
        PATHS.log("rrf/{dataset}.{split}.{run}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.run, mem_mb=6000),
    params:
        **decided_by("residuum.rrf", "fuse", WIRING.runs.spec),
        runs=options.each("run", "runs", options.by_system),
    shell:
        "python -m residuum.rrf fuse --spec {params.spec:q} {params.runs} "
        "--tag {wildcards.run} --output {output.run} 2>&1 | tee {log}"

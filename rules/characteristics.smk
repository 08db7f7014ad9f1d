rule characteristics_count:
    """Count the queries and the relevant docs of the splits that play the roles."""
    input:
        splits=WIRING.pages.counted,
    output:
        **ONLY.pages(PATHS.table, "characteristics").forms("md", "tex"),
    log:
        PATHS.log("characteristics/{page}"),
    benchmark:
        PATHS.time("characteristics/{page}")
    conda:
        f"{ENVS}/base.yaml"
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.characteristics", "count", WIRING.pages.spec),
        splits=WIRING.pages.counted_folders,
    shell:
        "python -m residuum.characteristics count --spec {params.spec:q} {params.splits} "
        "--output {output.tsv} 2>&1 | tee {log}"

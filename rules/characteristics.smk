# What query sets are like.


rule characteristics_count:
    """Count the queries and the relevant docs of the splits that play the roles."""
    input:
        splits=WIRING.pages.counted,
    output:
        tsv=PATHS.table,
        md=PATHS.table.beside(".md"),
        tex=PATHS.table.beside(".tex"),
        manifest=PATHS.table.manifest,
    log:
        PATHS.log("characteristics/{page}"),
    benchmark:
        PATHS.time("characteristics/{page}")
    wildcard_constraints:
        page=ONLY.pages("characteristics"),
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        code=code("residuum.characteristics", "count", WIRING.pages.spec),
        spec=WIRING.pages.spec,
        splits=WIRING.pages.counted_folders,
    shell:
        "python -m residuum.characteristics count --spec {params.spec:q} {params.splits} "
        "--output {output.tsv} 2>&1 | tee {log}"

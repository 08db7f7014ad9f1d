# What query sets are like.


rule characteristics_count:
    """Count the queries and the relevant docs of the splits that play the roles."""
    input:
        unpack(counted_splits),
        code=code("residuum.characteristics"),
    output:
        tsv=TABLE,
        md=TABLE.replace(".tsv", ".md"),
        tex=TABLE.replace(".tsv", ".tex"),
        manifest=TABLE + MANIFEST,
    log:
        f"{LOGS}/characteristics/{{page}}.log",
    benchmark:
        f"{TIMES}/characteristics/{{page}}.tsv"
    wildcard_constraints:
        page=either(COUNTED),
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        gpu=0,
    params:
        spec=page_spec,
        splits=counted_options,
    shell:
        "python -m residuum.characteristics count --spec {params.spec:q} {params.splits} "
        "--output {output.tsv} 2>&1 | tee {log}"

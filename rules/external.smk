# Runs that somebody else made.


rule external_accept:
    """Check a run file and take it in; a faulty one is refused with its reason."""
    input:
        run=external_source,
        queries=QUERIES,
        corpus=CORPUS,
        code=code("residuum.external"),
    output:
        run=RUN,
        manifest=RUN + MANIFEST,
    log:
        f"{LOGS}/external/{{dataset}}.{{split}}.{{run}}.log",
    benchmark:
        f"{TIMES}/external/{{dataset}}.{{split}}.{{run}}.tsv"
    wildcard_constraints:
        run=runs_of("external"),
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=system_spec,
        corpus=lambda w, input: folder(input.corpus),
    shell:
        "python -m residuum.external accept --run {input.run:q} --queries {input.queries} "
        "--corpus {params.corpus} --spec {params.spec:q} --tag {wildcards.run} "
        "--output {output.run} 2>&1 | tee {log}"

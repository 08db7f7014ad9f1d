# Paired tests between all systems of a table.


def table_metrics(wildcards):
    """Return the metrics files of all cells of a table."""
    job = REGISTRY.job(wildcards.table)
    return sorted({f"{RESULTS}/metrics/{path}" for path in job.metrics_files()})


def table_spec(wildcards):
    """Return a table, cast for this scale, as JSON."""
    return _registry.spec(REGISTRY.job(wildcards.table))


rule significance_compare:
    """Test every pair of systems in every column."""
    input:
        metrics=table_metrics,
        code=code("residuum.significance"),
    output:
        tests=SIGNIFICANCE,
        manifest=SIGNIFICANCE + MANIFEST,
    log:
        f"{LOGS}/significance/{{table}}.log",
    benchmark:
        f"{TIMES}/significance/{{table}}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        gpu=0,
    params:
        spec=table_spec,
        metrics=f"{RESULTS}/metrics",
    conda:
        f"{ENVS}/base.yaml"
    shell:
        "python -m residuum.significance compare --spec {params.spec:q} "
        "--metrics {params.metrics} --output {output.tests} 2>&1 | tee {log}"

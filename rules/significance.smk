# Paired tests between all systems of a table.


rule significance_compare:
    """Test every pair of systems in every column."""
    input:
        metrics=table_metrics,
        code=code("residuum.significance"),
    output:
        tests=SIGNIFICANCE,
        manifest=SIGNIFICANCE + MANIFEST,
    log:
        f"{LOGS}/significance/{{page}}.log",
    benchmark:
        f"{TIMES}/significance/{{page}}.tsv"
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        gpu=0,
    params:
        spec=page_spec,
        metrics=f"{RESULTS}/metrics",
    shell:
        "python -m residuum.significance compare --spec {params.spec:q} "
        "--metrics {params.metrics} --output {output.tests} 2>&1 | tee {log}"

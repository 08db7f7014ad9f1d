# Paired tests between the systems of a table.


rule significance_compare:
    """Test the pairs of systems that a table compares, in every column."""
    input:
        metrics=tested_metrics,
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
        together=corrected_with,
        metrics=f"{RESULTS}/metrics",
    shell:
        "python -m residuum.significance compare --spec {params.spec:q} "
        "{params.together} --metrics {params.metrics} --workers {threads} "
        "--output {output.tests} 2>&1 | tee {log}"

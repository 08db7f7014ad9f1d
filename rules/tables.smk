# Tables as tidy TSV, Markdown and LaTeX.


rule tables_render:
    """Render a paper's table with our numbers and our markers."""
    input:
        metrics=table_metrics,
        records=table_records,
        tests=SIGNIFICANCE,
        tuning=tuning_files,
        code=code("residuum.tables"),
    output:
        tsv=TABLE,
        md=TABLE.replace(".tsv", ".md"),
        tex=TABLE.replace(".tsv", ".tex"),
        manifest=TABLE + MANIFEST,
    log:
        f"{LOGS}/tables/{{page}}.log",
    benchmark:
        f"{TIMES}/tables/{{page}}.tsv"
    wildcard_constraints:
        page=either(TABLES),
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        gpu=0,
    params:
        spec=page_spec,
        metrics=f"{RESULTS}/metrics",
        tuning=lambda w, input: " ".join(f"--tuning {path}" for path in input.tuning),
    shell:
        "python -m residuum.tables render --spec {params.spec:q} --metrics {params.metrics} "
        "--significance {input.tests} {params.tuning} --output {output.tsv} 2>&1 | tee {log}"

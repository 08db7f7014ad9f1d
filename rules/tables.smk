# Tables as tidy TSV, Markdown and LaTeX.


def _tuning_files(wildcards):
    """Return the tuning files behind the fused rows that run at this scale."""
    fusions = {row.system for row in REGISTRY.tables[wildcards.table].rows} & set(systems("fusion"))
    return [
        TUNING.format(
            dataset=REGISTRY.place(REGISTRY.systems[name].weight.tune_on).dataset, run=run
        )
        for name in sorted(fusions)
        for run in REGISTRY.runs(name)
    ]


rule tables_render:
    """Render a paper's table with our numbers and our markers."""
    input:
        metrics=table_metrics,
        tests=SIGNIFICANCE,
        tuning=_tuning_files,
        code=code("residuum.tables"),
    output:
        tsv=TABLE,
        md=f"{RESULTS}/tables/{{table}}.md",
        tex=f"{RESULTS}/tables/{{table}}.tex",
        manifest=TABLE + MANIFEST,
    log:
        f"{LOGS}/tables/{{table}}.log",
    benchmark:
        f"{TIMES}/tables/{{table}}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        gpu=0,
    params:
        spec=table_spec,
        metrics=f"{RESULTS}/metrics",
        tuning=lambda w, input: " ".join(f"--tuning {path}" for path in input.tuning),
    conda:
        f"{ENVS}/base.yaml"
    shell:
        "python -m residuum.tables render --spec {params.spec:q} --metrics {params.metrics} "
        "--significance {input.tests} {params.tuning} --output {output.tsv} 2>&1 | tee {log}"

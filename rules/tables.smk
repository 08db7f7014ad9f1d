# Tables as tidy TSV, Markdown and LaTeX.


rule tables_render:
    """Render a paper's table with our numbers and our markers."""
    input:
        metrics=WIRING.pages.metrics,
        records=WIRING.pages.records,
        tests=PATHS.significance,
        tuning=WIRING.pages.tuning,
    output:
        tsv=PATHS.table,
        md=PATHS.table.beside(".md"),
        tex=PATHS.table.beside(".tex"),
        manifest=PATHS.table.manifest,
    log:
        PATHS.log("tables/{page}"),
    benchmark:
        PATHS.time("tables/{page}")
    wildcard_constraints:
        page=ONLY.pages("table"),
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        code=code("residuum.tables", "render", WIRING.pages.spec),
        spec=WIRING.pages.spec,
        metrics=PATHS.metrics_root,
        tuning=options.each("tuning", "tuning"),
    shell:
        "python -m residuum.tables render --spec {params.spec:q} --metrics {params.metrics} "
        "--significance {input.tests} {params.tuning} --output {output.tsv} 2>&1 | tee {log}"

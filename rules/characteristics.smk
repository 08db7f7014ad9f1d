rule characteristics_count:
    """Count queries and relevant docs of the splits that play the roles, and their corpora."""
    input:
        counted=WIRING.page.characteristics.files,
    output:
        **SHOWN.texts(ONLY.pages(PATHS.table, "characteristics").forms("md", "tex")),
    log:
        PATHS.log("characteristics/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.characteristics, mem_mb=2000),
    params:
        **decided_by(
            "residuum.pages.characteristics.make", "count", WIRING.page.characteristics.spec
        ),
        folders=WIRING.page.characteristics.options,
    shell:
        "python -m residuum.pages.characteristics.make count --spec {params.spec:q} "
        "{params.folders} "
        "--output {output.tsv} 2>&1 | tee {log}"

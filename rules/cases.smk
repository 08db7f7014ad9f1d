rule cases_find:
    """Find the docs that meet the rule of a case study."""
    input:
        lists=WIRING.pages.lists,
        queries=WIRING.pages.of_split(PATHS.queries),
        qrels=WIRING.pages.of_split(PATHS.qrels),
        corpus=WIRING.pages.of_split(PATHS.corpus),
        learning=WIRING.pages.learning,
    output:
        **SHOWN.texts(PATHS.pages["cases"].forms("md", "tex")),
    log:
        PATHS.log("cases/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=8000),
    params:
        **decided_by("residuum.pages.cases.make", "find", WIRING.pages.spec),
        lists=WIRING.pages.list_options,
        corpus=options.folder("corpus"),
        learning=options.each("learning", "learning"),
    shell:
        "python -m residuum.pages.cases.make find --spec {params.spec:q} --queries {input.queries} "
        "--qrels {input.qrels} --corpus {params.corpus} {params.lists} {params.learning} "
        "--output {output.tsv} 2>&1 | tee {log}"

rule cases_find:
    """Find the docs that meet the rule of a case study."""
    input:
        lists=WIRING.page.cases.lists,
        queries=WIRING.page.cases.of_split(PATHS.queries),
        qrels=WIRING.page.cases.of_split(PATHS.qrels),
        corpus=WIRING.page.cases.of_split(PATHS.corpus),
        learning=WIRING.page.cases.learning,
    output:
        **SHOWN.texts(PATHS.pages["cases"].forms("md", "tex")),
    log:
        PATHS.log("cases/{page}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=8000),
    params:
        **decided_by("residuum.pages.cases.make", "find", WIRING.page.cases.spec),
        lists=WIRING.page.cases.list_options,
        corpus=options.folder("corpus"),
        learning=options.each("learning", "learning"),
    shell:
        "python -m residuum.pages.cases.make find --spec {params.spec:q} --queries {input.queries} "
        "--qrels {input.qrels} --corpus {params.corpus} {params.lists} {params.learning} "
        "--output {output.tsv} 2>&1 | tee {log}"

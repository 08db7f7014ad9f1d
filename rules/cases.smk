# Case studies: docs that a rule picks from the lists of several systems.


rule cases_find:
    """Find the docs that meet the rule of a case study."""
    input:
        unpack(case_runs),
        queries=lambda w: at(QUERIES, page_place(w)),
        qrels=lambda w: at(QRELS, page_place(w)),
        corpus=lambda w: at(CORPUS, page_place(w)),
        code=code("residuum.cases"),
    output:
        tsv=CASES,
        md=CASES.replace(".tsv", ".md"),
        tex=CASES.replace(".tsv", ".tex"),
        manifest=CASES + MANIFEST,
    log:
        f"{LOGS}/cases/{{page}}.log",
    benchmark:
        f"{TIMES}/cases/{{page}}.tsv"
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        gpu=0,
    params:
        spec=page_spec,
        lists=case_options,
        corpus=lambda w, input: folder(input.corpus),
    shell:
        "python -m residuum.cases find --spec {params.spec:q} --queries {input.queries} "
        "--qrels {input.qrels} --corpus {params.corpus} {params.lists} "
        "--output {output.tsv} 2>&1 | tee {log}"

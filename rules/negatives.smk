rule negatives_mine:
    """Draw the negatives of every training pair, or take official ones, with lexical scores."""
    input:
        corpus=WIRING.models.trained_on(PATHS.corpus),
        queries=WIRING.models.trained_on(PATHS.queries),
        qrels=WIRING.models.trained_on(PATHS.qrels),
        index=WIRING.models.mined_index,
        runs=WIRING.models.mined_runs,
        docpairs=WIRING.models.docpairs,
        answers=WIRING.models.mined_answers,
    output:
        **recorded(tuples=ONLY.tuples(PATHS.tuples)),
    log:
        PATHS.log("negatives/{model}"),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(ESTIMATES.negatives, mem_mb=RESOURCES.tuples_mb),
    params:
        **decided_by("residuum.negatives", "mine", WIRING.models.mined_spec),
        corpus=options.folder("corpus"),
        index=options.each("index", "index", folder_of),
        runs=options.each("run", "runs", options.by_system),
        docpairs=options.each("docpairs", "docpairs"),
        answers=options.each("answers", "answers"),
    shell:
        "python -m residuum.negatives mine {params.index} {params.runs} {params.docpairs} "
        "{params.answers} "
        "--corpus {params.corpus} --queries {input.queries} --qrels {input.qrels} --spec "
        "{params.spec:q} "
        "--threads {threads} --output {output.tuples} 2>&1 | tee {log}"

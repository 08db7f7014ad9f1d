# Lucene through Anserini: index, runs, and the scores of docs that another run holds.


rule lexical_index:
    """Index a corpus, or its predicted term weights, and check the document count."""
    input:
        corpus=PATHS.corpus,
        weights=WIRING.corpora.term_weights,
        vocabulary=WIRING.corpora.vocabulary,
    output:
        PATHS.index,
    log:
        PATHS.log("lexical/{dataset}.{index}.index"),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(ESTIMATES.index, mem_mb=4000),
    params:
        **decided_by("residuum.lexical", "index", WIRING.corpora.index_form),
        corpus=options.folder("corpus"),
        weights=options.each("weights", "weights", folder_of),
        vocabulary=WIRING.corpora.index_vocabulary,
        folder=options.output_folder,
    shell:
        "python -m residuum.lexical index --corpus {params.corpus} {params.weights} "
        "{params.vocabulary} "
        "--spec {params.spec:q} --threads {threads} --output {params.folder} 2>&1 | tee {log}"


rule lexical_search:
    """Search with BM25, with or without fixed RM3, and write the run."""
    input:
        index=WIRING.corpora.index_behind,
        queries=PATHS.queries,
        judged_before=WIRING.runs.residual_of,
    output:
        **recorded(run=ONLY.runs(PATHS.run, "lexical", tunes_rm3=False)),
    log:
        PATHS.log("lexical/{dataset}.{split}.{run}.search"),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(ESTIMATES.search, mem_mb=4000),
    params:
        **decided_by("residuum.lexical", "search", WIRING.runs.spec),
        index=options.folder("index"),
        judged_before=options.each("judged-before", "judged_before"),
    shell:
        "python -m residuum.lexical search --index {params.index} --queries {input.queries} "
        "{params.judged_before} --spec {params.spec:q} --tag {wildcards.run} --threads {threads} "
        "--output {output.run} 2>&1 | tee {log}"


rule lexical_score:
    """Score the docs of another system with BM25, for fusion by true scores."""
    input:
        index=WIRING.corpora.index_behind,
        queries=PATHS.queries,
        runs=WIRING.runs.others,
    output:
        **recorded(run=ONLY.runs(PATHS.scores, "lexical")),
    log:
        PATHS.log("lexical/{dataset}.{split}.{run}.on.{other}"),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(ESTIMATES.lexical_scores, mem_mb=4000),
    params:
        **decided_by("residuum.lexical", "score", WIRING.runs.spec),
        index=options.folder("index"),
        runs=options.each("run", "runs"),
    shell:
        "python -m residuum.lexical score --index {params.index} --queries {input.queries} "
        "{params.runs} --spec {params.spec:q} --tag {wildcards.run} "
        "--threads {threads} --output {output.run} 2>&1 | tee {log}"

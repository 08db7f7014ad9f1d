rule external_accept:
    """Check a run file and take it in; a faulty one is refused with its reason."""
    input:
        run=WIRING.runs.external,
        queries=PATHS.queries,
        corpus=PATHS.corpus,
        judged_before=WIRING.runs.residual_of,
    output:
        **recorded(run=ONLY.runs(PATHS.run, "external")),
    log:
        PATHS.log("external/{dataset}.{split}.{run}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.run, mem_mb=12000),
    params:
        **decided_by("residuum.external", "accept", WIRING.runs.spec),
        corpus=options.folder("corpus"),
        judged_before=options.each("judged-before", "judged_before"),
        md5=WIRING.runs.external_md5,
    shell:
        "python -m residuum.external accept --run {input.run:q} --queries {input.queries} "
        "--corpus {params.corpus} {params.judged_before} {params.md5} --spec {params.spec:q} "
        "--tag {wildcards.run} "
        "--output {output.run} 2>&1 | tee {log}"


rule external_weights:
    """Check the term weights that somebody else predicted for a corpus and take them in."""
    input:
        files=WIRING.corpora.released,
        corpus=PATHS.corpus,
    output:
        ONLY.models(PATHS.released_weights, "released-weights"),
    log:
        PATHS.log("external/{dataset}.{model}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.released_weights, mem_mb=4000),
    params:
        **decided_by("residuum.external", "weights", WIRING.models.spec),
        files=options.each("file", "files", quote),
        corpus=options.folder("corpus"),
        folder=options.output_folder,
    shell:
        "python -m residuum.external weights {params.files} --corpus {params.corpus} "
        "--spec {params.spec:q} --output {params.folder} 2>&1 | tee {log}"


rule external_vectors:
    """Check the vectors that somebody else made and take in those of one shard of a corpus."""
    input:
        files=WIRING.corpora.doc_vectors,
        corpus=PATHS.corpus,
    output:
        ONLY.models(PATHS.embeddings, "released-vectors"),
    log:
        PATHS.log("external/{dataset}.{model}.seed{seed}.{shard}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.taken_docs, mem_mb=4000 + 3 * RESOURCES.shard_mb),
    params:
        **decided_by("residuum.external", "vectors", WIRING.corpora.doc_vectors_spec),
        corpus=options.folder("corpus"),
        shard=WIRING.corpora.shard,
        folder=options.output_folder,
    shell:
        "python -m residuum.external vectors --corpus {params.corpus} {params.shard} "
        "--spec {params.spec:q} --output {params.folder} 2>&1 | tee {log}"


rule external_queries:
    """Check the vectors that somebody else made of the queries that are searched; take them in."""
    input:
        files=WIRING.corpora.query_vectors,
        queries=WIRING.corpora.queries,
    output:
        ONLY.models(PATHS.query_embeddings, "released-vectors"),
    log:
        PATHS.log("external/{dataset}.{model}.seed{seed}.queries"),
    resources:
        **RESOURCES.cpu(ESTIMATES.taken_queries, mem_mb=4000),
    params:
        **decided_by("residuum.external", "queries", WIRING.corpora.query_vectors_spec),
        splits=options.each("split", "queries", options.by_split),
        folder=options.output_folder,
    shell:
        "python -m residuum.external queries {params.splits} --spec {params.spec:q} "
        "--output {params.folder} 2>&1 | tee {log}"

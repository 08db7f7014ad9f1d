# BM25 as vectors: of the docs of a corpus by shard, of the queries of its splits.


rule termvectors_docs:
    """Weigh the terms of one shard of a corpus as Lucene does, or project these weights."""
    input:
        index=WIRING.corpora.vectors_index,
        corpus=PATHS.corpus,
    output:
        ONLY.models(PATHS.embeddings, "lexical-vectors"),
    log:
        PATHS.log("termvectors/{dataset}.{model}.seed{seed}.{shard}"),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(ESTIMATES.doc_term_vectors, mem_mb=4000 + 2 * RESOURCES.shard_mb),
    params:
        **decided_by("residuum.termvectors", "docs", WIRING.corpora.vectors_spec),
        index=options.folder("index"),
        corpus=options.folder("corpus"),
        shard=WIRING.corpora.shard,
        folder=options.output_folder,
    shell:
        "python -m residuum.termvectors docs --index {params.index} --corpus {params.corpus} "
        "{params.shard} --spec {params.spec:q} --threads {threads} "
        "--output {params.folder} 2>&1 | tee {log}"


rule termvectors_queries:
    """Weigh the terms of the queries of all splits of a dataset that are searched or trained on."""
    input:
        index=WIRING.corpora.vectors_index,
        queries=WIRING.corpora.queries,
    output:
        ONLY.models(PATHS.query_embeddings, "lexical-vectors"),
    log:
        PATHS.log("termvectors/{dataset}.{model}.seed{seed}.queries"),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(ESTIMATES.query_term_vectors, mem_mb=4000),
    params:
        **decided_by("residuum.termvectors", "queries", WIRING.corpora.vectors_spec),
        index=options.folder("index"),
        splits=options.each("split", "queries", options.by_split),
        folder=options.output_folder,
    shell:
        "python -m residuum.termvectors queries --index {params.index} {params.splits} "
        "--spec {params.spec:q} --threads {threads} --output {params.folder} 2>&1 | tee {log}"

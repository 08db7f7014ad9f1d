# Embeddings: the docs of a corpus by shard, those of candidates alone, the queries of its splits.


rule encode_docs:
    """Encode one shard of a corpus."""
    input:
        corpus=PATHS.corpus,
        model=WIRING.corpora.checkpoint,
    output:
        ONLY.models(PATHS.embeddings, "dual-encoder", "released-encoder"),
    log:
        PATHS.log("encode/{dataset}.{model}.seed{seed}.{shard}"),
    conda:
        NEURAL
    threads: RESOURCES.threads
    resources:
        **RESOURCES.card(ESTIMATES.doc_vectors, mem_mb=4000 + 2 * RESOURCES.shard_mb),
    params:
        **decided_by("residuum.encode", "docs"),
        corpus=options.folder("corpus"),
        model=options.folder("model"),
        snapshot=WIRING.corpora.snapshot,
        shard=WIRING.corpora.shard,
        windows=WIRING.corpora.windows,
        folder=options.output_folder,
        compute=RESOURCES.encoding,
    shell:
        "python -m residuum.encode docs --corpus {params.corpus} --model {params.model} "
        "{params.snapshot} {params.shard} {params.windows} {params.compute} "
        "--output {params.folder} 2>&1 | tee {log}"


rule encode_candidates:
    """Encode one shard of the docs that systems only put into order, where they are few of a corpus."""
    input:
        corpus=PATHS.corpus,
        run=WIRING.listed.lists,
        model=WIRING.corpora.checkpoint,
    output:
        ONLY.models(PATHS.listed_embeddings, "dual-encoder", "released-encoder"),
    log:
        PATHS.log("encode/{dataset}.{split}.{model}.seed{seed}.on.{other}.{shard}"),
    conda:
        NEURAL
    threads: RESOURCES.threads
    resources:
        **RESOURCES.card(ESTIMATES.listed_vectors, mem_mb=4000 + 2 * RESOURCES.shard_mb),
    params:
        **decided_by("residuum.encode", "candidates"),
        corpus=options.folder("corpus"),
        model=options.folder("model"),
        snapshot=WIRING.corpora.snapshot,
        shard=WIRING.listed.shard,
        windows=WIRING.corpora.windows,
        folder=options.output_folder,
        compute=RESOURCES.encoding,
    shell:
        "python -m residuum.encode candidates --corpus {params.corpus} --run {input.run} "
        "--model {params.model} {params.snapshot} {params.shard} {params.windows} {params.compute} "
        "--output {params.folder} 2>&1 | tee {log}"


rule encode_queries:
    """Encode the queries of all splits of a dataset that a model searches."""
    input:
        queries=WIRING.corpora.queries,
        model=WIRING.corpora.checkpoint,
        asking=WIRING.corpora.asking,
    output:
        ONLY.models(PATHS.query_embeddings, "dual-encoder", "released-encoder"),
    log:
        PATHS.log("encode/{dataset}.{model}.seed{seed}.queries"),
    conda:
        NEURAL
    threads: RESOURCES.threads
    resources:
        **RESOURCES.card(ESTIMATES.query_vectors, mem_mb=6000),
    params:
        **decided_by("residuum.encode", "queries"),
        model=options.folder("model"),
        snapshot=WIRING.corpora.snapshot,
        asking=options.each("asking", "asking", folder_of),
        splits=options.each("split", "queries", options.by_split),
        folder=options.output_folder,
        compute=RESOURCES.encoding,
    shell:
        "python -m residuum.encode queries {params.splits} --model {params.model} {params.asking} "
        "{params.snapshot} {params.compute} --output {params.folder} 2>&1 | tee {log}"

# Embeddings: the docs of a corpus by shard, the queries of its splits.


rule encode_docs:
    """Encode one shard of a corpus."""
    input:
        corpus=CORPUS,
        model=CHECKPOINT,
        code=code("residuum.encode"),
    output:
        EMBEDDINGS,
    log:
        f"{LOGS}/encode/{{dataset}}.{{model}}.seed{{seed}}.{{shard}}.log",
    benchmark:
        f"{TIMES}/encode/{{dataset}}.{{model}}.seed{{seed}}.{{shard}}.tsv"
    conda:
        NEURAL
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=4000 + 2 * SHARD_MB,
        gpu=GPU,
    params:
        corpus=lambda w, input: folder(input.corpus),
        model=lambda w, input: folder(input.model),
        shard=lambda w: f"--shard {int(w.shard)} --of {REGISTRY.shards(w.dataset)}",
        windows=window_option,
        folder=lambda w, output: folder(output[0]),
        compute=f"{BATCHES} {COMPUTE} {PRECISION}",
    shell:
        "python -m residuum.encode docs --corpus {params.corpus} --model {params.model} "
        "{params.shard} {params.windows} {params.compute} --output {params.folder} 2>&1 | tee {log}"


rule encode_queries:
    """Encode the queries of all splits of a dataset that a model searches."""
    input:
        queries=searched_queries,
        model=CHECKPOINT,
        code=code("residuum.encode"),
    output:
        QUERY_EMBEDDINGS,
    log:
        f"{LOGS}/encode/{{dataset}}.{{model}}.seed{{seed}}.queries.log",
    benchmark:
        f"{TIMES}/encode/{{dataset}}.{{model}}.seed{{seed}}.queries.tsv"
    conda:
        NEURAL
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=6000,
        gpu=GPU,
    params:
        model=lambda w, input: folder(input.model),
        splits=split_options,
        folder=lambda w, output: folder(output[0]),
        compute=f"{BATCHES} {COMPUTE} {PRECISION}",
    shell:
        "python -m residuum.encode queries {params.splits} --model {params.model} "
        "{params.compute} --output {params.folder} 2>&1 | tee {log}"

# Dense retrieval: hits by shard, gathered into runs; scores of another system's docs.


rule dense_search:
    """Search one shard, exactly or not, for the queries of the splits whose runs have such hits."""
    input:
        embeddings=PATHS.embeddings,
        queries=PATHS.query_embeddings,
        judged_before=WIRING.corpora.residual_of,
    output:
        PATHS.hits,
    log:
        PATHS.log("dense/{dataset}.{model}.seed{seed}.top{k}.{shard}.search"),
    conda:
        NEURAL
    threads: RESOURCES.threads
    resources:
        **RESOURCES.card(ESTIMATES.dense_search, mem_mb=6000 + 2 * RESOURCES.shard_mb),
    params:
        **decided_by("residuum.dense", "search", WIRING.corpora.search),
        embeddings=options.folder("embeddings"),
        queries=options.folder("queries"),
        folder=options.output_folder,
        k=WIRING.corpora.depth,
        splits=WIRING.corpora.searched_options,
        first=WIRING.corpora.first_passages,
        judged_before=WIRING.corpora.residual_options,
        compute=RESOURCES.compute,
    shell:
        "python -m residuum.dense search --embeddings {params.embeddings} "
        "--queries {params.queries} {params.splits} {params.k} {params.first} --spec "
        "{params.spec:q} {params.judged_before} {params.compute} "
        "--output {params.folder} 2>&1 | tee {log}"


rule dense_gather:
    """Merge the hits of all shards into the run of a split."""
    input:
        hits=WIRING.corpora.shards(PATHS.hits),
    output:
        **recorded(run=ONLY.runs(PATHS.run, "dense")),
    log:
        PATHS.log("dense/{dataset}.{split}.{run}.gather"),
    resources:
        **RESOURCES.cpu(ESTIMATES.run, mem_mb=6000),
    params:
        **decided_by("residuum.dense", "gather", WIRING.runs.spec),
        hits=options.each("hits", "hits", folder_of),
        answered=WIRING.corpora.answered,
    shell:
        "python -m residuum.dense gather {params.hits} {params.answered} "
        "--spec {params.spec:q} --tag {wildcards.run} --output {output.run} 2>&1 | tee {log}"


rule dense_score:
    """Score the docs of another system by inner product, for fusion by true scores."""
    input:
        embeddings=WIRING.listed.scoring,
        queries=WIRING.corpora.shards(PATHS.query_embeddings),
        runs=WIRING.runs.others,
    output:
        **recorded(run=ONLY.runs(PATHS.scores, "dense")),
    log:
        PATHS.log("dense/{dataset}.{split}.{run}.on.{other}"),
    conda:
        NEURAL
    resources:
        **RESOURCES.cpu(ESTIMATES.dense_scores, mem_mb=6000),
    params:
        **decided_by("residuum.dense", "score", WIRING.runs.spec),
        embeddings=options.each("embeddings", "embeddings", folder_of),
        queries=WIRING.corpora.asked,
        runs=options.each("run", "runs"),
    shell:
        "python -m residuum.dense score {params.embeddings} "
        "{params.queries} {params.runs} --spec {params.spec:q} "
        "--tag {wildcards.run} --output {output.run} 2>&1 | tee {log}"

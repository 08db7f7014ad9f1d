# Dense retrieval: exact hits by shard, gathered into runs; scores of another system's docs.


rule dense_search:
    """Search one shard exactly for the queries of all splits."""
    input:
        embeddings=EMBEDDINGS,
        queries=QUERY_EMBEDDINGS,
        code=code("residuum.dense"),
    output:
        HITS,
    log:
        f"{LOGS}/dense/{{dataset}}.{{model}}.seed{{seed}}.top{{k}}.{{shard}}.search.log",
    benchmark:
        f"{TIMES}/dense/{{dataset}}.{{model}}.seed{{seed}}.top{{k}}.{{shard}}.search.tsv"
    conda:
        NEURAL
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=6000 + 2 * SHARD_MB,
        gpu=GPU,
    params:
        embeddings=lambda w, input: folder(input.embeddings),
        queries=lambda w, input: folder(input.queries),
        folder=lambda w, output: folder(output[0]),
        compute=COMPUTE,
    shell:
        "python -m residuum.dense search --embeddings {params.embeddings} "
        "--queries {params.queries} --k {wildcards.k} {params.compute} "
        "--output {params.folder} 2>&1 | tee {log}"


rule dense_gather:
    """Merge the hits of all shards into the run of a split."""
    input:
        hits=model_behind(HITS),
        code=code("residuum.dense"),
    output:
        run=RUN,
        manifest=RUN + MANIFEST,
    log:
        f"{LOGS}/dense/{{dataset}}.{{split}}.{{run}}.gather.log",
    benchmark:
        f"{TIMES}/dense/{{dataset}}.{{split}}.{{run}}.gather.tsv"
    wildcard_constraints:
        run=runs_of("dense"),
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=6000,
        gpu=0,
    params:
        spec=system_spec,
        hits=lambda w, input: folder_options("hits", input.hits),
    shell:
        "python -m residuum.dense gather {params.hits} --split {wildcards.split} "
        "--spec {params.spec:q} --tag {wildcards.run} --output {output.run} 2>&1 | tee {log}"


rule dense_score:
    """Score the docs of another system by inner product, for fusion by true scores."""
    input:
        embeddings=model_behind(EMBEDDINGS),
        queries=model_behind(QUERY_EMBEDDINGS),
        runs=other_runs,
        code=code("residuum.dense"),
    output:
        run=SCORES,
        manifest=SCORES + MANIFEST,
    log:
        f"{LOGS}/dense/{{dataset}}.{{split}}.{{run}}.on.{{other}}.log",
    benchmark:
        f"{TIMES}/dense/{{dataset}}.{{split}}.{{run}}.on.{{other}}.tsv"
    wildcard_constraints:
        run=runs_of("dense"),
    conda:
        NEURAL
    threads: 1
    resources:
        mem_mb=6000,
        gpu=0,
    params:
        spec=system_spec,
        embeddings=lambda w, input: folder_options("embeddings", input.embeddings),
        queries=lambda w, input: f"{folder(input.queries)}/{w.split}",
        runs=run_options,
    shell:
        "python -m residuum.dense score {params.embeddings} "
        "--queries {params.queries} {params.runs} --spec {params.spec:q} "
        "--tag {wildcards.run} --output {output.run} 2>&1 | tee {log}"

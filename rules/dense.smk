# Dense retrieval: embeddings, exact inner-product runs, scores of another system's docs.


rule dense_encode:
    """Encode a corpus in shards, and the queries of all splits; a rerun resumes."""
    input:
        corpus=CORPUS,
        queries=searched_queries,
        model=CHECKPOINT,
        code=code("residuum.dense"),
    output:
        docs=EMBEDDINGS,
        queries=QUERY_EMBEDDINGS,
    log:
        f"{LOGS}/dense/{{dataset}}.{{model}}.seed{{seed}}.encode.log",
    benchmark:
        f"{TIMES}/dense/{{dataset}}.{{model}}.seed{{seed}}.encode.tsv"
    conda:
        f"{ENVS}/neural.yaml"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=6000,
        gpu=GPU,
    params:
        spec=driver.canonical(BATCHES),
        corpus=lambda w, input: folder(input.corpus),
        model=lambda w, input: folder(input.model),
        splits=split_options,
        docs=lambda w, output: folder(output.docs),
        queries=lambda w, output: folder(output.queries),
        compute=f"{COMPUTE} {PRECISION}",
    shell:
        "python -m residuum.dense encode --corpus {params.corpus} {params.splits} "
        "--model {params.model} --spec {params.spec:q} {params.compute} "
        "--output {params.docs} --queries-output {params.queries} 2>&1 | tee {log}"


rule dense_search:
    """Search all embeddings exactly and write the run."""
    input:
        embeddings=model_behind(EMBEDDINGS),
        queries=model_behind(QUERY_EMBEDDINGS),
        code=code("residuum.dense"),
    output:
        run=RUN,
        manifest=RUN + MANIFEST,
    log:
        f"{LOGS}/dense/{{dataset}}.{{split}}.{{run}}.search.log",
    benchmark:
        f"{TIMES}/dense/{{dataset}}.{{split}}.{{run}}.search.tsv"
    wildcard_constraints:
        run=runs_of("dense"),
    conda:
        f"{ENVS}/neural.yaml"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=6000,
        gpu=GPU,
    params:
        spec=system_spec,
        embeddings=lambda w, input: folder(input.embeddings),
        queries=lambda w, input: f"{folder(input.queries)}/{w.split}",
        compute=COMPUTE,
    shell:
        "python -m residuum.dense search --embeddings {params.embeddings} "
        "--queries {params.queries} --spec {params.spec:q} --tag {wildcards.run} "
        "{params.compute} --output {output.run} 2>&1 | tee {log}"


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
        f"{ENVS}/neural.yaml"
    threads: 1
    resources:
        mem_mb=6000,
        gpu=0,
    params:
        spec=system_spec,
        embeddings=lambda w, input: folder(input.embeddings),
        queries=lambda w, input: f"{folder(input.queries)}/{w.split}",
        runs=run_options,
    shell:
        "python -m residuum.dense score --embeddings {params.embeddings} "
        "--queries {params.queries} {params.runs} --spec {params.spec:q} "
        "--tag {wildcards.run} --output {output.run} 2>&1 | tee {log}"

# Dense retrieval: embeddings, exact inner-product runs, scores of another run's pairs.


rule dense_encode:
    """Encode a corpus in shards; after a kill the same command resumes."""
    input:
        corpus=CORPUS,
        model=CHECKPOINT,
        code=code("residuum.dense"),
    output:
        EMBEDDINGS,
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
        spec=ENCODING,
        corpus=lambda w, input: folder(input.corpus),
        model=lambda w, input: folder(input.model),
        folder=lambda w, output: folder(output[0]),
        compute=f"{COMPUTE} {PRECISION}",
    shell:
        "python -m residuum.dense encode --corpus {params.corpus} --model {params.model} "
        "--spec {params.spec:q} {params.compute} --output {params.folder} 2>&1 | tee {log}"


rule dense_queries:
    """Encode the queries of all splits that are searched, in one process."""
    input:
        queries=searched_queries,
        model=CHECKPOINT,
        code=code("residuum.dense"),
    output:
        QUERY_EMBEDDINGS,
    log:
        f"{LOGS}/dense/{{dataset}}.{{model}}.seed{{seed}}.queries.log",
    benchmark:
        f"{TIMES}/dense/{{dataset}}.{{model}}.seed{{seed}}.queries.tsv"
    conda:
        f"{ENVS}/neural.yaml"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=6000,
        gpu=GPU,
    params:
        spec=ENCODING,
        splits=split_options,
        model=lambda w, input: folder(input.model),
        folder=lambda w, output: folder(output[0]),
        compute=f"{COMPUTE} {PRECISION}",
    shell:
        "python -m residuum.dense queries {params.splits} --model {params.model} "
        "--spec {params.spec:q} {params.compute} --output {params.folder} 2>&1 | tee {log}"


rule dense_search:
    """Search all embeddings exactly and write the run."""
    input:
        embeddings=model_behind(EMBEDDINGS),
        queries=model_behind(QUERY_EMBEDDINGS),
        code=code("residuum.dense"),
    output:
        run=f"{RESULTS}/runs/{{dataset}}/{{split}}/{{system}}.seed{{seed}}.trec.gz",
        manifest=f"{RESULTS}/runs/{{dataset}}/{{split}}/{{system}}.seed{{seed}}.trec.gz{MANIFEST}",
    log:
        f"{LOGS}/dense/{{dataset}}.{{split}}.{{system}}.seed{{seed}}.search.log",
    benchmark:
        f"{TIMES}/dense/{{dataset}}.{{split}}.{{system}}.seed{{seed}}.search.tsv"
    wildcard_constraints:
        system=either(systems("dense")),
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
        "--queries {params.queries} --spec {params.spec:q} "
        "--tag {wildcards.system}.seed{wildcards.seed} {params.compute} "
        "--output {output.run} 2>&1 | tee {log}"


rule dense_score:
    """Score the docs of another run by inner product, for fusion by true scores."""
    input:
        embeddings=model_behind(EMBEDDINGS),
        queries=model_behind(QUERY_EMBEDDINGS),
        other=lambda w: RUN.format(dataset=w.dataset, split=w.split, run=w.other),
        code=code("residuum.dense"),
    output:
        run=f"{RESULTS}/scores/{{dataset}}/{{split}}/{{system}}.seed{{seed}}.on.{{other}}.trec.gz",
        manifest=f"{RESULTS}/scores/{{dataset}}/{{split}}/{{system}}.seed{{seed}}.on.{{other}}.trec.gz{MANIFEST}",
    log:
        f"{LOGS}/dense/{{dataset}}.{{split}}.{{system}}.seed{{seed}}.on.{{other}}.log",
    benchmark:
        f"{TIMES}/dense/{{dataset}}.{{split}}.{{system}}.seed{{seed}}.on.{{other}}.tsv"
    wildcard_constraints:
        system=either(systems("dense")),
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
    shell:
        "python -m residuum.dense score --embeddings {params.embeddings} "
        "--queries {params.queries} --run {input.other} --spec {params.spec:q} "
        "--tag {wildcards.system}.seed{wildcards.seed} --output {output.run} 2>&1 | tee {log}"

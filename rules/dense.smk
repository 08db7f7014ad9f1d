# Dense retrieval: embeddings, exact inner-product runs, scores of another run's pairs.


def model_behind(template):
    """Return an input function: a file of the model that a dense system searches with."""
    return lambda w: template.format(
        dataset=w.dataset, model=REGISTRY.systems[w.system].model, seed=w.seed
    )


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
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=6000,
        gpu=GPU,
    params:
        spec=driver.canonical(
            {"shard_docs": REGISTRY.scale.shard_docs, "batch_size": REGISTRY.scale.batch_size}
        ),
        corpus=lambda w, input: folder(input.corpus),
        model=lambda w, input: folder(input.model),
        folder=lambda w, output: folder(output[0]),
        compute=f"--threads {REGISTRY.scale.threads} {COMPUTE}",
    conda:
        f"{ENVS}/neural.yaml"
    shell:
        "python -m residuum.dense encode --corpus {params.corpus} --model {params.model} "
        "--spec {params.spec:q} {params.compute} --output {params.folder} 2>&1 | tee {log}"


rule dense_search:
    """Search all embeddings exactly and write the run."""
    input:
        embeddings=model_behind(EMBEDDINGS),
        model=model_behind(CHECKPOINT),
        queries=QUERIES,
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
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=6000,
        gpu=GPU,
    params:
        spec=spec_of("dense"),
        embeddings=lambda w, input: folder(input.embeddings),
        model=lambda w, input: folder(input.model),
        compute=f"--threads {REGISTRY.scale.threads} {COMPUTE}",
    conda:
        f"{ENVS}/neural.yaml"
    shell:
        "python -m residuum.dense search --embeddings {params.embeddings} --model {params.model} "
        "--queries {input.queries} --spec {params.spec:q} "
        "--tag {wildcards.system}.seed{wildcards.seed} {params.compute} "
        "--output {output.run} 2>&1 | tee {log}"


rule dense_score:
    """Score the docs of another run by inner product, for fusion by true scores."""
    input:
        embeddings=model_behind(EMBEDDINGS),
        model=model_behind(CHECKPOINT),
        queries=QUERIES,
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
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=6000,
        gpu=GPU,
    params:
        spec=spec_of("dense"),
        embeddings=lambda w, input: folder(input.embeddings),
        model=lambda w, input: folder(input.model),
        compute=f"--threads {REGISTRY.scale.threads} {COMPUTE}",
    conda:
        f"{ENVS}/neural.yaml"
    shell:
        "python -m residuum.dense score --embeddings {params.embeddings} --model {params.model} "
        "--queries {input.queries} --run {input.other} --spec {params.spec:q} "
        "--tag {wildcards.system}.seed{wildcards.seed} {params.compute} "
        "--output {output.run} 2>&1 | tee {log}"

# Training tuples: positives with sampled negatives and their lexical scores.


rule negatives_mine:
    """Draw the negatives of every training pair, with true lexical scores."""
    input:
        corpus=trained_on(CORPUS),
        queries=trained_on(QUERIES),
        qrels=trained_on(QRELS),
        index=negatives_index,
        runs=negatives_runs,
        code=code("residuum.negatives"),
    output:
        tuples=TUPLES,
        manifest=TUPLES + MANIFEST,
    log:
        f"{LOGS}/negatives/{{model}}.log",
    benchmark:
        f"{TIMES}/negatives/{{model}}.tsv"
    conda:
        f"{ENVS}/lucene.yaml"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=negatives_spec,
        corpus=lambda w, input: folder(input.corpus),
        index=lambda w, input: f"--index {folder(input.index)}" if input.index else "",
        runs=mined_options,
    shell:
        "python -m residuum.negatives mine {params.index} {params.runs} --corpus {params.corpus} "
        "--queries {input.queries} --qrels {input.qrels} --spec {params.spec:q} "
        "--threads {threads} --output {output.tuples} 2>&1 | tee {log}"

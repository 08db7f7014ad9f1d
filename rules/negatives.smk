# Training tuples: positives with sampled negatives and their lexical scores.


rule negatives_mine:
    """Draw the negatives of every training pair, with true lexical scores."""
    input:
        corpus=WIRING.negatives.corpus,
        queries=WIRING.negatives.queries,
        qrels=WIRING.negatives.qrels,
        index=WIRING.negatives.index,
        dense=WIRING.negatives.dense_run,
        code=code("residuum.negatives"),
    output:
        **recorded(tuples=PATHS.tuples),
    log:
        PATHS.log("negatives/{model}"),
    benchmark:
        PATHS.time("negatives/{model}")
    conda:
        f"{ENVS}/lucene.yaml"
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(mem_mb=4000),
    params:
        spec=WIRING.negatives.mined_spec,
        corpus=options.folder("corpus"),
        index=options.each_folder("index", "index"),
        dense=options.each("dense", "dense"),
    shell:
        "python -m residuum.negatives mine {params.index} {params.dense} --corpus {params.corpus} "
        "--queries {input.queries} --qrels {input.qrels} --spec {params.spec:q} "
        "--threads {threads} --output {output.tuples} 2>&1 | tee {log}"

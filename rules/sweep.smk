rule sweep_measure:
    """Search with more and more effort, and exactly: what is found, compared, and how long it takes."""
    input:
        embeddings=WIRING.corpora.shards(PATHS.embeddings),
        queries=WIRING.corpora.shards(PATHS.query_embeddings),
        qrels=PATHS.qrels,
    output:
        **recorded(curve=ONLY.runs(PATHS.sweep, "dense")),
        timing=ONLY.runs(PATHS.timing, "dense"),
    log:
        PATHS.log("sweep/{dataset}.{split}.{sweep}.{run}"),
    conda:
        NEURAL
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(ESTIMATES.sweep, mem_mb=6000 + 2 * RESOURCES.shard_mb),
    params:
        **decided_by("residuum.sweep", "measure", WIRING.sweeps.spec),
        embeddings=options.each("embeddings", "embeddings", folder_of),
        queries=WIRING.corpora.asked,
        measures=WIRING.sweeps.measures,
    shell:
        "python -m residuum.sweep measure {params.embeddings} {params.queries} --qrels "
        "{input.qrels} "
        "{params.measures} --spec {params.spec:q} --tag {wildcards.run} --threads {threads} "
        "--output {output.curve} --timing {output.timing} 2>&1 | tee {log}"

# Exact hybrid search: all docs by all weights of a grid, lambda chosen on the tuning split, runs.


rule hybrid_search:
    """Find the docs with the largest weighted sums of several models' inner products."""
    input:
        embeddings=WIRING.hybrids.embeddings,
        queries=WIRING.hybrids.queries,
        judged_before=WIRING.runs.residual_of,
    output:
        ONLY.runs(PATHS.hybrid_hits, "hybrid"),
    log:
        PATHS.log("hybrid/{dataset}.{split}.{run}.search"),
    resources:
        **RESOURCES.cpu(ESTIMATES.hybrid, mem_mb=6000 + 2 * RESOURCES.shard_mb),
    params:
        **decided_by("residuum.hybrid", "search", WIRING.runs.spec),
        embeddings=WIRING.hybrids.embeddings_options,
        queries=WIRING.hybrids.queries_options,
        first=WIRING.hybrids.first_passages,
        judged_before=options.each("judged-before", "judged_before"),
        folder=options.output_folder,
    shell:
        "python -m residuum.hybrid search --spec {params.spec:q} {params.embeddings} "
        "{params.queries} "
        "{params.first} {params.judged_before} --output {params.folder} 2>&1 | tee {log}"


rule hybrid_tune:
    """Choose lambda on the tuning split."""
    input:
        hits=PATHS.hybrid_hits,
        qrels=PATHS.qrels,
        folds=WIRING.runs.folds,
    output:
        **recorded(tuning=ONLY.runs(PATHS.tuning, "hybrid")),
    log:
        PATHS.log("hybrid/{dataset}.{split}.{run}.tune"),
    resources:
        **RESOURCES.cpu(ESTIMATES.run, mem_mb=4000),
    params:
        **decided_by("residuum.hybrid", "tune", WIRING.runs.spec),
        hits=options.folder("hits"),
        folds=options.each("fold", "folds"),
    shell:
        "python -m residuum.hybrid tune --spec {params.spec:q} --hits {params.hits} "
        "--qrels {input.qrels} {params.folds} --output {output.tuning} 2>&1 | tee {log}"


rule hybrid_gather:
    """Write the run by the weight that was chosen or given."""
    input:
        hits=PATHS.hybrid_hits,
        tuning=WIRING.runs.tuning,
    output:
        **recorded(run=ONLY.runs(PATHS.run, "hybrid")),
    log:
        PATHS.log("hybrid/{dataset}.{split}.{run}.gather"),
    resources:
        **RESOURCES.cpu(ESTIMATES.run, mem_mb=4000),
    params:
        **decided_by("residuum.hybrid", "gather", WIRING.runs.spec),
        hits=options.folder("hits"),
        tuning=options.each("tuning", "tuning"),
    shell:
        "python -m residuum.hybrid gather --spec {params.spec:q} --hits {params.hits} "
        "{params.tuning} --tag {wildcards.run} --output {output.run} 2>&1 | tee {log}"

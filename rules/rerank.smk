# Reranking: each (query, doc) pair scored once per reranker, in shards of a split's queries; every
# depth is a cut of all shards' scores.


rule rerank_score:
    """Score the union of all first stages' candidates once, for a shard; a rerun resumes."""
    input:
        runs=WIRING.runs.candidates,
        queries=PATHS.queries,
        corpus=PATHS.corpus,
        model=WIRING.runs.reranker_files,
        folds=WIRING.runs.reranked_folds,
    output:
        **recorded(scores=PATHS.pairs),
    log:
        PATHS.log("rerank/{dataset}.{split}.{reranker}.{shard}.score"),
    conda:
        NEURAL
    threads: RESOURCES.threads
    resources:
        **RESOURCES.card(ESTIMATES.pair_scores, mem_mb=16000),
    params:
        **decided_by("residuum.rerank", "score", WIRING.runs.pairs_spec),
        runs=WIRING.runs.depths,
        corpus=options.folder("corpus"),
        model=WIRING.runs.reranker,
        windows=WIRING.corpora.windows,
        folds=options.each("fold", "folds"),
        store=PATHS.work("{dataset}.{split}.{reranker}.{shard}"),
        shard=WIRING.runs.shard,
        compute=RESOURCES.reranking,
    shell:
        "python -m residuum.rerank score {params.runs} --queries {input.queries} --corpus "
        "{params.corpus} {params.model} {params.windows} {params.folds} --spec {params.spec:q} "
        "{params.compute} {params.shard} --store "
        "{params.store} --output {output.scores} 2>&1 | tee {log}"


rule rerank_depths:
    """Evaluate every run that shares a reranker at every depth."""
    input:
        runs=WIRING.runs.candidates,
        scores=WIRING.runs.pairs,
        qrels=PATHS.qrels,
    output:
        **recorded(depths=PATHS.depth_curve),
    log:
        PATHS.log("rerank/{dataset}.{split}.{reranker}.depths"),
    resources:
        **RESOURCES.cpu(ESTIMATES.depths, mem_mb=4000),
    params:
        **decided_by("residuum.rerank", "depths", WIRING.runs.curves_spec),
        runs=WIRING.runs.curves,
        scores=options.each("scores", "scores"),
    shell:
        "python -m residuum.rerank depths --spec {params.spec:q} {params.runs} "
        "{params.scores} --qrels {input.qrels} --output {output.depths} 2>&1 | tee {log}"


rule rerank_cut:
    """Rerank a run down to a fixed depth, or to that which is best on queries of a split."""
    input:
        unpack(WIRING.runs.cut),
    output:
        **recorded(run=ONLY.runs(PATHS.run, "rerank"), tuning=ONLY.runs(PATHS.tuning, "rerank")),
    log:
        PATHS.log("rerank/{dataset}.{split}.{run}.cut"),
    resources:
        **RESOURCES.cpu(ESTIMATES.run, mem_mb=4000),
    params:
        **decided_by("residuum.rerank", "cut", WIRING.runs.spec),
        scores=options.each("scores", "scores"),
        curve=options.each("curve", "curve"),
        folds=options.each("fold", "folds"),
    shell:
        "python -m residuum.rerank cut --run {input.first} {params.scores} "
        "{params.curve} {params.folds} --name {wildcards.run} --spec {params.spec:q} "
        "--tag {wildcards.run} --output {output.run} --record {output.tuning} 2>&1 | tee {log}"

# Reranking: each (query, doc) pair scored once per reranker; every depth is a cut of that.


rule rerank_score:
    """Score the union of all first stages' candidates once; a rerun resumes."""
    input:
        runs=lambda w: list(first_stages(w)),
        queries=QUERIES,
        corpus=CORPUS,
        model=lambda w: cast_inputs(reranker_cast(w)),
        code=code("residuum.rerank"),
    output:
        scores=PAIRS,
        manifest=PAIRS + MANIFEST,
    log:
        f"{LOGS}/rerank/{{dataset}}.{{split}}.{{reranker}}.score.log",
    benchmark:
        f"{TIMES}/rerank/{{dataset}}.{{split}}.{{reranker}}.score.tsv"
    conda:
        NEURAL
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=16000,
        gpu=GPU,
    params:
        spec=driver.canonical({"batch_size": REGISTRY.scale.pair_batch_size}),
        runs=depth_options,
        corpus=lambda w, input: folder(input.corpus),
        model=reranker_argument,
        store=f"{RESULTS}/work/{{dataset}}.{{split}}.{{reranker}}",
        compute=f"{COMPUTE} {PRECISION}",
    shell:
        "python -m residuum.rerank score {params.runs} "
        "--queries {input.queries} --corpus {params.corpus} {params.model} "
        "--spec {params.spec:q} {params.compute} --store {params.store} "
        "--output {output.scores} 2>&1 | tee {log}"


rule rerank_sweep:
    """Evaluate every run that shares a reranker at every depth."""
    input:
        runs=lambda w: list(first_stages(w)),
        scores=PAIRS,
        qrels=QRELS,
        code=code("residuum.rerank"),
    output:
        sweep=SWEEP,
        manifest=SWEEP + MANIFEST,
    log:
        f"{LOGS}/rerank/{{dataset}}.{{split}}.{{reranker}}.sweep.log",
    benchmark:
        f"{TIMES}/rerank/{{dataset}}.{{split}}.{{reranker}}.sweep.tsv"
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=12000,
        gpu=0,
    params:
        spec=sweep_spec,
        runs=swept_runs,
    shell:
        "python -m residuum.rerank sweep --spec {params.spec:q} {params.runs} "
        "--scores {input.scores} --qrels {input.qrels} --output {output.sweep} 2>&1 | tee {log}"


rule rerank_cut:
    """Rerank a run down to the depth that is best on the tuning split."""
    input:
        unpack(cut_inputs),
        code=code("residuum.rerank"),
    output:
        run=RUN,
        manifest=RUN + MANIFEST,
        tuning=TUNING,
        record=TUNING + MANIFEST,
    log:
        f"{LOGS}/rerank/{{dataset}}.{{split}}.{{run}}.cut.log",
    benchmark:
        f"{TIMES}/rerank/{{dataset}}.{{split}}.{{run}}.cut.tsv"
    wildcard_constraints:
        run=runs_of("rerank"),
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=12000,
        gpu=0,
    params:
        spec=system_spec,
    shell:
        "python -m residuum.rerank cut --run {input.first} --scores {input.scores} "
        "--tuning {input.tuning} --name {wildcards.run} --spec {params.spec:q} "
        "--tag {wildcards.run} --output {output.run} --record {output.tuning} 2>&1 | tee {log}"

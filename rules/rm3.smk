# RM3 whose parameters are chosen for each fold of the queries on the other folds.


rule rm3_tune:
    """Search at every setting of RM3, choose by cross-validation and write the run."""
    input:
        index=run_index,
        queries=QUERIES,
        qrels=QRELS,
        folds=named_folds,
        code=code("residuum.rm3"),
    output:
        run=RUN,
        manifest=RUN + MANIFEST,
        tuning=TUNING,
        record=TUNING + MANIFEST,
    log:
        f"{LOGS}/rm3/{{dataset}}.{{split}}.{{run}}.tune.log",
    benchmark:
        f"{TIMES}/rm3/{{dataset}}.{{split}}.{{run}}.tune.tsv"
    wildcard_constraints:
        run=runs_of("lexical", tunes_rm3=True),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=system_spec,
        index=lambda w, input: folder(input.index),
        measure=rm3_measure,
        folds=fold_options,
    shell:
        "python -m residuum.rm3 tune --index {params.index} --queries {input.queries} "
        "--qrels {input.qrels} {params.folds} --spec {params.spec:q} --measure {params.measure:q} "
        "--tag {wildcards.run} --threads {threads} --output {output.run} "
        "--record {output.tuning} 2>&1 | tee {log}"

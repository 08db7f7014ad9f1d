rule rm3_tune:
    """Rank at every setting of RM3, choose by cross-validation and write the run."""
    input:
        index=WIRING.corpora.index_behind,
        queries=PATHS.queries,
        qrels=PATHS.qrels,
        folds=WIRING.runs.folds,
        judged_before=WIRING.runs.residual_of,
    output:
        **recorded(
            run=ONLY.runs(PATHS.run, "lexical", tunes_rm3=True),
            tuning=ONLY.runs(PATHS.tuning, "lexical", tunes_rm3=True),
        ),
    log:
        PATHS.log("rm3/{dataset}.{split}.{run}.tune"),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(ESTIMATES.search, mem_mb=RESOURCES.grid_mb),
    params:
        **decided_by("residuum.rm3", "tune", WIRING.runs.spec),
        index=options.folder("index"),
        measure=WIRING.corpora.rm3_measure,
        folds=options.each("fold", "folds"),
        judged_before=options.each("judged-before", "judged_before"),
    shell:
        "python -m residuum.rm3 tune --index {params.index} --queries {input.queries} "
        "--qrels {input.qrels} {params.folds} {params.judged_before} --spec {params.spec:q} "
        "--measure {params.measure:q} "
        "--tag {wildcards.run} --threads {threads} --output {output.run} "
        "--record {output.tuning} 2>&1 | tee {log}"

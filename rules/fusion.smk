# Hybrid runs: lambda chosen on the tuning split or fixed, then lexical and dense fused.


rule fusion_tune:
    """Choose lambda on the tuning split."""
    input:
        unpack(fused),
        qrels=QRELS,
        folds=named_folds,
        code=code("residuum.fusion"),
    output:
        tuning=TUNING,
        manifest=TUNING + MANIFEST,
    log:
        f"{LOGS}/fusion/{{dataset}}.{{split}}.{{run}}.tune.log",
    benchmark:
        f"{TIMES}/fusion/{{dataset}}.{{split}}.{{run}}.tune.tsv"
    wildcard_constraints:
        run=runs_of("fusion"),
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=system_spec,
        runs=fusion_options,
        folds=fold_options,
    shell:
        "python -m residuum.fusion tune --spec {params.spec:q} {params.runs} "
        "--qrels {input.qrels} {params.folds} --output {output.tuning} 2>&1 | tee {log}"


rule fusion_fuse:
    """Fuse the lexical and the dense run with the lambda that was tuned or given."""
    input:
        unpack(fused),
        tuning=tuning_file,
        code=code("residuum.fusion"),
    output:
        run=RUN,
        manifest=RUN + MANIFEST,
    log:
        f"{LOGS}/fusion/{{dataset}}.{{split}}.{{run}}.fuse.log",
    benchmark:
        f"{TIMES}/fusion/{{dataset}}.{{split}}.{{run}}.fuse.tsv"
    wildcard_constraints:
        run=runs_of("fusion"),
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=system_spec,
        runs=fusion_options,
    shell:
        "python -m residuum.fusion fuse --spec {params.spec:q} {params.runs} "
        "--tag {wildcards.run} --output {output.run} 2>&1 | tee {log}"

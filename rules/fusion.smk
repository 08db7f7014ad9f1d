# Hybrid runs: lambda chosen on the tuning split, then lexical and dense fused.


rule fusion_tune:
    """Choose lambda on the tuning split."""
    input:
        unpack(tuning_inputs),
        code=code("residuum.fusion"),
    output:
        tuning=f"{RESULTS}/tuning/{{dataset}}/{{system}}.seed{{seed}}.json",
        manifest=f"{RESULTS}/tuning/{{dataset}}/{{system}}.seed{{seed}}.json{MANIFEST}",
    log:
        f"{LOGS}/fusion/{{dataset}}.{{system}}.seed{{seed}}.tune.log",
    benchmark:
        f"{TIMES}/fusion/{{dataset}}.{{system}}.seed{{seed}}.tune.tsv"
    wildcard_constraints:
        system=either(systems("fusion")),
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
        "python -m residuum.fusion tune --spec {params.spec:q} {params.runs} "
        "--qrels {input.qrels} --output {output.tuning} 2>&1 | tee {log}"


rule fusion_fuse:
    """Fuse the lexical and the dense run with the lambda that was tuned."""
    input:
        unpack(lambda w: fused(w.dataset, w.split, w)),
        tuning=tuning_file,
        code=code("residuum.fusion"),
    output:
        run=f"{RESULTS}/runs/{{dataset}}/{{split}}/{{system}}.seed{{seed}}.trec.gz",
        manifest=f"{RESULTS}/runs/{{dataset}}/{{split}}/{{system}}.seed{{seed}}.trec.gz{MANIFEST}",
    log:
        f"{LOGS}/fusion/{{dataset}}.{{split}}.{{system}}.seed{{seed}}.fuse.log",
    benchmark:
        f"{TIMES}/fusion/{{dataset}}.{{split}}.{{system}}.seed{{seed}}.fuse.tsv"
    wildcard_constraints:
        system=either(systems("fusion")),
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
        "--tuning {input.tuning} --tag {wildcards.system}.seed{wildcards.seed} "
        "--output {output.run} 2>&1 | tee {log}"

# Hybrid runs: lambda chosen on the tuning split, then lexical and dense fused.


def fused(dataset, split, wildcards):
    """Return the inputs of a fusion on one split: both runs and the scores each list lacks."""
    system = REGISTRY.systems[wildcards.system]
    lexical, dense = system.lexical, f"{system.dense}.seed{wildcards.seed}"
    place = {"dataset": dataset, "split": split}
    inputs = {"lexical": RUN.format(run=lexical, **place), "dense": RUN.format(run=dense, **place)}
    if system.missing.lexical == "true_score":
        inputs["lexical_on_dense"] = SCORES.format(run=lexical, other=dense, **place)
    if system.missing.dense == "true_score":
        inputs["dense_on_lexical"] = SCORES.format(run=dense, other=lexical, **place)
    return inputs


def _tuning_place(wildcards):
    return REGISTRY.place(REGISTRY.systems[wildcards.system].weight.tune_on)


def _tuning_inputs(wildcards):
    place = _tuning_place(wildcards)
    return {**fused(*place, wildcards), "qrels": at(QRELS, place)}


def _tuning_file(wildcards):
    run = f"{wildcards.system}.seed{wildcards.seed}"
    return TUNING.format(dataset=_tuning_place(wildcards).dataset, run=run)


def _options(wildcards, input):
    names = ["lexical", "dense", "lexical_on_dense", "dense_on_lexical"]
    given = [(name.replace("_", "-"), input.get(name)) for name in names]
    return " ".join(f"--{name} {path}" for name, path in given if path)


rule fusion_tune:
    """Choose lambda on the tuning split."""
    input:
        unpack(_tuning_inputs),
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
    threads: 1
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=spec_of("fusion"),
        runs=_options,
    conda:
        f"{ENVS}/base.yaml"
    shell:
        "python -m residuum.fusion tune --spec {params.spec:q} {params.runs} "
        "--qrels {input.qrels} --output {output.tuning} 2>&1 | tee {log}"


rule fusion_fuse:
    """Fuse the lexical and the dense run with the lambda that was tuned."""
    input:
        unpack(lambda w: fused(w.dataset, w.split, w)),
        tuning=_tuning_file,
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
    threads: 1
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=spec_of("fusion"),
        runs=_options,
    conda:
        f"{ENVS}/base.yaml"
    shell:
        "python -m residuum.fusion fuse --spec {params.spec:q} {params.runs} "
        "--tuning {input.tuning} --tag {wildcards.system}.seed{wildcards.seed} "
        "--output {output.run} 2>&1 | tee {log}"

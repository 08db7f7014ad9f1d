# Per-query metrics of every run.


def _measures(wildcards):
    place = _registry.Place(wildcards.dataset, wildcards.split)
    return " ".join(f"--measure '{name}'" for name in REGISTRY.measures(place))


rule evaluate_run:
    """Evaluate a run per query; a judged query that the run lacks counts 0."""
    input:
        run=RUN,
        qrels=QRELS,
        code=code("residuum.evaluate"),
    output:
        metrics=METRICS,
        manifest=METRICS + MANIFEST,
    log:
        f"{LOGS}/evaluate/{{dataset}}.{{split}}.{{run}}.log",
    benchmark:
        f"{TIMES}/evaluate/{{dataset}}.{{split}}.{{run}}.tsv"
    threads: 1
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        measures=_measures,
    conda:
        f"{ENVS}/base.yaml"
    shell:
        "python -m residuum.evaluate run --run {input.run} --qrels {input.qrels} "
        "{params.measures} --output {output.metrics} 2>&1 | tee {log}"

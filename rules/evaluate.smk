# Per-query metrics of every run.


rule evaluate_run:
    """Evaluate a run per query; a judged query that the run lacks counts 0."""
    input:
        run=RUN,
        record=RUN + MANIFEST,
        qrels=QRELS,
        texts=answer_texts,
        code=code("residuum.evaluate"),
    output:
        metrics=METRICS,
        manifest=METRICS + MANIFEST,
    log:
        f"{LOGS}/evaluate/{{dataset}}.{{split}}.{{run}}.log",
    benchmark:
        f"{TIMES}/evaluate/{{dataset}}.{{split}}.{{run}}.tsv"
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        measures=measure_options,
        texts=answer_options,
    shell:
        "python -m residuum.evaluate run --run {input.run} --qrels {input.qrels} "
        "{params.measures} {params.texts} --output {output.metrics} 2>&1 | tee {log}"

rule evaluate_run:
    """Evaluate a run per query; a judged query that the run lacks counts 0."""
    input:
        run=PATHS.run,
        record=PATHS.run.manifest,
        qrels=PATHS.qrels,
        texts=WIRING.runs.texts,
    output:
        **recorded(metrics=PATHS.metrics),
    log:
        PATHS.log("evaluate/{dataset}.{split}.{run}"),
    benchmark:
        PATHS.time("evaluate/{dataset}.{split}.{run}")
    conda:
        f"{ENVS}/base.yaml"
    resources:
        **RESOURCES.cpu(ESTIMATES.measures, mem_mb=4000),
    params:
        **decided_by("residuum.evaluate", "run", WIRING.runs.measures),
        texts=WIRING.runs.text_options,
    shell:
        "python -m residuum.evaluate run --run {input.run} --qrels {input.qrels} "
        "{params.spec} {params.texts} --output {output.metrics} 2>&1 | tee {log}"

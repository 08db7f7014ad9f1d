rule evaluate_run:
    """Evaluate a run per query; a judged query that the run lacks counts 0."""
    input:
        run=WIRING.evaluations.ranked,
        record=WIRING.evaluations.record,
        qrels=PATHS.qrels,
        texts=WIRING.evaluations.texts,
    output:
        **recorded(metrics=ONLY.orders(PATHS.metrics)),
    log:
        PATHS.log("evaluate/{dataset}.{split}.{run}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.measures, mem_mb=4000),
    params:
        **decided_by("residuum.evaluate", "run", WIRING.evaluations.measures),
        texts=options.texts,
    shell:
        "python -m residuum.evaluate run --run {input.run} --qrels {input.qrels} "
        "{params.spec} {params.texts} --output {output.metrics} 2>&1 | tee {log}"

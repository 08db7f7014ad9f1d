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


rule evaluate_bounds:
    """Say what a random order and the best order of a corpus reach on a split."""
    input:
        qrels=PATHS.qrels,
        corpus=PATHS.corpus,
        texts=WIRING.evaluations.texts,
    output:
        **recorded(bounds=PATHS.bounds),
    log:
        PATHS.log("evaluate/{dataset}.{split}.bounds"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.evaluate", "bounds", WIRING.evaluations.measures),
        corpus=options.folder("corpus"),
        answers=options.answers,
    shell:
        "python -m residuum.evaluate bounds --qrels {input.qrels} --corpus {params.corpus} "
        "{params.answers} {params.spec} --output {output.bounds} 2>&1 | tee {log}"


rule evaluate_over:
    """Say what a random order and the best order of given candidates reach on a split."""
    input:
        qrels=PATHS.qrels,
        candidates=WIRING.evaluations.candidates,
        texts=WIRING.evaluations.texts,
    output:
        **recorded(bounds=PATHS.candidate_bounds),
    log:
        PATHS.log("evaluate/{dataset}.{split}.{other}.bounds"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.evaluate", "over", WIRING.evaluations.measures),
        texts=options.texts,
    shell:
        "python -m residuum.evaluate over --qrels {input.qrels} "
        "--candidates {input.candidates} {params.texts} {params.spec} --output {output.bounds} 2>&1 | tee {log}"

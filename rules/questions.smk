rule questions_generate:
    """Write the questions of a synthetic split, with its judgements, in parts; a rerun resumes."""
    input:
        corpus=PATHS.corpus,
        generator=WIRING.questions.generator_files,
    output:
        queries=ONLY.synthetic(PATHS.queries),
        qrels=ONLY.synthetic(PATHS.qrels),
        manifest=ONLY.synthetic(PATHS.queries.manifest),
    log:
        PATHS.log("questions/{dataset}.{split}"),
    conda:
        NEURAL
    threads: RESOURCES.threads
    resources:
        **RESOURCES.card(ESTIMATES.questions, mem_mb=6000),
    params:
        **decided_by("residuum.questions", "generate", WIRING.questions.spec),
        corpus=options.folder("corpus"),
        generator=WIRING.questions.generator,
        work=PATHS.work("questions.{dataset}.{split}"),
        compute=RESOURCES.batches,
    shell:
        "python -m residuum.questions generate --corpus {params.corpus} --model {params.generator} "
        "--spec {params.spec:q} {params.compute} --work {params.work} "
        "--queries {output.queries} --qrels {output.qrels} 2>&1 | tee {log}"

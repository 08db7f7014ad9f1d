# Dual encoders: one checkpoint per model and seed.


rule train_train:
    """Train a dual encoder; after a kill the same command resumes."""
    input:
        tuples=lambda w: TUPLES.format(model=REGISTRY.tuples_of(w.model)),
        corpus=trained_on(CORPUS),
        queries=trained_on(QUERIES),
        start=start_inputs,
        code=code("residuum.train"),
    output:
        CHECKPOINT,
    log:
        f"{LOGS}/train/{{model}}.seed{{seed}}.log",
    benchmark:
        f"{TIMES}/train/{{model}}.seed{{seed}}.tsv"
    conda:
        NEURAL
    threads: REGISTRY.scale.threads * GPUS
    resources:
        mem_mb=6000 * GPUS,
        gpu=GPU * GPUS,
    params:
        spec=lambda w: _registry.spec(REGISTRY.model(w.model)),
        start=start_argument,
        corpus=lambda w, input: folder(input.corpus),
        folder=lambda w, output: folder(output[0]),
        work=f"{RESULTS}/work/{{model}}.seed{{seed}}",
        compute=f"{COMPUTE} {PRECISION}",
        torchrun=TORCHRUN,
    shell:
        "{params.torchrun} "
        "python -m residuum.train train --tuples {input.tuples} --corpus {params.corpus} "
        "--queries {input.queries} --start {params.start} --spec {params.spec:q} "
        "--seed {wildcards.seed} {params.compute} --work {params.work} "
        "--output {params.folder} 2>&1 | tee {log}"

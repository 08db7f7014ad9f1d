# Dual encoders: one checkpoint per model and seed.


def _start_inputs(wildcards):
    """A backbone made by the graph is an input; of a local one, its files are."""
    cast = REGISTRY.backbone(REGISTRY.models[wildcards.model].backbone)
    if isinstance(cast, schema.FromModel):
        return [made_by(cast.model, wildcards.seed)]
    if isinstance(cast, schema.FromPath):
        names = ["config.json", "model.safetensors"]
        return [str(p) for n in names if (p := Path(cast.path) / n).is_file()]
    return []


def _start(wildcards):
    cast = REGISTRY.backbone(REGISTRY.models[wildcards.model].backbone)
    if isinstance(cast, schema.FromModel):
        return folder(made_by(cast.model, wildcards.seed))
    if isinstance(cast, schema.FromPath):
        return cast.path
    return f"{cast.hub} --revision {cast.revision}"


def made_by(model, seed):
    """Return the manifest of a checkpoint that the graph makes."""
    if REGISTRY.models[model].kind == "backbone":
        return BACKBONE.format(backbone=model)
    return CHECKPOINT.format(model=model, seed=seed)


rule train_train:
    """Train a dual encoder; after a kill the same command resumes."""
    input:
        tuples=lambda w: TUPLES.format(model=REGISTRY.tuples_of(w.model)),
        corpus=trained_on(CORPUS),
        queries=trained_on(QUERIES),
        start=_start_inputs,
        code=code("residuum.train"),
    output:
        CHECKPOINT,
    log:
        f"{LOGS}/train/{{model}}.seed{{seed}}.log",
    benchmark:
        f"{TIMES}/train/{{model}}.seed{{seed}}.tsv"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=6000,
        gpu=GPU,
    params:
        spec=lambda w: _registry.spec(REGISTRY.model(w.model)),
        start=_start,
        corpus=lambda w, input: folder(input.corpus),
        folder=lambda w, output: folder(output[0]),
        work=f"{RESULTS}/work/{{model}}.seed{{seed}}",
        compute=f"--threads {REGISTRY.scale.threads} {COMPUTE}",
    conda:
        f"{ENVS}/neural.yaml"
    shell:
        "python -m residuum.train train --tuples {input.tuples} --corpus {params.corpus} "
        "--queries {input.queries} --start {params.start} --spec {params.spec:q} "
        "--seed {wildcards.seed} {params.compute} --work {params.work} "
        "--output {params.folder} 2>&1 | tee {log}"

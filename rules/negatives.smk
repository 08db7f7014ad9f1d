# Training tuples: positives with sampled negatives and their lexical scores.


def _negatives_spec(wildcards):
    model = REGISTRY.model(wildcards.model)
    place = REGISTRY.place(model.train_on)
    system = getattr(model.negatives, "system", None)
    return driver.canonical(
        {
            "negatives": model.negatives.model_dump(mode="json"),
            "system": REGISTRY.systems[system].model_dump(mode="json") if system else None,
            "positive_level": REGISTRY.datasets[place.dataset].splits[place.split].positive_level,
        }
    )


def _negatives_index(wildcards):
    model = REGISTRY.model(wildcards.model)
    system = getattr(model.negatives, "system", None)
    return [index_of(REGISTRY.place(model.train_on).dataset, system)] if system else []


def trained_on(template):
    """Return an input function: a file of the split that a model is trained on."""
    return lambda w: at(template, REGISTRY.place(REGISTRY.models[w.model].train_on))


rule negatives_mine:
    """Draw the negatives of every training pair, with true lexical scores."""
    input:
        corpus=trained_on(CORPUS),
        queries=trained_on(QUERIES),
        qrels=trained_on(QRELS),
        index=_negatives_index,
        code=code("residuum.negatives"),
    output:
        tuples=TUPLES,
        manifest=TUPLES + MANIFEST,
    log:
        f"{LOGS}/negatives/{{model}}.log",
    benchmark:
        f"{TIMES}/negatives/{{model}}.tsv"
    threads: 2
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=_negatives_spec,
        corpus=lambda w, input: folder(input.corpus),
        index=lambda w, input: f"--index {folder(input.index)}" if input.index else "",
    conda:
        f"{ENVS}/lucene.yaml"
    shell:
        "python -m residuum.negatives mine {params.index} --corpus {params.corpus} "
        "--queries {input.queries} --qrels {input.qrels} --spec {params.spec:q} "
        "--threads {threads} --output {output.tuples} 2>&1 | tee {log}"

# DeepCT: the predicted weights of the words of every doc.


rule termweights_predict:
    """Predict the term weights of a corpus in parts; a rerun resumes."""
    input:
        corpus=CORPUS,
        model=CHECKPOINT,
        code=code("residuum.termweights"),
    output:
        WEIGHTS,
    log:
        f"{LOGS}/termweights/{{dataset}}.{{model}}.seed{{seed}}.log",
    benchmark:
        f"{TIMES}/termweights/{{dataset}}.{{model}}.seed{{seed}}.tsv"
    conda:
        NEURAL
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=6000,
        gpu=GPU,
    params:
        corpus=lambda w, input: folder(input.corpus),
        model=lambda w, input: folder(input.model),
        folder=lambda w, output: folder(output[0]),
        compute=f"{BATCHES} {COMPUTE} {PRECISION}",
    shell:
        "python -m residuum.termweights predict --corpus {params.corpus} --model {params.model} "
        "{params.compute} --output {params.folder} 2>&1 | tee {log}"

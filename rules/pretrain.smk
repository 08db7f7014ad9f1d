# Backbones that the graph makes itself, where a scale does not take them from a hub.


rule pretrain_backbone:
    """Make a small BERT: WordPiece vocabulary, LSA-initialised word embeddings."""
    input:
        corpus=lambda w: at(CORPUS, REGISTRY.place(REGISTRY.models[w.backbone].corpus)),
        code=code("residuum.pretrain"),
    output:
        BACKBONE,
    log:
        f"{LOGS}/pretrain/{{backbone}}.log",
    benchmark:
        f"{TIMES}/pretrain/{{backbone}}.tsv"
    conda:
        f"{ENVS}/neural.yaml"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=lambda w: _registry.spec(REGISTRY.model(w.backbone)),
        corpus=lambda w, input: folder(input.corpus),
        folder=lambda w, output: folder(output[0]),
        compute_threads=REGISTRY.scale.threads,
    shell:
        "python -m residuum.pretrain backbone --corpus {params.corpus} --spec {params.spec:q} "
        "--threads {params.compute_threads} --output {params.folder} 2>&1 | tee {log}"

# Collections: the corpus in shards, queries and qrels per split.


rule data_corpus:
    """Export a corpus as JSON-lines shards and check its ids and count."""
    input:
        files=source_files,
        code=code("residuum.data"),
    output:
        CORPUS,
    log:
        f"{LOGS}/data/{{dataset}}.corpus.log",
    benchmark:
        f"{TIMES}/data/{{dataset}}.corpus.tsv"
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=export_mb,
        gpu=0,
    params:
        spec=lambda w: driver.canonical(REGISTRY.datasets[w.dataset].for_corpus()),
        folder=lambda w, output: folder(output[0]),
    shell:
        "python -m residuum.data corpus --dataset {wildcards.dataset} --spec {params.spec:q} "
        "--page config/datasets/{wildcards.dataset}.yaml --output {params.folder} 2>&1 | tee {log}"


rule data_split:
    """Export the queries and qrels of a split and check one against the other."""
    input:
        files=source_files,
        code=code("residuum.data"),
    output:
        queries=QUERIES,
        qrels=QRELS,
        manifest=QUERIES + MANIFEST,
    log:
        f"{LOGS}/data/{{dataset}}.{{split}}.log",
    benchmark:
        f"{TIMES}/data/{{dataset}}.{{split}}.tsv"
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=export_mb,
        gpu=0,
    params:
        spec=lambda w: driver.canonical(REGISTRY.datasets[w.dataset].for_split(w.split)),
    shell:
        "python -m residuum.data split --dataset {wildcards.dataset} --name {wildcards.split} "
        "--spec {params.spec:q} --page config/datasets/{wildcards.dataset}.yaml "
        "--queries {output.queries} --qrels {output.qrels} 2>&1 | tee {log}"


rule data_answers:
    """Export the answers to the questions of a split."""
    input:
        files=source_files,
        code=code("residuum.data"),
    output:
        answers=ANSWERS,
        manifest=ANSWERS + MANIFEST,
    log:
        f"{LOGS}/data/{{dataset}}.{{split}}.answers.log",
    benchmark:
        f"{TIMES}/data/{{dataset}}.{{split}}.answers.tsv"
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=export_mb,
        gpu=0,
    params:
        spec=lambda w: driver.canonical(REGISTRY.datasets[w.dataset].for_split(w.split)),
    shell:
        "python -m residuum.data answers --dataset {wildcards.dataset} --name {wildcards.split} "
        "--spec {params.spec:q} --page config/datasets/{wildcards.dataset}.yaml "
        "--output {output.answers} 2>&1 | tee {log}"

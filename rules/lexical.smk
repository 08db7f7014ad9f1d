# Lucene through Anserini: index, runs, and the scores of pairs that another run holds.


rule lexical_index:
    """Index a corpus with one analysis and check the document count."""
    input:
        corpus=CORPUS,
        code=code("residuum.lexical"),
    output:
        INDEX,
    log:
        f"{LOGS}/lexical/{{dataset}}.{{index}}.index.log",
    benchmark:
        f"{TIMES}/lexical/{{dataset}}.{{index}}.index.tsv"
    conda:
        f"{ENVS}/lucene.yaml"
    threads: 2
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=analysis_spec,
        corpus=lambda w, input: folder(input.corpus),
        folder=lambda w, output: folder(output[0]),
    shell:
        "python -m residuum.lexical index --corpus {params.corpus} --spec {params.spec:q} "
        "--threads {threads} --output {params.folder} 2>&1 | tee {log}"


rule lexical_search:
    """Search with BM25 or BM25+RM3 and write the run."""
    input:
        index=lambda w: index_of(w.dataset, w.system),
        queries=QUERIES,
        code=code("residuum.lexical"),
    output:
        run=f"{RESULTS}/runs/{{dataset}}/{{split}}/{{system}}.trec.gz",
        manifest=f"{RESULTS}/runs/{{dataset}}/{{split}}/{{system}}.trec.gz{MANIFEST}",
    log:
        f"{LOGS}/lexical/{{dataset}}.{{split}}.{{system}}.search.log",
    benchmark:
        f"{TIMES}/lexical/{{dataset}}.{{split}}.{{system}}.search.tsv"
    wildcard_constraints:
        system=either(systems("lexical")),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: 2
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=system_spec,
        index=lambda w, input: folder(input.index),
    shell:
        "python -m residuum.lexical search --index {params.index} --queries {input.queries} "
        "--spec {params.spec:q} --tag {wildcards.system} --threads {threads} "
        "--output {output.run} 2>&1 | tee {log}"


rule lexical_score:
    """Score the docs of another run with BM25, for fusion by true scores."""
    input:
        index=lambda w: index_of(w.dataset, w.system),
        queries=QUERIES,
        other=lambda w: RUN.format(dataset=w.dataset, split=w.split, run=w.other),
        code=code("residuum.lexical"),
    output:
        run=f"{RESULTS}/scores/{{dataset}}/{{split}}/{{system}}.on.{{other}}.trec.gz",
        manifest=f"{RESULTS}/scores/{{dataset}}/{{split}}/{{system}}.on.{{other}}.trec.gz{MANIFEST}",
    log:
        f"{LOGS}/lexical/{{dataset}}.{{split}}.{{system}}.on.{{other}}.log",
    benchmark:
        f"{TIMES}/lexical/{{dataset}}.{{split}}.{{system}}.on.{{other}}.tsv"
    wildcard_constraints:
        system=either(systems("lexical")),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=system_spec,
        index=lambda w, input: folder(input.index),
    shell:
        "python -m residuum.lexical score --index {params.index} --queries {input.queries} "
        "--run {input.other} --spec {params.spec:q} --tag {wildcards.system} "
        "--threads {threads} --output {output.run} 2>&1 | tee {log}"

# Lucene through Anserini: index, runs, RM3 sweeps, and the scores of docs that another run holds.


rule lexical_index:
    """Index a corpus, or its predicted term weights, and check the document count."""
    input:
        corpus=CORPUS,
        weights=index_weights,
        code=code("residuum.lexical"),
    output:
        INDEX,
    log:
        f"{LOGS}/lexical/{{dataset}}.{{index}}.index.log",
    benchmark:
        f"{TIMES}/lexical/{{dataset}}.{{index}}.index.tsv"
    conda:
        f"{ENVS}/lucene.yaml"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=index_form,
        corpus=lambda w, input: folder(input.corpus),
        weights=lambda w, input: f"--weights {folder(input.weights)}" if input.weights else "",
        folder=lambda w, output: folder(output[0]),
    shell:
        "python -m residuum.lexical index --corpus {params.corpus} {params.weights} "
        "--spec {params.spec:q} --threads {threads} --output {params.folder} 2>&1 | tee {log}"


rule lexical_search:
    """Search with BM25, with or without fixed RM3, and write the run."""
    input:
        index=run_index,
        queries=QUERIES,
        code=code("residuum.lexical"),
    output:
        run=RUN,
        manifest=RUN + MANIFEST,
    log:
        f"{LOGS}/lexical/{{dataset}}.{{split}}.{{run}}.search.log",
    benchmark:
        f"{TIMES}/lexical/{{dataset}}.{{split}}.{{run}}.search.tsv"
    wildcard_constraints:
        run=runs_of("lexical", swept=False),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=system_spec,
        index=lambda w, input: folder(input.index),
    shell:
        "python -m residuum.lexical search --index {params.index} --queries {input.queries} "
        "--spec {params.spec:q} --tag {wildcards.run} --threads {threads} "
        "--output {output.run} 2>&1 | tee {log}"


rule lexical_sweep:
    """Search at every setting of RM3, choose by cross-validation and write the run."""
    input:
        index=run_index,
        queries=QUERIES,
        qrels=QRELS,
        folds=named_folds,
        code=code("residuum.lexical"),
    output:
        run=RUN,
        manifest=RUN + MANIFEST,
        tuning=TUNING,
        record=TUNING + MANIFEST,
    log:
        f"{LOGS}/lexical/{{dataset}}.{{split}}.{{run}}.sweep.log",
    benchmark:
        f"{TIMES}/lexical/{{dataset}}.{{split}}.{{run}}.sweep.tsv"
    wildcard_constraints:
        run=runs_of("lexical", swept=True),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=system_spec,
        index=lambda w, input: folder(input.index),
        measure=swept_measure,
        folds=fold_options,
    shell:
        "python -m residuum.lexical sweep --index {params.index} --queries {input.queries} "
        "--qrels {input.qrels} {params.folds} --spec {params.spec:q} --measure {params.measure:q} "
        "--tag {wildcards.run} --threads {threads} --output {output.run} "
        "--record {output.tuning} 2>&1 | tee {log}"


rule lexical_score:
    """Score the docs of another system with BM25, for fusion by true scores."""
    input:
        index=run_index,
        queries=QUERIES,
        runs=other_runs,
        code=code("residuum.lexical"),
    output:
        run=SCORES,
        manifest=SCORES + MANIFEST,
    log:
        f"{LOGS}/lexical/{{dataset}}.{{split}}.{{run}}.on.{{other}}.log",
    benchmark:
        f"{TIMES}/lexical/{{dataset}}.{{split}}.{{run}}.on.{{other}}.tsv"
    wildcard_constraints:
        run=runs_of("lexical"),
    conda:
        f"{ENVS}/lucene.yaml"
    threads: REGISTRY.scale.threads
    resources:
        mem_mb=4000,
        gpu=0,
    params:
        spec=system_spec,
        index=lambda w, input: folder(input.index),
        runs=run_options,
    shell:
        "python -m residuum.lexical score --index {params.index} --queries {input.queries} "
        "{params.runs} --spec {params.spec:q} --tag {wildcards.run} "
        "--threads {threads} --output {output.run} 2>&1 | tee {log}"

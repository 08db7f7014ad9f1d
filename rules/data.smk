rule data_corpus:
    """Export a corpus as JSON-lines shards and check its ids and count."""
    input:
        files=WIRING.exports.files,
        of=WIRING.exports.segmented_from,
        vocabulary=WIRING.exports.tokenizer,
    output:
        PATHS.corpus,
    log:
        PATHS.log("data/{dataset}.corpus"),
    resources:
        **RESOURCES.cpu(ESTIMATES.corpus, mem_mb=RESOURCES.export_mb),
    params:
        **decided_by("residuum.data", "corpus", WIRING.exports.spec),
        of=options.each("of", "of", folder_of),
        vocabulary=WIRING.exports.tokenizer_option,
        folder=options.output_folder,
    shell:
        "python -m residuum.data corpus --dataset {wildcards.dataset} --spec {params.spec:q} "
        "--dataset-file config/datasets/{wildcards.dataset}.yaml {params.of} "
        "{params.vocabulary} --output {params.folder} 2>&1 | tee {log}"


rule data_split:
    """Export the queries and qrels of a split and check one against the other."""
    input:
        files=WIRING.exports.files,
        judged_before=WIRING.runs.earlier_rounds,
        corpus=WIRING.exports.judged_by,
        questions=WIRING.exports.questions,
    output:
        queries=ONLY.exported(PATHS.queries),
        qrels=ONLY.exported(PATHS.qrels),
        manifest=ONLY.exported(PATHS.queries.manifest),
    log:
        PATHS.log("data/{dataset}.{split}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.judged_split, mem_mb=RESOURCES.export_mb),
    params:
        **decided_by("residuum.data", "split", WIRING.exports.spec),
        judged_before=options.each("judged-before", "judged_before"),
        corpus=options.each("corpus", "corpus", folder_of),
        questions=options.each("questions", "questions", folder_of),
    shell:
        "python -m residuum.data split --dataset {wildcards.dataset} --name {wildcards.split} "
        "--spec {params.spec:q} --dataset-file config/datasets/{wildcards.dataset}.yaml "
        "{params.judged_before} {params.corpus} {params.questions} --queries {output.queries} "
        "--qrels {output.qrels} 2>&1 | tee {log}"


rule data_answers:
    """Export the answers to the questions of a split."""
    input:
        files=WIRING.exports.files,
        questions=WIRING.exports.questions,
    output:
        **recorded(answers=PATHS.answers),
    log:
        PATHS.log("data/{dataset}.{split}.answers"),
    resources:
        **RESOURCES.cpu(ESTIMATES.split, mem_mb=RESOURCES.export_mb),
    params:
        **decided_by("residuum.data", "answers", WIRING.exports.spec),
        questions=options.each("questions", "questions", folder_of),
    shell:
        "python -m residuum.data answers --dataset {wildcards.dataset} --name {wildcards.split} "
        "--spec {params.spec:q} --dataset-file config/datasets/{wildcards.dataset}.yaml "
        "{params.questions} --output {output.answers} 2>&1 | tee {log}"


rule data_docpairs:
    """Export the training triples that a collection brings for a split."""
    input:
        files=WIRING.exports.docpairs_files,
        queries=PATHS.queries,
    output:
        **recorded(docpairs=PATHS.docpairs),
    log:
        PATHS.log("data/{dataset}.{split}.docpairs"),
    resources:
        **RESOURCES.cpu(ESTIMATES.docpairs, mem_mb=8000),
    params:
        **decided_by("residuum.data", "docpairs", WIRING.exports.docpairs_spec),
    shell:
        "python -m residuum.data docpairs --dataset {wildcards.dataset} --name {wildcards.split} "
        "--spec {params.spec:q} --dataset-file config/datasets/{wildcards.dataset}.yaml "
        "--queries {input.queries} --output {output.docpairs} 2>&1 | tee {log}"

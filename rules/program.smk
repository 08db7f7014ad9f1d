# Vectors by programs of the user's: of the docs of a corpus by shard, of the queries of its splits.


rule program_docs:
    """Ask a program for the vectors of one shard of a corpus."""
    input:
        files=WIRING.corpora.program_files,
        corpus=PATHS.corpus,
    output:
        ONLY.models(PATHS.embeddings, "program"),
    log:
        PATHS.log("program/{dataset}.{model}.seed{seed}.{shard}"),
    resources:
        **RESOURCES.cpu(ESTIMATES.asked_docs, mem_mb=4000 + 3 * RESOURCES.shard_mb),
    params:
        **decided_by("residuum.program", "docs", WIRING.models.spec),
        files=options.each("file", "files", quote),
        corpus=options.folder("corpus"),
        shard=WIRING.corpora.shard,
        answers=ANSWERS,
        folder=options.output_folder,
    shell:
        "python -m residuum.program docs --corpus {params.corpus} {params.shard} {params.files} "
        "--spec {params.spec:q} --answers {params.answers} --output {params.folder} 2>&1 | tee {log}"


rule program_queries:
    """Ask a program for the vectors of the queries of all splits of a dataset that are searched."""
    input:
        files=WIRING.corpora.program_files,
        queries=WIRING.corpora.queries,
    output:
        ONLY.models(PATHS.query_embeddings, "program"),
    log:
        PATHS.log("program/{dataset}.{model}.seed{seed}.queries"),
    resources:
        **RESOURCES.cpu(ESTIMATES.asked_queries, mem_mb=4000),
    params:
        **decided_by("residuum.program", "queries", WIRING.models.spec),
        files=options.each("file", "files", quote),
        splits=options.each("split", "queries", options.by_split),
        answers=ANSWERS,
        folder=options.output_folder,
    shell:
        "python -m residuum.program queries {params.splits} {params.files} "
        "--spec {params.spec:q} --answers {params.answers} --output {params.folder} 2>&1 | tee {log}"

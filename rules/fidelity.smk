rule fidelity_measure:
    """Measure how many dimensions of a random projection keep a lexical ranking."""
    input:
        docs=WIRING.fidelities.docs,
        queries=WIRING.fidelities.queries,
    output:
        PATHS.fidelity,
    log:
        PATHS.log("fidelity/{dataset}.{split}.{fidelity}"),
    threads: RESOURCES.threads
    resources:
        **RESOURCES.cpu(ESTIMATES.fidelity, mem_mb=RESOURCES.fidelity_mb),
    params:
        **decided_by("residuum.fidelity", "measure", WIRING.fidelities.spec),
        docs=options.each("docs", "docs", folder_of),
        queries=WIRING.fidelities.asked,
        folder=options.output_folder,
    shell:
        "python -m residuum.fidelity measure {params.docs} {params.queries} "
        "--spec {params.spec:q} --threads {threads} --output {params.folder} 2>&1 | tee {log}"

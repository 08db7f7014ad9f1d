rule report_write:
    """Show the chosen papers' results as a static site."""
    input:
        pages=WIRING.pages.all,
        timings=WIRING.figures.timed,
        ledger=PATHS.ledger,
    output:
        PATHS.report,
    log:
        PATHS.log("report/report"),
    benchmark:
        PATHS.time("report/report")
    conda:
        f"{ENVS}/base.yaml"
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.report", "write"),
        results=folder_of(PATHS.ledger),
        folder=folder_of(PATHS.report),
    shell:
        "python -m residuum.report write --results {params.results} --output {params.folder} "
        "2>&1 | tee {log}"

rule report_write:
    """Show the chosen papers' results as a static site."""
    input:
        pages=WIRING.pages.all,
        timings=WIRING.page.figure.timed,
        times=WIRING.pages.timed,
        ledger=PATHS.ledger,
        reproductions=WIRING.reproductions,
    output:
        PATHS.report,
    log:
        PATHS.log("report/report"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.report", "write"),
        results=options.folder("ledger"),
        folder=options.output_folder,
    shell:
        "python -m residuum.report write --results {params.results} --output {params.folder} "
        "2>&1 | tee {log}"

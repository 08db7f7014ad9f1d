rule ledger_write:
    """Judge every reported number and comparison of the chosen papers."""
    input:
        tables=WIRING.pages.judged,
        tests=WIRING.pages.tests,
        claims=WIRING.pages.claims,
    output:
        **SHOWN.ledger(PATHS.ledger.forms("md")),
    log:
        PATHS.log("ledger/ledger"),
    resources:
        **RESOURCES.cpu(ESTIMATES.page, mem_mb=2000),
    params:
        **decided_by("residuum.ledger", "write"),
        specs=WIRING.pages.judged_specs,
        tables=options.each("table", "tables"),
        tests=options.each("significance", "tests"),
        claims=options.each("claims", "claims"),
    shell:
        "python -m residuum.ledger write {params.specs} {params.tables} {params.tests} "
        "{params.claims} --output {output.tsv} 2>&1 | tee {log}"

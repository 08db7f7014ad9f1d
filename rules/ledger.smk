# The ledger: a verdict for every number and comparison that the papers print.


rule ledger_write:
    """Judge every reported number and comparison of the chosen papers."""
    input:
        tables=expand(TABLE, page=TABLES + COUNTED),
        tests=expand(SIGNIFICANCE, page=TABLES),
        code=code("residuum.ledger"),
    output:
        ledger=LEDGER,
        md=LEDGER_MD,
        manifest=LEDGER + MANIFEST,
    log:
        f"{LOGS}/ledger/ledger.log",
    benchmark:
        f"{TIMES}/ledger/ledger.tsv"
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        gpu=0,
    params:
        specs=ledger_specs,
        files=ledger_files,
    shell:
        "python -m residuum.ledger write {params.specs} {params.files} "
        "--output {output.ledger} 2>&1 | tee {log}"

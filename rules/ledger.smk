# The ledger: a verdict for every number and comparison that the papers print.


def _ledger_arguments(wildcards, input):
    from shlex import quote

    specs = [_registry.spec(REGISTRY.job(table)) for table in TABLES]
    parts = [f"--spec {quote(spec)}" for spec in specs]
    parts += [f"--table {path}" for path in input.tables]
    return " ".join([*parts, *(f"--significance {path}" for path in input.tests)])


rule ledger_write:
    """Judge every reported number and comparison of the chosen papers."""
    input:
        tables=expand(TABLE, table=TABLES),
        tests=expand(SIGNIFICANCE, table=TABLES),
        code=code("residuum.ledger"),
    output:
        ledger=LEDGER,
        md=LEDGER_MD,
        manifest=LEDGER + MANIFEST,
    log:
        f"{LOGS}/ledger/ledger.log",
    benchmark:
        f"{TIMES}/ledger/ledger.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        gpu=0,
    params:
        arguments=_ledger_arguments,
    conda:
        f"{ENVS}/base.yaml"
    shell:
        "python -m residuum.ledger write {params.arguments} --output {output.ledger} 2>&1 | tee {log}"

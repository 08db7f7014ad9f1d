"""The command `residuum`: inspects finished results and datasets, and tests any TREC runs.

Usage: `residuum --help`, or `python -m residuum --help`. Stages are commands of their own,
`python -m residuum.<stage>`. Imports what is heavy inside the verbs. Must not know how they work.
"""

from pathlib import Path
from typing import Annotated

import typer

from residuum.cli import command
from residuum.inspect import comparing
from residuum.wiring.paths import results_of

app = command.app(
    "Inspect results and datasets, and test any TREC runs. Stages: python -m residuum.<stage>"
)
bundle = command.app("Write an archive from which every table can be made again, or check one.")
app.add_typer(bundle, name="bundle")
datasets = typer.Typer(help="List the datasets of config/ and which of their files are local.")
app.add_typer(datasets, name="datasets")
app.command("compare")(comparing.verb)

Results = Annotated[Path, typer.Option(help="results folder of a scale")]
RESULTS = Path(results_of("mini"))
Config = Annotated[Path, typer.Option(help="folder of the configuration")]
CONFIG = Path("config")
Name = Annotated[str, typer.Argument(help="id of a dataset")]
Cell = Annotated[str, typer.Argument(help="PAPER/TABLE/ROW/COLUMN, as clear/table1/bm25/dev-rr")]
Against = Annotated[Path | None, typer.Option(help="results to compare with: first difference")]


@app.command()
def ledger(results: Results = RESULTS) -> None:
    """Count the verdicts on what the papers print, and list the pages."""
    from residuum.pages import ledger_page

    print(ledger_page.digest(results))


@app.command()
def explain(
    cell: Cell,
    results: Results = RESULTS,
    against: Against = None,
    full: Annotated[bool, typer.Option("--full", help="do not shorten commands and specs")] = False,
) -> None:
    """Show the provenance of a table cell: value, tests, queries, and all it was made from."""
    from residuum.inspect import differing, explaining

    differences = differing.compared(results, against, cell) if against else ""
    print(differences if against else explaining.explain(results, cell, full))


@bundle.command()
def write(
    output: Annotated[Path, typer.Option(help="archive to write, .tar.gz")],
    results: Results = RESULTS,
) -> None:
    """Write one archive of metrics, pages, specs, manifests and environment."""
    from residuum.inspect import bundling

    print(bundling.write(results, output))


@bundle.command()
def verify(archive: Annotated[Path, typer.Argument(help="archive of `bundle write`")]) -> None:
    """Make every page of an archive again and compare the bytes; exit with 1 if any differs."""
    from residuum.inspect import verifying

    checks = verifying.verify(archive)
    print(verifying.report(checks))
    if not all(check.agrees for check in checks):
        raise typer.Exit(1)


@app.command()
def plan(
    scale: Annotated[str | None, typer.Option(help="default: config.yaml's")] = None,
    paper: Annotated[list[str] | None, typer.Option(help="default: config.yaml's; repeat")] = None,
    tflops: Annotated[float | None, typer.Option(help="rated speed of the card")] = None,
    utilisation: Annotated[float | None, typer.Option(help="share of it that is reached")] = None,
) -> None:
    """Show what a run needs: downloads, jobs to run, disk, memory, hours."""
    from residuum.inspect import planning

    print(planning.plan(scale, paper or [], tflops, utilisation))


@datasets.callback(invoke_without_command=True)
def listing(context: typer.Context, config: Config = CONFIG) -> None:
    """List the datasets of config/: size, licence, download, disk, and which files are local."""
    if context.invoked_subcommand is None:
        from residuum.inspect import local_files

        print(local_files.listing(config))


@datasets.command()
def show(name: Name, config: Config = CONFIG) -> None:
    """Show one dataset: its files and where they belong, its pins, licence and citation."""
    from residuum.inspect import local_files

    print(local_files.show(config, name))


@datasets.command()
def check(name: Name, config: Config = CONFIG) -> None:
    """Compare hashes and counts of a dataset with its pins; exit with 1 at any fault."""
    from residuum.inspect import checking

    faults = 0
    for finding in checking.check(config, name):
        print(checking.report(finding), flush=True)
        faults += not finding.good
    if faults:
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; a fault that the user can fix is one line and exit status 1."""
    command.main(app)


if __name__ == "__main__":
    main()

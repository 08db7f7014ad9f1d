"""The command `residuum`: what a reader asks of finished results, and tests of runs from anywhere.

Usage: `residuum --help`, or `python -m residuum --help`. Stages are commands of their own,
`python -m residuum.<stage>`. Imports what is heavy inside the verbs. Must not know how they work.
"""

from pathlib import Path
from typing import Annotated

import typer

from residuum.asking import comparing
from residuum.core import command
from residuum.wiring.paths import results_of

app = command.app(
    "Ask finished results, and test runs from anywhere. Stages: python -m residuum.<stage>"
)
bundle = command.app("Write an archive from which every table can be made again, or check one.")
app.add_typer(bundle, name="bundle")
datasets = typer.Typer(help="List the datasets of config/ with what is on this machine.")
app.add_typer(datasets, name="datasets")
app.command("compare")(comparing.verb)

Results = Annotated[Path, typer.Option(help="results folder of a scale")]
DEFAULT = Path(results_of("mini"))
Config = Annotated[Path, typer.Option(help="folder of the configuration")]
CONFIG = Path("config")


@app.command()
def ledger(results: Results = DEFAULT) -> None:
    """Count the verdicts on what the papers print, and say where the pages lie."""
    from residuum.pages import ledger_page

    print(ledger_page.digest(results))


@app.command()
def explain(
    cell: Annotated[
        str, typer.Argument(help="PAPER/TABLE/ROW/COLUMN, as clear/table1/bm25/dev-rr")
    ],
    results: Results = DEFAULT,
    against: Annotated[
        Path | None, typer.Option(help="results folder to compare with: the first difference")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="do not shorten commands and specs")] = False,
) -> None:
    """Say how a cell came about: value, tests, queries, and all that it descends from."""
    if against is None:
        from residuum.asking import explaining

        print(explaining.explain(results, cell, full))
    else:
        from residuum.asking import differing

        print(differing.compared(results, against, cell))


@bundle.command()
def write(
    output: Annotated[Path, typer.Option(help="archive to write, .tar.gz")],
    results: Results = DEFAULT,
) -> None:
    """Write one archive of metrics, pages, specs, manifests and environment."""
    from residuum.asking import bundling

    print(bundling.write(results, output))


@bundle.command()
def verify(
    archive: Annotated[Path, typer.Argument(help="archive that `bundle write` made")],
) -> None:
    """Make every page of an archive again and compare the bytes; exit with 1 if any differs."""
    from residuum.asking import verifying

    checks = verifying.verify(archive)
    print(verifying.report(checks))
    if not all(check.agrees for check in checks):
        raise typer.Exit(1)


@app.command()
def plan(
    scale: Annotated[str | None, typer.Option(help="default: config.yaml's")] = None,
    paper: Annotated[
        list[str] | None, typer.Option(help="may be repeated; default: config.yaml's")
    ] = None,
    tflops: Annotated[float, typer.Option(help="rated speed of the card")] = 312,
    utilisation: Annotated[float, typer.Option(help="share of it that is reached")] = 0.4,
) -> None:
    """Say what a scale will download and what it needs: jobs to run, disk, memory, hours."""
    from residuum.asking import costing, planning

    print(planning.plan(scale, paper or [], costing.Card(tflops, utilisation)))


@datasets.callback(invoke_without_command=True)
def listing(context: typer.Context, config: Config = CONFIG) -> None:
    """List the datasets of config/: size, licence, download, disk, and what is on this machine."""
    if context.invoked_subcommand is None:
        from residuum.asking import holdings

        print(holdings.listing(config))


@datasets.command()
def show(
    name: Annotated[str, typer.Argument(help="id of a dataset")], config: Config = CONFIG
) -> None:
    """Show one dataset: its files and where they belong, its pins, licence and citation."""
    from residuum.asking import holdings

    print(holdings.show(config, name))


@datasets.command()
def check(
    name: Annotated[str, typer.Argument(help="id of a dataset")], config: Config = CONFIG
) -> None:
    """Compare hashes and counts of a dataset with its pins; exit with 1 if anything is amiss."""
    from residuum.asking import checking

    faults = 0
    for finding in checking.check(config, name):
        print(checking.told(finding), flush=True)
        faults += not finding.good
    if faults:
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; a fault that the user can mend is one line and exit status 1."""
    command.main(app)


if __name__ == "__main__":
    main()

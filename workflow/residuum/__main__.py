"""The command `residuum`: inspects finished results and datasets, and tests any TREC runs.

Usage: `residuum --help`, or `python -m residuum --help`. Stages are commands of their own, `python
-m residuum.<stage>`. Imports what is heavy inside the verbs.
"""

import os
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from residuum.cli import command, interrupts
from residuum.cli.errors import ResiduumError, printable
from residuum.inspect.text import Finding
from residuum.wiring.paths import REPRODUCTIONS, Paths, results_of

app = command.app(
    "Inspect results and datasets, and test any TREC runs. Stages: python -m residuum.<stage>"
)
bundle = command.app("Write an archive from which every table can be made again, or check one.")
app.add_typer(bundle, name="bundle")
catalogue = command.app("List the datasets of config/ and which of their files are local.")
app.add_typer(catalogue, name="datasets")


def last_results() -> Path:
    """Return the results folder of the last run that wrote a ledger; say which, of several."""
    ledgers = [*Path(results_of("")).glob("*/ledger.tsv")]
    if not ledgers:
        return Path(results_of("mini"))
    folder = max(ledgers, key=lambda path: path.stat().st_mtime).parent
    if len(ledgers) > 1:
        print(f"{folder} is of the last run; --results names another folder", file=sys.stderr)
    return folder


LAST = "the last run's, below results/"
Results = Annotated[
    Path,
    typer.Option(help="results folder of a scale", default_factory=last_results, show_default=LAST),
]
Config = Annotated[Path, typer.Option(help="folder of the configuration")]
CONFIG = Path("config")
Name = Annotated[str, typer.Argument(help="id of a dataset")]
Cell = Annotated[str, typer.Argument(help="PAPER/PAGE/ROW/COLUMN, as clear/table1/bm25/dev-rr")]
Deep = Annotated[bool, typer.Option("--deep", help="hash files above 100 MB too")]


@app.command()
def ledger(results: Results) -> None:
    """Count the verdicts on what the papers print, and list the pages."""
    from residuum.ledger import digest

    print(digest(results))


@app.command()
def report(
    results: Annotated[
        list[Path] | None,
        typer.Option(help=f"results folder of a scale; repeat for more; default: {LAST}"),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="results of the same scale: show differences from them")
    ] = None,
    output: Annotated[
        Path | None, command.written("folder to write; default: report in the first results")
    ] = None,
) -> None:
    """Write the results as a static site that opens from disk; print the path of its first page."""
    from residuum.site import writing

    folders = results or [last_results()]
    print(writing.write(folders, output or Path(Paths(str(folders[0])).report).parent, against))


@app.command()
def explain(
    cell: Cell,
    results: Results,
    against: Annotated[
        Path | None,
        typer.Option(help="other results: show the first difference; another tool's run: say why"),
    ] = None,
    reported: Annotated[
        float | None, typer.Option(help="number that the authors of such a run report")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="do not shorten commands and specs")] = False,
    deep: Deep = False,
) -> None:
    """Show the provenance of a page's number: value, tests, queries, all it was made from."""
    from residuum.inspect import differing, explaining

    if against and against.is_file():
        from residuum.inspect import foreign

        print(foreign.compared(results, against, cell, reported))
        return
    if reported is not None:
        raise ResiduumError("--reported goes with a run: --against RUN")
    differences = differing.compared(results, against, cell, deep) if against else ""
    print(differences if against else explaining.explain(results, cell, full, deep))


@app.command()
def fidelity(
    split: Annotated[str, typer.Argument(help="DATASET/SPLIT, as cacm/test")],
    results: Results,
    name: Annotated[str, typer.Option("--of", help="an entry of config/fidelities")] = "whole",
) -> None:
    """Show how many dimensions of a random projection keep a lexical ranking of a collection."""
    from residuum.inspect import fidelities

    print(fidelities.show(results, split, name))


@app.command()
def compare(
    qrels: Annotated[Path, typer.Argument(help="qrels of TREC or BEIR, plain or gzipped")],
    runs: Annotated[
        list[str],
        typer.Argument(help="TREC runs, plain or gzipped, two or more; join folds by commas"),
    ],
    measures: Annotated[
        list[str],
        typer.Option("--measures", "--measure", help="ir_measures names, as 'RR@10 nDCG@10'"),
    ],
    test: Annotated[str, typer.Option(help="permutation, t-test or wilcoxon")] = "permutation",
    correction: Annotated[str, typer.Option(help="none, bonferroni or holm")] = "holm",
    family: Annotated[
        Literal["column", "table"],
        typer.Option(help="comparisons corrected together: of one measure, or all"),
    ] = "column",
    alpha: Annotated[float, typer.Option(help="threshold of the adjusted p")] = 0.05,
    resamples: Annotated[int, typer.Option(help="sign flips of the permutation test")] = 99_999,
    seed: Annotated[int, typer.Option(help="seed of the resamples")] = 1,
    baseline: Annotated[
        list[str] | None, typer.Option(help="file name of a run: test only its pairs; repeat")
    ] = None,
    original: Annotated[
        str | None, typer.Option(help="file name of the run that all others reproduce")
    ] = None,
    missing: Annotated[
        Literal["refuse", "zero"],
        typer.Option(help="refuse a run that lacks a judged query, or count 0 for the query"),
    ] = "refuse",
    form: Annotated[Literal["markdown", "latex"], typer.Option(help="form of the pages")] = (
        "markdown"
    ),
    output: Annotated[
        Path | None, command.written("TSV of all comparisons, unrounded, to write too")
    ] = None,
    workers: command.Workers = 1,
) -> None:
    """Test every pair of runs on the same judged queries, and print the table."""
    from residuum.inspect import comparing

    options = {"test": test, "correction": correction, "family": family, "alpha": alpha}
    options |= {"resamples": resamples, "seed": seed}
    page = comparing.report(
        qrels, runs, measures, options, baseline or (), original, missing, form, output, workers
    )
    print(page)


@app.command()
def audit(
    sources: Annotated[
        list[str],
        typer.Argument(help="a folder, qrels and runs, a table of values, or PAPER/PAGE/COLUMN"),
    ],
    measure: Annotated[str, typer.Option(help="ir_measures name, of runs")] = "nDCG@10",
    over: Annotated[
        Literal["queries", "collections"],
        typer.Option(help="what else could have been drawn: queries alone, or collections, too"),
    ] = "queries",
    missing: Annotated[
        Literal["refuse", "zero"],
        typer.Option(help="refuse a run that lacks a judged query, or count 0 for the query"),
    ] = "refuse",
    results: Annotated[
        Path | None, typer.Option(help=f"results folder of a scale, for pages; default: {LAST}")
    ] = None,
    resamples: Annotated[int, typer.Option(help="draws of the bootstrap")] = 9999,
    seed: Annotated[int, typer.Option(help="seed of the draws")] = 1,
    form: Annotated[Literal["markdown", "latex"], typer.Option(help="form of the page")] = (
        "markdown"
    ),
    output: Annotated[Path | None, command.written("TSV of all numbers to write too")] = None,
    picture: Annotated[
        Path | None, command.written("picture to write too, as NAME.pdf and NAME.png")
    ] = None,
    workers: command.Workers = 1,
) -> None:
    """Say which ranks of many runs are certain: rank intervals, groups, detectable differences."""
    from residuum.inspect import auditing

    folder = (results or last_results()) if auditing.are_pages(sources) else None
    page = auditing.report(
        sources, measure, over, missing, folder, resamples, seed, form, output, picture, workers
    )
    print(page)


@app.command("time")
def time_searches(
    page: Annotated[str, typer.Argument(help="PAPER/PAGE of a table, as clear/table1")],
    results: Results,
    queries: Annotated[int, typer.Option(help="queries that are answered", min=1)] = 200,
    at_once: Annotated[
        int | None, typer.Option(help="queries answered together; default: all", min=1)
    ] = None,
    repeats: Annotated[int, typer.Option(help="how often each is timed", min=1)] = 3,
    threads: Annotated[int, typer.Option(help="threads of every phase", min=1)] = 1,
    column: Annotated[str | None, typer.Option(help="id of a column; default: the first")] = None,
) -> None:
    """Time the systems of a table: encoding queries, searching, fusing, reranking."""
    for library in ("POLARS_MAX", "OMP_NUM", "OPENBLAS_NUM", "MKL_NUM"):  # before they are loaded
        os.environ[f"{library}_THREADS"] = str(threads)
    from residuum.inspect import searching, timing

    sample = searching.Sample(queries, at_once, repeats, threads)
    print(timing.report(results, page, sample, column))


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(help="folder of docs, queries and judgements")],
    model: Annotated[
        list[str] | None,
        typer.Option(help="id of config/models, ORGANISATION/NAME of the hub, or a folder; repeat"),
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(help="name of the dataset, scale and table; default: the folder's"),
    ] = None,
    config: Config = CONFIG,
) -> None:
    """Write and check the entries that make a tested table of a folder."""
    from residuum.inspect import starting

    for line in starting.start(config, folder, model or [], paper):
        print(printable(line), flush=True)


@app.command()
def card(
    model: Annotated[str, typer.Argument(help="id of a model, as clear, dpr@nfcorpus.train")],
    output: Annotated[Path, command.written("folder to write")],
    results: Results,
    seed: Annotated[int, typer.Option(help="seed of its training")] = 1,
    config: Config = CONFIG,
) -> None:
    """Write a checkpoint with a model card: data, loss, results, how to load; ready for a hub."""
    from residuum.inspect import cards

    print(cards.write(results, model, seed, output, config))


@app.command()
def checklist(results: Results, config: Config = CONFIG) -> None:
    """Answer the checklists of reproducibility tracks from the results, as Markdown."""
    from residuum.inspect import checklist

    print(checklist.write(results, config))


@app.command()
def export(
    split: Annotated[str, typer.Argument(help="DATASET/SPLIT, as cacm/test")],
    output: Annotated[Path, command.written("folder to make, which must not exist")],
    results: Results,
    run: Annotated[list[str] | None, typer.Option(help="run id; repeat; default: all")] = None,
    form: Annotated[
        Literal["trec", "beir", "huggingface"],
        typer.Option(help="TREC's lines, BEIR's JSON, or a Hugging Face dataset of Parquet"),
    ] = "trec",
    ir_metadata: Annotated[
        bool, typer.Option("--ir-metadata", help="describe each run above its lines")
    ] = False,
    config: Config = CONFIG,
) -> None:
    """Write finished runs into a new folder, for evaluators that rank by score."""
    from residuum.inspect import exporting

    print(exporting.export(split, results, output, run or [], form, ir_metadata, config))


@bundle.command()
def write(
    output: Annotated[Path, command.written("archive to write, .tar.gz")],
    results: Results,
    by: Annotated[str | None, typer.Option(help="who publishes it: makes it an RO-Crate")] = None,
    licence: Annotated[
        str | None, typer.Option(help="of what is published, as CC-BY-4.0, or its address")
    ] = None,
    day: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="of publication; default: today")
    ] = None,
    deep: Deep = False,
) -> None:
    """Write one archive of metrics, pages, specs, manifests and environment."""
    from residuum.inspect import bundling, publishing

    published = publishing.published(by, licence, day and day.date())
    print(bundling.write(results, output, deep, published))


@bundle.command()
def verify(
    archive: Annotated[Path, typer.Argument(help="archive of `bundle write`")],
    reproduction: Annotated[
        Path | None, typer.Option(help="folder of reproductions/ to make again from it, too")
    ] = None,
) -> None:
    """Make every page of an archive again and compare the bytes; exit with 1 if any differs."""
    from residuum.inspect import bundling, recording

    _print(recording.verify(archive, reproduction) if reproduction else bundling.verify(archive))


@app.command()
def record(
    archive: Annotated[
        Path | None, typer.Argument(help="published bundle to add; default: show the log")
    ] = None,
    log: Annotated[Path, typer.Option(help="folder of the log")] = Path(REPRODUCTIONS),
) -> None:
    """Add a reproduction to the log: who got which numbers and verdicts, from a bundle."""
    from residuum.inspect import recording, reproductions

    print(recording.record(archive, log) if archive else reproductions.log(log))


@app.command()
def plan(
    scale: Annotated[str | None, typer.Option(help="default: config.yaml's")] = None,
    paper: Annotated[list[str] | None, typer.Option(help="default: config.yaml's; repeat")] = None,
    tflops: Annotated[float | None, typer.Option(help="rated speed of the card")] = None,
    utilisation: Annotated[float | None, typer.Option(help="reached share of that speed")] = None,
    docs: Annotated[
        list[str] | None,
        typer.Option(help="DATASET=DOCS in place of its pins, as msmarco-passage=1e9; repeat"),
    ] = None,
    node_gb: Annotated[
        float, typer.Option(help="memory of a node, which limits the jobs of --docs", min=1)
    ] = 256.0,
) -> None:
    """Show what a run needs: downloads, jobs, disk, memory, hours; --docs plans other sizes."""
    from residuum.inspect import planning

    print(planning.plan(scale, paper or [], tflops, utilisation, docs or [], node_gb))


@app.command("show")
def show_entry(
    kind: Annotated[str, typer.Argument(help="model, system, page, dataset, role, budget, ...")],
    name: Annotated[
        str | None,
        typer.Argument(help="id, as clear or clear/table1; without an id: list all"),
    ] = None,
    scale: Annotated[str | None, typer.Option(help="default: config.yaml's")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE as snakemake's --config takes it; repeat"),
    ] = None,
    config: Config = CONFIG,
) -> None:
    """Show an entry of config/ at a scale: each value, its origin, and who names the entry."""
    from residuum.inspect import showing

    print(showing.show(config, scale, settings or [], kind, name))


@catalogue.callback(invoke_without_command=True)
def listing(context: typer.Context, config: Config = CONFIG) -> None:
    """List the datasets of config/: size, licence, download, disk, and which files are local."""
    if context.invoked_subcommand and config != CONFIG:
        verb = context.invoked_subcommand
        raise ResiduumError(f"--config belongs behind the verb: datasets {verb} --config {config}")
    if context.invoked_subcommand is None:
        from residuum.inspect import datasets

        print(datasets.listing(config))


@catalogue.command()
def show(name: Name, config: Config = CONFIG) -> None:
    """Show one dataset: its files and where they belong, its pins, licence and citation."""
    from residuum.inspect import datasets

    print(datasets.show(config, name))


@catalogue.command()
def check(name: Name, config: Config = CONFIG) -> None:
    """Compare hashes and counts of a dataset with its pins; exit with 1 if any differs."""
    from residuum.inspect import datasets

    _print(datasets.check(config, name))


@catalogue.command()
def pin(
    name: Name,
    config: Config = CONFIG,
    edition: Annotated[str, typer.Option("--name", help="name of the edition")] = "pinned",
    force: Annotated[bool, typer.Option("--force", help="replace all that is pinned")] = False,
) -> None:
    """Count every record of a dataset, and write the counts into its YAML."""
    from residuum.inspect import pinning

    print(pinning.pin(config, name, edition, force))


def _print(findings: Iterable[Finding]) -> None:
    """Print findings as they come; exit with 1 if any is not good."""
    good = True
    for finding in findings:
        print(printable(str(finding)), flush=True)
        good = good and bool(finding.good)
    if not good:
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; an error that the user can fix is one line and exit status 1."""
    interrupts.unwind()
    command.main(app)


if __name__ == "__main__":
    main()

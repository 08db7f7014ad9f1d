"""Characteristics of query sets and collections: counts of queries, judgements, docs and words.

Command: `python -m residuum.pages.characteristics.make count ...`. Counts come from the exported
queries, qrels and corpora.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import contracts, manifest, trec
from residuum.cli import command
from residuum.cli.errors import NotRun, ResiduumError
from residuum.cli.progress import track
from residuum.pages import grids, layout
from residuum.pages import notes as shared
from residuum.pages.characteristics.job import OF_CORPUS, PAIRS, TRAINED, BoundCharacteristics
from residuum.pages.entries import QuerySet
from residuum.pages.grids import GridCell
from residuum.pages.layout import TextCell

app = command.app(__doc__)
QUERIES, QRELS, CORPUS = "queries.tsv", "qrels.trec", "manifest.json"
EXPORTED = (QUERIES, QRELS)
MEANS, ALWAYS = ("query_words", "doc_words"), "queries"
OF_JUDGEMENTS = (ALWAYS, "relevant_per_query", "grades")
UNJUDGED = "unjudged"  # 1 in the counts of a split without public judgements
Quantities = dict[str, float]


@app.command()
def count(
    spec: Annotated[str, typer.Option(help="BoundCharacteristics as JSON")],
    output: command.Page,
    split: Annotated[
        list[str] | None, typer.Option(help="COLUMN=FOLDER of queries.tsv and qrels.trec")
    ] = None,
    train: Annotated[
        list[str] | None, typer.Option(help="COLUMN=FOLDER of the training queries.tsv")
    ] = None,
    corpus: Annotated[list[str] | None, typer.Option(help="COLUMN=FOLDER of the corpus")] = None,
) -> None:
    """Write the counts as .tsv (unrounded, a row per cell), .md and .tex."""
    job = command.parse_spec(BoundCharacteristics, spec)
    required = [column.id for column in job.entry.columns if job.not_counted(column) is None]
    folders = command.named_paths("--split", split or [], required)
    trained = [column for column in required if column in job.trained]
    training = command.named_paths("--train", train or [], trained)
    of_corpus = required if job.entry.asks(*OF_CORPUS) else []
    corpora = command.named_paths("--corpus", corpus or [], of_corpus)
    counts = {
        column: _counted(job, column, folder, training.get(column), corpora.get(column))
        for column, folder in folders.items()
    }
    written = write(job, counts, output)
    inputs = [folder / name for folder in folders.values() for name in EXPORTED]
    of_training = EXPORTED if job.entry.asks(PAIRS) else (QUERIES,)
    inputs += [folder / name for folder in training.values() for name in of_training]
    inputs += [folder / CORPUS for folder in corpora.values()]
    stage = "residuum.pages.characteristics.make"
    manifest.write(output, {"counts": counts}, job, list(dict.fromkeys(inputs)), stage, written)


def _counted(
    job: BoundCharacteristics, column: str, split: Path, train: Path | None, corpus: Path | None
) -> Quantities:
    """Count the quantities that rows show of a column, and the judged queries."""
    try:
        known = quantities(split)
    except NotRun:  # the split has no public judgements
        known = {ALWAYS: len(trec.read_queries(split / QUERIES)), UNJUDGED: 1}
    known |= sizes(split, train, job.folds.get(column))
    if train and job.entry.asks(PAIRS):
        with suppress(NotRun):
            judged = trec.read_qrels(train / QRELS)
            known[PAIRS] = judged.filter(pl.col("relevance") >= 1).height
    known |= texts(corpus) if corpus else {}
    kept = (ALWAYS, UNJUDGED)
    return {name: n for name, n in known.items() if name in kept or job.entry.asks(name)}


def write(job: BoundCharacteristics, counts: Mapping[str, Quantities], output: Path) -> list[Path]:
    """Write a line per quantity and a column per query set; cells without counts are not run.

    Returns the written files.
    """
    cells = []
    for row, column in itertools.product(job.entry.rows, job.entry.columns):
        why = job.not_counted(column, row.quantity)
        if why is None and not _judged(row.quantity, counts[column.id]):
            why = f"{job.measured_in(row.id, column.id, row.quantity)} has no public judgements"
        cell = grids.blank(job, row.id, column.id, row.quantity, why)
        if why is None:
            counted = counts[column.id]
            cell = cell.measured_as([float(counted[row.quantity])], int(counted[ALWAYS]))
        cells.append(cell)
    header = ["", *(job.splits[column.id] or column.role for column in job.entry.columns)]
    rows = [
        [TextCell(row.label), *(_shown(cell) for cell in cells if cell.row == row.id)]
        for row in job.entry.rows
    ]
    table, align = job.entry, "l" + "c" * len(job.entry.columns)
    page = layout.page(table, header, rows, _notes(job), align)
    return layout.write(output, grids.tidied(cells).drop(grids.INDEX), page)


def _judged(quantity: str, counted: Quantities) -> bool:
    if quantity == PAIRS:
        return PAIRS in counted
    return UNJUDGED not in counted or quantity not in OF_JUDGEMENTS


def quantities(folder: Path) -> Quantities:
    """Count a split: queries with a judgement, relevant docs (1 or more) per query, levels.

    The number of levels is the largest relevance plus 1: 2 for binary judgements.
    """
    queries = list(trec.read_queries(folder / "queries.tsv"))
    qrels = trec.read_qrels(folder / "qrels.trec").filter(pl.col("query_id").is_in(queries))
    if not qrels.height:
        raise ResiduumError(f"{folder}: no query has a judgement")
    judged = qrels["query_id"].n_unique()
    return {
        "queries": judged,
        "relevant_per_query": qrels.filter(pl.col("relevance") >= 1).height / judged,
        "grades": qrels.select(pl.col("relevance").max() + 1).item(),
    }


def sizes(split: Path, train: Path | None, folds: int | None) -> Quantities:
    """Count all queries of a split, judged or not, its training queries, and words of a query.

    With folds, the test queries are those of a fold on average; the others are for training.
    """
    words = [len(text.split()) for text in trec.read_queries(split / QUERIES).values()]
    test = len(words) / (folds or 1)
    sized = {"test_queries": test, "query_words": sum(words) / len(words)}
    trained = len(trec.read_queries(train / QUERIES)) if train else len(words) - test
    return sized | ({TRAINED: trained} if train or folds else {})


@cache
def texts(corpus: Path) -> Quantities:
    """Count the docs of a corpus and the mean number of words of a doc. It is read once."""
    docs = contracts.corpus_manifest(corpus)["docs"]
    stream = track(contracts.read_corpus(corpus), "count words", docs, "docs")
    return {"docs": docs, "doc_words": sum(len(text.split()) for _, text in stream) / docs}


def _shown(cell: GridCell) -> TextCell:
    """Round as papers do: whole numbers, words to a tenth, levels of relevance in words."""
    if cell.measured is None:
        return TextCell("not run")
    if cell.measure == "grades":
        return TextCell("binary" if cell.measured == 2 else f"{cell.measured:.0f}-level")
    if cell.measure in MEANS:
        return TextCell(f"{cell.measured:.1f}")
    return TextCell(f"{cell.measured:,.0f}")


def _notes(job: BoundCharacteristics) -> list[str]:
    notes = [note for column in job.entry.columns for note in _of_column(job, column)]
    if job.entry.asks(ALWAYS, "relevant_per_query", "grades"):
        what = "queries with a judgement; docs of relevance 1 or more; levels from 0"
        notes.append(f"Counted: {what}.")
    if job.entry.asks(TRAINED, "test_queries", *MEANS):
        what = "training and test queries with or without a judgement; words between white space"
        notes.append(f"Counted: {what}, of a test query and of a doc.")
    return [*notes, *shared.of_scale(job)]


def _of_column(job: BoundCharacteristics, column: QuerySet) -> Iterator[str]:
    """Yield notes on a column's split, and on its training and test queries."""
    split_ref, why = job.splits[column.id], job.absent.get(column.id)
    role = f"{column.role}{job.entry.papers_name(column.header)}"
    if split_ref is None:
        yield f"{role}: no split has this role at this scale."
        return
    yield f"{split_ref}: in the role of {role}" + (f", not run: {why}" if why else ".")
    if trained := job.trained.get(column.id):
        yield f"{split_ref}: its training queries are those of {trained}."
    if folds := job.folds.get(column.id):
        yield f"{split_ref}: of its {folds} folds one is for testing, the others are for training."


def places(job: BoundCharacteristics, numbers: Sequence[GridCell]) -> layout.Places:
    """Return the number that each cell of the Markdown's grid shows."""
    rows, columns = job.entry.rows, job.entry.columns
    return [[None, *(f"{row.id}/{column.id}" for column in columns)] for row in rows]


if __name__ == "__main__":
    command.main(app)

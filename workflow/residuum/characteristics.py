"""What query sets are like: how many queries, relevant docs per query, levels of relevance.

Command: `python -m residuum.characteristics count ...`. Counts come from the exported queries and
qrels. Must not know runs, measures or where a collection comes from.
"""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import manifest, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.pages import grids, layout
from residuum.pages.grids import GridCell
from residuum.pages.layout import TextCell
from residuum.wiring.bound import BoundCharacteristics

app = command.app(__doc__)
EXPORTED = ("queries.tsv", "qrels.trec")
Quantities = dict[str, float]


@app.command()
def count(
    spec: Annotated[str, typer.Option(help="BoundCharacteristics as JSON")],
    output: command.Page,
    split: Annotated[
        list[str] | None, typer.Option(help="COLUMN=FOLDER of queries.tsv and qrels.trec")
    ] = None,
) -> None:
    """Write the counts as .tsv (unrounded, a row per cell), .md and .tex."""
    job = command.parse_spec(BoundCharacteristics, spec)
    required = [column.id for column in job.table.columns if job.not_counted(column) is None]
    folders = command.named_paths("--split", split or [], required)
    counts = {column: quantities(folder) for column, folder in folders.items()}
    own = write(job, counts, output)
    inputs = [folder / name for folder in folders.values() for name in EXPORTED]
    manifest.write(output, {"counts": counts}, job, inputs, "residuum.characteristics", own)


def write(job: BoundCharacteristics, counts: Mapping[str, Quantities], output: Path) -> list[Path]:
    """Write a line per quantity, a column per query set, one without counts as not run.

    Returns the files that were written.
    """
    cells = []
    for row, column in itertools.product(job.table.rows, job.table.columns):
        cell = grids.blank(job, row.id, column.id, row.quantity, job.not_counted(column))
        if counted := counts.get(column.id):
            cell = cell.measured_as([float(counted[row.quantity])], int(counted["queries"]))
        cells.append(cell)
    header = ["", *(job.places[column.id] or column.role for column in job.table.columns)]
    rows = [
        [TextCell(row.label), *(_shown(cell) for cell in cells if cell.row == row.id)]
        for row in job.table.rows
    ]
    of, align = job.table, "l" + "c" * len(job.table.columns)
    page = layout.Layout(of.title, of.printed_in, header, rows, _notes(job), align)
    return layout.write(output, grids.tidied(cells).drop(grids.INDEX), page)


def quantities(folder: Path) -> Quantities:
    """Count a split: queries with a judgement, relevant docs (1 or more) per query, levels.

    Levels are the largest relevance and everything below it: 2 for binary judgements.
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


def _shown(cell: GridCell) -> TextCell:
    """Round as the papers do: whole numbers, and the levels of relevance in words."""
    if cell.measured is None:
        return TextCell("not run")
    if cell.measure == "grades":
        return TextCell("binary" if cell.measured == 2 else f"{cell.measured:.0f}-level")
    return TextCell(f"{cell.measured:,.0f}")


def _notes(job: BoundCharacteristics) -> list[str]:
    notes = []
    for column in job.table.columns:
        split_ref, why = job.places[column.id], job.absent.get(column.id)
        role = f"{column.role} (the paper's {column.header})"
        bound = f"{split_ref}: in the role of {role}" + (f", not run: {why}" if why else ".")
        notes.append(bound if split_ref else f"{role}: no split has this role at this scale.")
    notes.append("Counted: queries with a judgement; docs of relevance 1 or more; levels from 0.")
    return [*notes, f"Scale {job.scale}: {job.reason}"]


if __name__ == "__main__":
    command.main(app)

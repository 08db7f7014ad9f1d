"""What query sets are like: how many queries, relevant docs per query, levels of relevance.

Command: `python -m residuum.characteristics count ...`. Counts come from the exported queries and
qrels. Must not know runs, measures or where a collection comes from.
"""

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from residuum import tables
from residuum.core import command, files, manifest, pages, trec
from residuum.core.errors import ResiduumError
from residuum.wiring.bound import BoundCharacteristics

app = command.app(__doc__)
EXPORTED = ("queries.tsv", "qrels.trec")


@app.command()
def count(
    spec: Annotated[str, typer.Option(help="BoundCharacteristics as JSON")],
    output: Annotated[Path, typer.Option(help="TSV to write; .md and .tex go beside it")],
    split: Annotated[
        list[str] | None, typer.Option(help="COLUMN=FOLDER of queries.tsv and qrels.trec")
    ] = None,
) -> None:
    """Write the counts as .tsv (unrounded, a row per cell), .md and .tex."""
    job = command.parse_spec(BoundCharacteristics, spec)
    folders = _folders(job, split or [])
    counts = {column: quantities(folder) for column, folder in folders.items()}
    write(job, counts, output)
    manifest.write(
        manifest.beside(output),
        artefact={"counts": counts},
        spec=job.model_dump(mode="json"),
        inputs=[folder / name for folder in folders.values() for name in EXPORTED],
        module="residuum.characteristics",
    )


def write(job: BoundCharacteristics, counts: dict[str, dict[str, float]], output: Path) -> None:
    """Write the pages from {column id: {quantity: value}}, as `quantities` counts them."""
    table = tidy(job, counts)
    files.write_text(output, table.write_csv(separator="\t"))
    pages.write(output, page(job, table))


def _folders(job: BoundCharacteristics, options: list[str]) -> dict[str, Path]:
    given = {name: Path(path) for name, _, path in (option.partition("=") for option in options)}
    wanted = [column.id for column in job.table.columns if job.not_counted(column) is None]
    if odd := sorted(set(given) ^ set(wanted)):
        raise ResiduumError(
            f"--split: given for {', '.join(given) or 'no column'}, but the columns that have a "
            f"split are {', '.join(wanted) or 'none'}; see {odd[0]}"
        )
    return given


def quantities(folder: Path) -> dict[str, float]:
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
        "grades": int(qrels["relevance"].max()) + 1,
    }


def tidy(job: BoundCharacteristics, counts: dict[str, dict[str, float]]) -> pl.DataFrame:
    """Return a row per cell, with the columns of a table that is measured on runs."""
    rows = [
        {
            "table": job.id,
            "row": row.id,
            "column": column.id,
            "measure": row.quantity,
            "place": job.places[column.id],
            **_measured(counts.get(column.id), row.quantity),
            "beats": "",
            "below": False,
            **tables.reported(job.table, row.id, column.id),
            "not_run": job.not_counted(column),
        }
        for row in job.table.rows
        for column in job.table.columns
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _measured(counted: dict[str, float] | None, quantity: str) -> dict[str, Any]:
    if counted is None:
        return tables.not_measured()
    return tables.spread([float(counted[quantity])], int(counted["queries"]))


def shown(quantity: str, value: float | None) -> str:
    """Round as the papers do: whole numbers, and the levels of relevance in words."""
    if value is None:
        return "not run"
    if quantity == "grades":
        return "binary" if value == 2 else f"{value:.0f}-level"
    return f"{value:,.0f}"


def page(job: BoundCharacteristics, table: pl.DataFrame) -> pages.Page:
    """Lay the counts out: a line per quantity, a column per query set."""
    columns = job.table.columns
    by_row: dict[str, list[pages.Cell]] = {row.id: [] for row in job.table.rows}
    for cell in table.iter_rows(named=True):
        by_row[cell["row"]].append(pages.Cell(shown(cell["measure"], cell["measured"])))
    return pages.Page(
        title=job.table.title,
        place=job.table.place,
        header=["", *(job.places[column.id] or column.role for column in columns)],
        rows=[[pages.Cell(row.label), *by_row[row.id]] for row in job.table.rows],
        notes=_notes(job),
        align=["l", *"c" * len(columns)],
    )


def _notes(job: BoundCharacteristics) -> list[str]:
    notes = []
    for column in job.table.columns:
        place, paper = job.places[column.id], f"(the paper's {column.header})"
        why = job.absent.get(column.id)
        cast = f"{place}: in the role of {column.role} {paper}{f', not run: {why}' if why else '.'}"
        notes.append(cast if place else f"{column.role} {paper}: not cast at this scale.")
    notes.append("Counted: queries with a judgement; docs of relevance 1 or more; levels from 0.")
    return [*notes, f"Scale {job.scale}: {job.reason}"]


if __name__ == "__main__":
    command.main(app)

"""A paper's table with our numbers: tidy TSV, Markdown and LaTeX, markers from our own tests.

Command: `python -m residuum.tables render ...`. Rounding happens here and only when rendering.
Must not know how values or p-values are computed, nor how a parameter was chosen.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from residuum import table_notes
from residuum.core import cells, command, files, indexes, manifest, pages, tsv
from residuum.core.schema import Cell as Reported
from residuum.core.schema.papers import DEPTH
from residuum.table_notes import NO_DEPTH
from residuum.wiring.bound import BoundTable

app = command.app(__doc__)


@app.command()
def render(
    spec: Annotated[str, typer.Option(help="BoundTable as JSON")],
    metrics: Annotated[Path, typer.Option(help="folder of the metrics files")],
    significance: Annotated[Path, typer.Option(help="TSV written by significance")],
    output: Annotated[Path, typer.Option(help="TSV to write; .md and .tex go beside it")],
    tuning: Annotated[
        list[Path] | None, typer.Option(help="tuning JSON of a run: <dataset>/<split>/<run>.json")
    ] = None,
) -> None:
    """Write the table as .tsv (unrounded, a row per cell), .md and .tex."""
    asked = command.parse_spec(BoundTable, spec)
    job = cells.refused(asked, metrics)
    tests = tsv.read(significance)
    tuned = [cells.read_tuned(path) for path in tuning or []]
    table = tidy(job, cells.load(job, metrics), tests, tuned, cells.searched(job, metrics))
    files.write_text(output, table.write_csv(separator="\t"))
    pages.write(output, page(job, table, table_notes.caption(job, table, tests, tuned)))
    manifest.write(
        manifest.beside(output),
        artefact={"cells": table.height},
        spec=asked.model_dump(mode="json"),
        inputs=[
            significance,
            *(tuning or []),
            *(metrics / name for name in sorted(set(asked.metrics_files()))),
            *(metrics / name for name in sorted(set(asked.metrics_records()))),
        ],
        module="residuum.tables",
    )


def tidy(
    job: BoundTable,
    loaded: dict[tuple[str, str], cells.Cell],
    tests: pl.DataFrame,
    tuned: list[cells.Tuned] | None = None,
    searched: Mapping[tuple[str, str], Sequence[indexes.Record | None]] | None = None,
) -> pl.DataFrame:
    """Return a row per cell: measured mean over seeds, spread, markers, what the paper prints.

    `searched` are the indexes behind cells whose table states one.
    """
    better = significant_pairs(tests)
    rows = []
    for row in job.table.rows:
        for column in job.table.columns:
            cell = loaded.get((row.id, column.id))
            reason = job.not_run(row, column)
            depths = cells.depths(job, row, column, tuned or []) if column.is_depth else None
            rows.append(
                {
                    "table": job.id,
                    "row": row.id,
                    "column": column.id,
                    "measure": column.measure,
                    "place": job.places[column.id],
                    **(_depth(depths) if depths else _measured(cell)),
                    **_markers(job, row, column.id, better if cell else set()),
                    **reported(job.table, row.id, column.id),
                    "not_run": reason or (NO_DEPTH if column.is_depth and not depths else None),
                    **_index(job, (searched or {}).get((row.id, column.id), [])),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _index(job: BoundTable, searched: Sequence[indexes.Record | None]) -> dict[str, str | None]:
    """Return what the runs searched, and how it differs from the index that the table states."""
    differs = indexes.other(job.table.index, searched) if job.table.index else None
    return {"index": indexes.described(searched), "other_index": differs}


def _depth(tuned: list[cells.Tuned]) -> dict[str, Any]:
    return spread([float(t.record["depth"]) for t in tuned], tuned[0].record["queries"])


def _measured(cell: cells.Cell | None) -> dict[str, Any]:
    if cell is None:
        return not_measured()
    return spread([float(value) for value in cell.values.mean(axis=0)], len(cell.query_ids))


def not_measured() -> dict[str, Any]:
    """Return the columns of a cell without a value."""
    return dict.fromkeys(["n", "measured", "seeds", "per_seed", "lowest", "highest", "std"])


def spread(per_seed: list[float], n: int) -> dict[str, Any]:
    """Return the columns of a measured cell from its value per seed and its number of queries."""
    values = np.array(per_seed)
    return {
        "n": n,
        "measured": float(values.mean()),
        "seeds": len(values),
        "per_seed": " ".join(map(str, per_seed)),
        "lowest": float(values.min()),
        "highest": float(values.max()),
        "std": float(values.std(ddof=1)) if len(values) > 1 else None,
    }


def significant_pairs(tests: pl.DataFrame) -> set[tuple[str, str, str]]:
    """Return {(column, better row, worse row)} of all significant comparisons."""
    found = tests.filter(pl.col("significant").cast(pl.String).str.to_lowercase() == "true")
    return {
        (row["column"], *((row["a"], row["b"]) if row["difference"] > 0 else (row["b"], row["a"])))
        for row in found.iter_rows(named=True)
    }


def _markers(job: BoundTable, row: Any, column: str, better: set[tuple[str, str, str]]) -> dict:
    indexed = [other for other in job.table.rows if other.index and row.index]
    beats = [o.index for o in indexed if (column, row.id, o.id) in better]
    below = row.below is not None and (column, row.below, row.id) in better
    return {"beats": pages.span(beats), "below": below}


def reported(table: Any, row: str, column: str) -> dict[str, Any]:
    """Return the columns of a cell that the paper prints, empty where it prints none."""
    text = table.reported.get(row, {}).get(column)
    if text is None:
        return {"reported": None, "reported_beats": None, "reported_below": None}
    cell = Reported.parse(text)
    beats = pages.span(cell.beats)
    return {"reported": cell.value, "reported_beats": beats, "reported_below": cell.below}


def digits(table: Any) -> int:
    """Return how many decimals a table shows: as many as the paper prints, at least three."""
    texts = [text.split(" ")[0] for row in table.reported.values() for text in row.values()]
    return max([3, *(len(text.partition(".")[2]) for text in texts)])


def number(row: dict[str, Any], decimals: int = 3) -> str:
    """Round for display; a cell without a value says so, and is never a zero."""
    if row["measured"] is None:
        return pages.DASH if row["not_run"] == NO_DEPTH else "not run"
    if row["measure"] == DEPTH:
        span = f" ({row['lowest']:.0f}{pages.DASH}{row['highest']:.0f})"
        return f"{row['measured']:.0f}{span if row['lowest'] < row['highest'] else ''}"
    deviation = f" ±{row['std']:.{decimals}f}" if row["std"] is not None else ""
    return f"{row['measured']:.{decimals}f}{deviation}"


def page(job: BoundTable, table: pl.DataFrame, notes: list[str]) -> pages.Page:
    """Lay the table out: a line per row, its group and label first."""
    by_row: dict[str, list[pages.Cell]] = {row.id: [] for row in job.table.rows}
    for cell in table.iter_rows(named=True):
        shown = pages.Cell(number(cell, digits(job.table)), cell["beats"], cell["below"])
        by_row[cell["row"]].append(shown)
    return pages.Page(
        title=job.table.title,
        place=job.table.place,
        header=["", "Model", *table_notes.headers(job)],
        rows=[
            [pages.Cell(row.group), pages.Cell(_label(row)), *by_row[row.id]]
            for row in job.table.rows
        ],
        notes=notes,
        align=["l", "l", *"c" * len(job.table.columns)],
    )


def _label(row: Any) -> str:
    """Number the rows that others may beat; a dash marks a variant of another row."""
    return f"{row.index} {row.label}" if row.index else f"- {row.label}" if row.below else row.label


if __name__ == "__main__":
    command.main(app)

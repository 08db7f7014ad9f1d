"""A paper's table with our numbers: tidy TSV, Markdown and LaTeX, markers from our own tests.

Command: `python -m residuum.tables render ...`. Rounding happens here and only when rendering.
Must not know how values or p-values are computed, nor how a parameter was chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from residuum.artefacts import indexes, manifest
from residuum.cli import command
from residuum.config.schema.papers import DEPTH, Row, Table
from residuum.pages import grids, layout, scores, table_notes, tsv
from residuum.pages.grids import GridCell
from residuum.pages.layout import DASH, TextCell
from residuum.pages.table_notes import NO_DEPTH
from residuum.pages.tuned import depths
from residuum.paired import Comparison, ScoreMatrix
from residuum.tuning.record import Tuned
from residuum.wiring.bound import BoundTable

app = command.app(__doc__)
Beaten = set[tuple[str, str, str]]  # (column, better row, worse row)


@app.command()
def render(
    spec: Annotated[str, typer.Option(help="BoundTable as JSON")],
    metrics: command.Metrics,
    significance: Annotated[Path, typer.Option(help="TSV written by significance")],
    output: command.Page,
    tuning: Annotated[
        list[Path] | None, typer.Option(help="tuning JSON of a run: <dataset>/<split>/<run>.json")
    ] = None,
) -> None:
    """Write the table as .tsv (unrounded, a row per cell), .md and .tex."""
    requested = command.parse_spec(BoundTable, spec)
    job, values = scores.load(requested, metrics)
    tests = tsv.rows(significance, Comparison)
    records = [Tuned.read(path) for path in tuning or []]
    cells = tidy(job, values, tests, records, scores.searched(job, metrics))
    notes = table_notes.caption(job, cells, tests, records)
    layout.write(output, tsv.frame(cells, GridCell), page(job, cells, notes))
    names = [*requested.metrics_files(), *requested.metrics_records()]
    inputs = [significance, *(tuning or []), *(metrics / name for name in names)]
    manifest.write(output, {"cells": len(cells)}, requested, inputs, "residuum.tables")


def tidy(
    job: BoundTable,
    values: Mapping[scores.Key, ScoreMatrix],
    tests: Sequence[Comparison],
    records: list[Tuned],
    searched: Mapping[scores.Key, list[indexes.Record | None]],
) -> list[GridCell]:
    """Return the cells row by row: mean over seeds, spread, markers, what the paper prints.

    `searched` are the indexes behind cells whose table states one.
    """
    beaten = {(test.column, *test.ordered) for test in tests if test.significant}
    cells = []
    for row in job.table.rows:
        for column in job.table.columns:
            cell = grids.blank(job, row.id, column.id, column.measure)
            cell = replace(cell, not_run=job.not_run(row, column))
            matrix = values.get((row.id, column.id))
            if column.is_depth:
                cell = _chosen(cell, depths(job, row, column, records))
            elif matrix:
                per_seed = [float(value) for value in matrix.values.mean(axis=0)]
                cell = cell.measured_as(per_seed, len(matrix.query_ids))
                cell = _marked(job, row, cell, beaten)
            cells.append(_indexed(job, cell, searched.get((row.id, column.id), [])))
    return cells


def _chosen(cell: GridCell, records: list[Tuned]) -> GridCell:
    if not records:
        return replace(cell, not_run=cell.not_run or NO_DEPTH)
    chosen = [float(each.record.setting["depth"]) for each in records]
    return cell.measured_as(chosen, records[0].record.queries)


def _marked(job: BoundTable, row: Row, cell: GridCell, beaten: Beaten) -> GridCell:
    others = [other for other in job.table.rows if other.index and row.index]
    beats = [o.index for o in others if o.index and (cell.column, row.id, o.id) in beaten]
    below = row.below is not None and (cell.column, row.below, row.id) in beaten
    return replace(cell, beats=layout.span(beats), below=below)


def _indexed(
    job: BoundTable, cell: GridCell, searched: Sequence[indexes.Record | None]
) -> GridCell:
    """Add what the runs searched, and how it differs from the index that the table states."""
    other = indexes.other(job.table.index, searched) if job.table.index else None
    return replace(cell, index=indexes.described(searched), other_index=other)


def decimals(table: Table) -> int:
    """Return how many decimals a table shows: as many as the paper prints, at least three."""
    texts = [text.split(" ")[0] for row in table.reported.values() for text in row.values()]
    return max([3, *(len(text.partition(".")[2]) for text in texts)])


def number(cell: GridCell, digits: int) -> str:
    """Round for display; a cell without a value is `not run`, and never a zero."""
    if cell.measured is None or cell.lowest is None or cell.highest is None:
        return DASH if cell.not_run == NO_DEPTH else "not run"
    if cell.measure == DEPTH:
        span = f" ({cell.lowest:.0f}{DASH}{cell.highest:.0f})"
        return f"{cell.measured:.0f}{span if cell.lowest < cell.highest else ''}"
    deviation = f" ±{cell.std:.{digits}f}" if cell.std is not None else ""
    return f"{cell.measured:.{digits}f}{deviation}"


def page(job: BoundTable, cells: list[GridCell], notes: list[str]) -> layout.Layout:
    """Lay the table out: a line per row, its group and label first."""
    digits = decimals(job.table)

    def shown(cell: GridCell) -> TextCell:
        return TextCell(number(cell, digits), cell.beats, cell.below)

    starts = {row.id: [row.group, _label(row)] for row in job.table.rows}
    header = ["", "Model", *table_notes.headers(job)]
    return grids.lay_out(job, header, starts, cells, shown, notes)


def _label(row: Row) -> str:
    """Number the rows that others may beat; a dash marks a variant of another row."""
    return f"{row.index} {row.label}" if row.index else f"- {row.label}" if row.below else row.label


if __name__ == "__main__":
    command.main(app)

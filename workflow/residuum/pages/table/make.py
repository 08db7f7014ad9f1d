"""A paper's table with our numbers: tidy TSV, Markdown and LaTeX, markers from our own tests.

Command: `python -m residuum.pages.table.make render ...`. Rounding happens here and only when
rendering.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from residuum.artefacts import indexes, manifest, residual
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.pages import derived, grids, layout, notes
from residuum.pages.bearing import Weighed
from residuum.pages.cells import TICK
from residuum.pages.grids import GridCell, Loaded, Parted, read_groups
from residuum.pages.layout import DASH, TextCell
from residuum.pages.table import notes as table_notes
from residuum.pages.table.entry import DEPTH, Average, Column, Row
from residuum.pages.table.job import NO_DEPTH, NOTHING, BoundTable, metrics_files
from residuum.tuning.choosing import Record, Tuned
from residuum.tuning.learned import read_all

app = command.app(__doc__)
Beaten = Collection[tuple[str | None, ...]]  # column, better row, worse row


@app.command()
def render(
    spec: Annotated[str, typer.Option(help="BoundTable as JSON")],
    metrics: command.Metrics,
    significance: Annotated[Path, typer.Option(help="TSV written by significance")],
    output: command.Page,
    tuning: Annotated[
        list[Path] | None, typer.Option(help="tuning JSON of a run: <dataset>/<split>/<run>.json")
    ] = None,
    computed: Annotated[
        list[Path] | None,
        typer.Option(help="manifest of a model, of embeddings or of scored pairs"),
    ] = None,
    learning: command.Learning = None,
    groups: command.Groups = None,
) -> None:
    """Write the table as .tsv (unrounded, a row per cell), .md and .tex."""
    requested = command.parse_spec(BoundTable, spec)
    verdicts = read_all(learning or [])
    loaded = grids.load(requested, metrics, verdicts, read_groups(groups or []))
    job = loaded.job
    tests = grids.rows(significance, Weighed)
    records = [Tuned.read(path) for path in tuning or []]
    cells = tidy(loaded, tests, records, metrics)
    captions = list(table_notes.caption(job, cells, tests, records, removed(job, metrics)))
    captions += table_notes.of_ranks(loaded)
    captions += table_notes.of_unions(job, metrics)
    captions += table_notes.of_vectors(job, metrics)
    captions += notes.of_learning(verdicts)
    captions += table_notes.of_arithmetic(computed or [])
    captions += table_notes.of_released(computed or [])
    written = layout.write(output, grids.tidied(cells), page(job, cells, captions))
    inputs = [significance, *(tuning or []), *(computed or []), *(learning or [])]
    inputs += groups or []
    names = [*metrics_files([requested]), *requested.metrics_records()]
    inputs += [metrics / name for name in names]
    facts = {"cells": len(cells)}
    manifest.write(output, facts, requested, inputs, "residuum.pages.table.make", written)


def removed(job: BoundTable, metrics: Path) -> dict[str, int]:
    """Count, by row, the docs judged in earlier rounds that were removed from external runs."""
    rounds = {split_ref for split_ref, names in job.residual.items() if {*names} - {split_ref}}
    cells = [cell for cell in job.cells() if job.splits[cell[1].id] in rounds]
    files = [
        (row.id, metrics / name) for row, column in cells for name in job.metrics_of(row, column)
    ]
    counts = {row: residual.removed(path) for row, path in files}
    return {row: count for row, count in counts.items() if count is not None}


def tidy(
    loaded: Loaded, tests: Sequence[Weighed], records: Sequence[Tuned], metrics: Path
) -> list[GridCell]:
    """Return the cells row by row: mean over seeds, spread, markers, the paper's numbers.

    If the table states its index, manifests in `metrics` name the index that runs searched.
    """
    job, cells = loaded.job, []
    beaten = {(test.column, *test.beats) for test in tests if test.beats}
    for row in job.entry.rows:
        for column in job.entry.columns:
            not_run = job.not_run(row, column)
            cell = grids.blank(job, row.id, column.id, column.named(row.id), not_run)
            cell = replace(cell, not_learned=job.not_learned(row.id, column.id) is not None)
            if column.shows == "chosen" and not not_run:
                cell = _with_depth(job, row, column, cell, records)
            elif (by_seed := loaded.by_seed(row.id, column)) is not None:
                cell = cell.measured_as(by_seed, loaded.queries((row.id, column.id)))
                low, high = loaded.interval(row.id, column)
                cell = _marked(job, replace(cell, ci_low=low, ci_high=high), row, column, beaten)
                cell = _with_index(job, row, column, cell, metrics)
            cells.append(cell)
        cells += [_average(loaded, row, mean, beaten) for mean in job.entry.means]
    return cells


def _average(loaded: Loaded, row: Row, mean: Average, beaten: Beaten) -> GridCell:
    job, not_run = loaded.job, loaded.job.not_run(row, mean)
    cell = grids.blank(job, row.id, mean.id, mean.named(), not_run)
    cell = replace(cell, not_learned=job.not_learned(row.id, mean.id) is not None)
    by_seed = loaded.values(row.id, mean.id)
    if by_seed is None:
        return cell
    made = cell.measured_as(by_seed, loaded.queries((row.id, mean.id)))
    return _with_markers(job, made, row, beaten)


def _marked(job: BoundTable, cell: GridCell, row: Row, column: Column, beaten: Beaten) -> GridCell:
    return replace(_with_markers(job, cell, row, beaten), tick=_ticked(column, row.id, beaten))


def _with_markers(job: BoundTable, cell: GridCell, row: Row, beaten: Beaten) -> GridCell:
    """Add the indices of the rows that a row beats, and whether it is below its `below`."""
    others = [other for other in job.entry.rows if (cell.column, row.id, other.id) in beaten]
    beats = [other.index for other in others if other.index and not row.below]
    below = (cell.column, row.below, row.id) in beaten
    return replace(cell, beats=layout.span(beats), below=below)


def _with_index(
    job: BoundTable, row: Row, column: Column, cell: GridCell, metrics: Path
) -> GridCell:
    if not job.entry.index:
        return cell
    searched = [indexes.recorded(metrics / name) for name in job.metrics_of(row, column)]
    other = indexes.other(job.entry.index, searched)
    return replace(cell, index=indexes.described(searched), other_index=other)


def _ticked(column: Column, row: str, beaten: Beaten) -> bool | None:
    """Say whether a row has a tick: it differs significantly from the row it is a change from."""
    if column.tick is None or not column.is_change(row):
        return None
    pair = (row, str(column.change_from))
    return (column.id, *(pair if column.tick == "above" else reversed(pair))) in beaten


def _with_depth(
    job: BoundTable, row: Row, column: Column, cell: GridCell, tuned: Sequence[Tuned]
) -> GridCell:
    """Add the depth chosen for each run of a row, by its record on the split, or its only record.

    A row without a rerank system has no depth. Raises ResiduumError if a run of a rerank system has
    no record.
    """
    chosen: dict[str, Record] = {}
    runs, system = job.runs_at(row.id, column), job.systems.get(row.part(column.id), {})
    for run in runs:
        records = [t for t in tuned if t.run == run and "depth" in t.record.choices[0].setting]
        records = [t for t in records if t.split_ref == cell.split_ref] or records
        if len(records) == 1:
            chosen[run] = records[0].record
    lacking = [run for run in runs if run not in chosen]
    if lacking and (chosen or system.get("kind") == "rerank"):
        raise ResiduumError(
            f"{job.id}, row {row.id}: no tuning record gives the depth of {lacking[0]} on "
            f"{cell.split_ref}; name it with --tuning {cell.split_ref}/{lacking[0]}.json"
        )
    if not chosen:
        return replace(cell, not_run=NO_DEPTH)
    depths = [_mean_depth(record) for record in chosen.values()]
    return cell.measured_as(depths, next(iter(chosen.values())).queries)


def _mean_depth(record: Record) -> float:
    """Return the depth that was chosen; of folds, the mean over their judged queries."""
    depths = [float(choice.setting["depth"]) for choice in record.choices]
    weights = [choice.queries for choice in record.choices] if record.fold_of else None
    return fmean(depths, weights)


def number(cell: GridCell, digits: int, signed: bool = False) -> str:
    """Round a cell for display. A cell without a value says why and is never 0.

    A change has a sign, and a tick after it if the column marks it.
    """
    if cell.measured is None or cell.lowest is None or cell.highest is None:
        return DASH if cell.not_run in NOTHING else cell.absence
    if cell.measure == DEPTH:
        span = f" ({cell.lowest:.0f}{DASH}{cell.highest:.0f})"
        return f"{cell.measured:.0f}{span if cell.lowest < cell.highest else ''}"
    if signed:
        return f"{round(cell.measured, digits) + 0.0:+.{digits}f}{f' {TICK}' * bool(cell.tick)}"
    return f"{cell.measured:.{digits}f}"


def spread(cell: GridCell, digits: int) -> str:
    """Format the standard deviation over seeds, and the interval of a ratio."""
    over = "" if cell.std is None or cell.measure == DEPTH else f"±{cell.std:.{digits}f}"
    if cell.ci_low is None or cell.ci_high is None:
        return over
    return f"{over} [{cell.ci_low:.{digits}f}, {cell.ci_high:.{digits}f}]".strip()


def page(job: BoundTable, cells: list[GridCell], captions: list[str]) -> layout.Layout:
    """Lay the table out: a line per row, with as many decimals as the paper prints, at least 3.

    Rows that other rows may beat are numbered; a dash marks a variant of another row. Rows and
    columns that the scale leaves out stand in the notes alone.
    """
    printed = [text for row in job.entry.reported.values() for text in row.values()]
    digits = max([3, *(len(text.split(" ")[0].partition(".")[2]) for text in printed)])
    rows, columns = [], job.columns_of_grid()
    names = {column.id for column in columns}
    for row in job.rows_of_grid():
        mark = row.index or ("-" if row.below else "")
        shown = []
        for cell in (cell for cell in cells if cell.row == row.id and cell.column in names):
            text = number(cell, digits, job.change_from(row.id, cell.column) is not None)
            shown.append(TextCell(text, cell.beats, cell.below, spread=spread(cell, digits)))
        rows.append([TextCell(row.group), TextCell(f"{mark} {row.label}".strip()), *shown])
    headers = (job.short_header(column).replace(" ", "\n", 1) for column in columns)
    header = ["", "Model", *headers]
    align = "ll" + "c" * len(columns)
    return layout.page(job.entry, header, rows, captions, align)


def values(
    job: BoundTable, row: str, column: str, metrics: Path, groups: Parted, read: grids.Read
) -> list[derived.Value]:
    """Return the values behind a number, then those of its `change_from`.

    A choice has none, and an average has those of its columns.
    """
    shown, *others = job.parts_of(column)
    if shown.shows == "chosen" or others:
        return []
    rows = [row, str(shown.change_from)] if shown.is_change(row) else [row]
    return [grids.cell_value(job, name, shown, metrics, groups, read) for name in rows]


def places(job: BoundTable, numbers: Sequence[GridCell]) -> layout.Places:
    """Return the number that each cell of the Markdown's grid shows."""
    rows, columns = job.rows_of_grid(), job.columns_of_grid()
    return [[None, None, *(f"{row.id}/{column.id}" for column in columns)] for row in rows]


if __name__ == "__main__":
    command.main(app)

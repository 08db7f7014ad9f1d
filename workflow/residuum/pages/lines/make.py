"""A table's numbers as lines, a plot for some of its columns each.

Command: `python -m residuum.pages.lines.make draw ...`. What is drawn lies beside the drawing,
unrounded; equal data is equal bytes.
"""

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import polars as pl
import typer

from residuum.artefacts import manifest
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.pages import drawing, grids, layout
from residuum.pages import notes as shared
from residuum.pages.entries import page_id, parts_of
from residuum.pages.grids import GridCell
from residuum.pages.layout import DASH, TextCell
from residuum.pages.lines.entry import LinePanel
from residuum.pages.lines.job import BoundLines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

app = command.app(__doc__)
MARKERS = "os^Dv*P<>Xh"


class Line(NamedTuple):
    """A row of the table in a panel, with the cells that have a number."""

    panel: LinePanel
    row: str
    cells: dict[str, GridCell]  # by the place's name


@app.command()
def draw(
    spec: Annotated[str, typer.Option(help="BoundLines as JSON")],
    table: Annotated[Path, typer.Option(help="TSV of the table")],
    output: Annotated[Path, command.written("TSV to write; .pdf, .png and .md go beside it")],
) -> None:
    """Write the drawn numbers as .tsv, the drawing as .pdf and .png and its caption as .md."""
    job = command.parse_spec(BoundLines, spec)
    cells = grids.by_place(grids.read_cells(table))
    drawn = [line for panel in job.entry.panels for line in _lines(job, panel, cells, table)]
    written = _save(job, drawn, output)
    written += layout.write(output, frame(drawn), _page(job, drawn), image=f"{output.stem}.png")
    facts = {"lines": len(drawn)}
    manifest.write(output, facts, job, [table], "residuum.pages.lines.make", written)


def _lines(
    job: BoundLines, panel: LinePanel, cells: Mapping[tuple[str, str], GridCell], table: Path
) -> list[Line]:
    """Return a panel's lines that have a number; ResiduumError if the table lacks a column."""
    columns = {column for _, column in cells}
    for point in panel.points:
        if point.column not in columns:
            text = unknown("column", point.column, columns)
            raise ResiduumError(f"{table}: {text}; {grids.AGAIN}")
    made = []
    for row, _ in job.labels:
        by_at = {point.at: cells.get((row, point.column)) for point in panel.points}
        numbers = {at: cell for at, cell in by_at.items() if cell and cell.measured is not None}
        made += [Line(panel, row, numbers)] if numbers else []
    return made


def frame(drawn: Sequence[Line]) -> pl.DataFrame:
    """Return a row per point: panel, row, place, mean, spread over seeds, the paper's number."""
    schema = {name: pl.String for name in ("panel", "row", "at", "column", "split_ref")}
    numbers = {name: pl.Float64 for name in ("mean", "lowest", "highest", "reported")}
    whole = {"n": pl.Int64, "seeds": pl.Int64}
    rows = []
    for line in drawn:
        for at, cell in line.cells.items():
            names = line.panel.id, line.row, at, cell.column, cell.split_ref
            spread = cell.measured, cell.lowest, cell.highest, cell.reported
            rows.append((*names, cell.n, cell.seeds, *spread))
    return pl.DataFrame(rows, schema={**schema, **whole, **numbers}, orient="row")


def _save(job: BoundLines, drawn: Sequence[Line], output: Path) -> list[Path]:
    plots: list[drawing.Plot] = []
    for panel in job.entry.panels:
        lines = [line for line in drawn if line.panel == panel]
        plots.append(partial(_plot, job, panel, lines) if lines else None)
    return drawing.save_plots(output, plots, 4.0, sharey=True)


def _plot(job: BoundLines, panel: LinePanel, lines: Sequence[Line], ax: "Axes") -> drawing.Legend:
    """Draw one panel. A row has the same style in all panels."""
    legend: drawing.Legend = {}
    places = {point.at: number for number, point in enumerate(panel.points)}
    labels = dict(job.labels)
    styles = zip(labels, itertools.cycle(drawing.LINES), itertools.cycle(MARKERS))
    style = {row: (color, marker, dashes) for row, (color, _, dashes), marker in styles}
    for line in lines:
        color, marker, dashes = style[line.row]
        every = [line.cells.get(name) for name in places]  # a line breaks where there is no number
        means = np.array([np.nan if c is None else c.measured for c in every], float)
        ends = np.array(
            [(np.nan,) * 2 if c is None else (c.lowest, c.highest) for c in every], float
        )
        several = any(cell is not None and (cell.seeds or 0) > 1 for cell in every)
        spread = np.maximum([means - ends[:, 0], ends[:, 1] - means], 0.0) if several else None
        legend[labels[line.row]] = ax.errorbar(
            [*places.values()], means, spread, color=color, marker=marker, linestyle=dashes
        )
    ax.set_xticks([*places.values()], labels=[*places])
    ax.set_xlim(-0.3, len(places) - 0.7)
    ax.set_xlabel(job.entry.axis)
    if panel == job.entry.panels[0]:
        ax.set_ylabel(job.entry.measure)
    ax.set_title(textwrap.fill(panel.header, 36), fontsize=8)
    ax.grid(color="0.9", linewidth=0.5)
    return legend


def _page(job: BoundLines, drawn: Sequence[Line]) -> layout.Layout:
    points = [(panel, point.at) for panel in job.entry.panels for point in panel.points]
    header = ["", *(f"{panel.header}, {at}" for panel, at in points)]
    rows = []
    for row, label in job.labels:
        by_panel = {line.panel.id: line.cells for line in drawn if line.row == row}
        if by_panel:
            shown = [by_panel.get(panel.id, {}).get(at) for panel, at in points]
            texts = [DASH if cell is None else f"{cell.measured:.3f}" for cell in shown]
            rows.append([TextCell(label), *map(TextCell, texts)])
    lines, table = job.entry, page_id(parts_of(job.id)[0], job.entry.table)
    notes = [
        f"{lines.measure} by {lines.axis.lower()}; the numbers are those of {table}, "
        "which says how they are measured and tested, and why others are absent.",
        *shared.of_scale(job),
    ]
    return layout.page(lines, header, rows, notes)


if __name__ == "__main__":
    command.main(app)

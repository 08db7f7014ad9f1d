"""A table's numbers as lines, a plot for some of its columns each.

Command: `python -m residuum.pages.lines.make draw ...`. What is drawn lies beside the drawing,
unrounded; equal data is equal bytes.
"""

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import polars as pl
import typer

from residuum.artefacts import manifest
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.pages import drawing, grids, layout
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
    cells = {(c.row, c.column): c for c in grids.rows(table, GridCell, optional=grids.OPTIONAL)}
    drawn = [line for panel in job.entry.panels for line in _lines(job, panel, cells, table)]
    own = _save(job, drawn, output)
    own += layout.write(output, frame(drawn), _page(job, drawn), image=f"{output.stem}.png")
    manifest.write(output, {"lines": len(drawn)}, job, [table], "residuum.pages.lines.make", own)


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
        own = {point.at: cells.get((row, point.column)) for point in panel.points}
        numbers = {at: cell for at, cell in own.items() if cell and cell.measured is not None}
        made += [Line(panel, row, numbers)] if numbers else []
    return made


def frame(drawn: Sequence[Line]) -> pl.DataFrame:
    """Return a row per point: panel, row, place, mean, spread over seeds, the paper's number."""
    schema = {name: pl.String for name in ("panel", "row", "at", "column", "split_ref")}
    numbers = {name: pl.Float64 for name in ("mean", "lowest", "highest", "reported")}
    points = ((line, at, cell) for line in drawn for at, cell in line.cells.items())
    rows = [
        (
            *(line.panel.id, line.row, at, cell.column, cell.split_ref, cell.n, cell.seeds),
            *(cell.measured, cell.lowest, cell.highest, cell.reported),
        )
        for line, at, cell in points
    ]
    whole = {"n": pl.Int64, "seeds": pl.Int64}
    return pl.DataFrame(rows, schema={**schema, **whole, **numbers}, orient="row")


def _save(job: BoundLines, drawn: Sequence[Line], output: Path) -> list[Path]:
    from matplotlib.figure import Figure

    panels = job.entry.panels
    with drawing.styled():
        figure = Figure(figsize=(3.4 * len(panels), 4.0), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        legend: drawing.Legend = {}
        for ax, panel in zip(axes, panels, strict=True):
            own = [line for line in drawn if line.panel == panel]
            if own:
                legend |= _plot(ax, job, panel, own)
            else:
                drawing.nothing(ax)
        drawing.explain(figure, legend, 3)
        return drawing.written(figure, output)


def _plot(ax: "Axes", job: BoundLines, panel: LinePanel, lines: Sequence[Line]) -> drawing.Legend:
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
    """Return the page under the drawing: the numbers, and the table that they come from."""
    points = [(panel, point.at) for panel in job.entry.panels for point in panel.points]
    header = ["", *(f"{panel.header}, {at}" for panel, at in points)]
    rows = []
    for row, label in job.labels:
        own = {line.panel.id: line.cells for line in drawn if line.row == row}
        if own:
            found = [own.get(panel.id, {}).get(at) for panel, at in points]
            texts = [DASH if cell is None else f"{cell.measured:.3f}" for cell in found]
            rows.append([TextCell(label), *map(TextCell, texts)])
    lines, paper = job.entry, job.id.rpartition("-")[0]
    notes = [
        f"{lines.measure} by {lines.axis.lower()}; the numbers are those of {paper}-{lines.table}, "
        "which says how they are measured and tested, and why others are absent.",
        f"Scale {job.scale}: {job.reason}",
    ]
    return layout.Layout(lines.title, lines.printed_in, header, rows, notes)


if __name__ == "__main__":
    command.main(app)

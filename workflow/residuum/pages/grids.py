"""Pages of rows and columns, measured and printed: their cells, a line of the TSV for each.

Usage: `blank(job, row, column, measure).measured_as([0.24, 0.25], n=6980)`; made by `tables` and
`characteristics`, judged by `ledger`. Must not know how a value is measured or rounded for display.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from residuum.config.schema.papers import PrintedCell
from residuum.pages import tsv
from residuum.pages.layout import Layout, TextCell, span
from residuum.wiring.bound import BoundCharacteristics, BoundTable

Grid = BoundTable | BoundCharacteristics
INDEX = ("index", "other_index")  # columns of tables measured on runs alone


@dataclass(frozen=True)
class GridCell:
    """A cell: its value (mean and spread over seeds), its markers, and what the paper prints.

    `other_index` is how the searched index differs from the one that the page states.
    """

    table: str
    row: str
    column: str
    measure: str
    split_ref: str | None
    n: int | None = None
    measured: float | None = None
    seeds: int | None = None
    per_seed: str | None = None
    lowest: float | None = None
    highest: float | None = None
    std: float | None = None
    beats: str = ""
    below: bool = False
    reported: float | None = None
    reported_beats: str | None = None
    reported_below: bool | None = None
    not_run: str | None = None
    index: str | None = None
    other_index: str | None = None

    def measured_as(self, per_seed: Sequence[float], n: int) -> "GridCell":
        """Return the cell with its value per seed, measured on `n` queries."""
        values = np.array(per_seed)
        return replace(
            self,
            n=n,
            measured=float(values.mean()),
            seeds=len(values),
            per_seed=" ".join(map(str, per_seed)),
            lowest=float(values.min()),
            highest=float(values.max()),
            std=float(values.std(ddof=1)) if len(values) > 1 else None,
        )


def blank(job: Grid, row: str, column: str, measure: str) -> GridCell:
    """Return a cell without a value, with what the paper prints in it."""
    cell = GridCell(job.id, row, column, measure, job.places[column])
    text = job.table.reported.get(row, {}).get(column)
    if text is None:
        return cell
    printed = PrintedCell.parse(text)
    return replace(
        cell,
        reported=printed.value,
        reported_beats=span(printed.beats),
        reported_below=printed.below,
    )


def read(path: Path) -> list[GridCell]:
    """Read the TSV of a page."""
    return tsv.rows(path, GridCell, optional=INDEX)


def lay_out(
    job: Grid,
    header: list[str],
    starts: dict[str, list[str]],
    cells: Sequence[GridCell],
    shown: Callable[[GridCell], TextCell],
    notes: list[str],
) -> Layout:
    """Lay cells out, a line per row: `starts` are the texts that a row begins with."""
    lines = {row: list(map(TextCell, texts)) for row, texts in starts.items()}
    left = len(next(iter(lines.values())))
    for cell in cells:
        lines[cell.row].append(shown(cell))
    align = [*"l" * left, *"c" * (len(header) - left)]
    title, printed_in = job.table.title, job.table.printed_in
    return Layout(title, printed_in, header, list(lines.values()), notes, align)

"""What pages print of the same runs: a number or a comparison that another cell printed before.

Usage: `before = Before()`, then `before.number(job, cell)` for each cell in the pages' order. Two
cells with one value of one measure of the same runs print one number.
"""

from collections.abc import Hashable

from residuum.pages.entries import parts_of
from residuum.pages.grids import GridCell
from residuum.pages.jobs import Judged


class Before:
    """The cells that first print each number and each comparison, over pages in their order."""

    def __init__(self) -> None:
        self._first: dict[Hashable, str] = {}

    def number(self, job: Judged, cell: GridCell) -> str | None:
        """Return the cell that printed a cell's number first, None if it is this one."""
        return self._same(cell, _number(job, cell))

    def comparison(self, job: Judged, cell: GridCell, other: GridCell, claim: str) -> str | None:
        """Return the cell that first claimed that one lies above or below the other, alike."""
        both = _number(job, cell), _number(job, other)
        return self._same(cell, None if None in both else (both, claim, job.between_rows()))

    def claim(self, page: str, name: str, rests_on: str | None) -> str | None:
        """Return the sentence that first rested on the same; None if this one, or on nothing."""
        return self._named("/".join([*parts_of(page), name]), rests_on)

    def _same(self, cell: GridCell, key: Hashable | None) -> str | None:
        return self._named(cell_name(cell), key)

    def _named(self, own: str, key: Hashable | None) -> str | None:
        first = own if key is None else self._first.setdefault(key, own)
        return None if first == own else first


def cell_name(cell: GridCell) -> str:
    """Return a cell as `residuum explain` takes it: clear/table1/bm25/dev-rr."""
    return "/".join([*parts_of(cell.table), cell.row, cell.column])


def _number(job: Judged, cell: GridCell) -> Hashable | None:
    """Return what decides a number: runs, split, measure, printed value; None of what has none."""
    runs = job.runs_of(cell.row, cell.column)
    if runs is None or cell.split_ref is None:
        return None
    return tuple(runs), cell.split_ref, cell.measure, cell.reported

"""Find numbers, comparisons and claims that an earlier cell or page prints of the same runs.

Usage: `before = Before()`, then `before.number(job, cell)` for each cell in the pages' order. Two
cells print the same number if they have the same runs, measure, split and printed value.
"""

from collections.abc import Hashable

from residuum.pages.entries import parts_of
from residuum.pages.grids import GridCell
from residuum.pages.jobs import Judged


class Before:
    """The cells that first print each number, comparison and claim, in the order of pages."""

    def __init__(self) -> None:
        self._first: dict[Hashable, str] = {}

    def number(self, job: Judged, cell: GridCell) -> str | None:
        """Return the earlier cell that prints the same number, or None."""
        return self._same(cell, _number(job, cell))

    def comparison(self, job: Judged, cell: GridCell, other: GridCell, claim: str) -> str | None:
        """Return the earlier cell that prints the same comparison of the same numbers, or None."""
        both = _number(job, cell), _number(job, other)
        return self._same(cell, None if None in both else (both, claim, job.between_rows()))

    def claim(self, page: str, name: str, rests_on: str | None) -> str | None:
        """Return the earlier claim that rests on the same comparisons and runs, or None."""
        return self._named("/".join([*parts_of(page), name]), rests_on)

    def _same(self, cell: GridCell, key: Hashable | None) -> str | None:
        return self._named(cell_name(cell), key)

    def _named(self, own: str, key: Hashable | None) -> str | None:
        first = own if key is None else self._first.setdefault(key, own)
        return None if first == own else first


def cell_name(cell: GridCell) -> str:
    """Return the name of a cell for `residuum explain`, such as clear/table1/bm25/dev-rr."""
    return "/".join([*parts_of(cell.table), cell.row, cell.column])


def _number(job: Judged, cell: GridCell) -> Hashable | None:
    """Return what identifies a number: runs, split, measure, printed value; None without runs."""
    runs = job.runs_of(cell.row, cell.column)
    if runs is None or cell.split_ref is None:
        return None
    return tuple(runs), cell.split_ref, cell.measure, cell.reported

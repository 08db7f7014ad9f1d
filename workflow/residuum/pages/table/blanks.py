"""Judge a paper's blanks: pairs of rows that it compares and does not mark.

Usage: `unmarked(job, cells, tests, before)` gives ledger rows of kind `no marker`, counted apart.
docs/verdicts.md says which blanks can be judged.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from residuum.pages.bearing import Weighed, unshown
from residuum.pages.entries import parts_of
from residuum.pages.grids import GridCell, Key, by_place
from residuum.pages.table.job import BoundTable
from residuum.pages.verdicts import (
    NO_TEST,
    Before,
    LedgerRow,
    Tested,
    Verdict,
    absence,
    by_pair,
    compared,
    not_shown,
    of_few,
)

Printed = Mapping[str, float]  # the numbers of a column, by row


class Blank(NamedTuple):
    """A pair of rows whose printed numbers favour `better`, without a marker.

    `rival` is a row that the column marks over `worse` although its number is nearer to that of
    `worse`; or None.
    """

    column: str
    better: str
    worse: str
    rival: str | None


def unmarked(
    job: BoundTable, cells: Sequence[GridCell], tests: Sequence[Weighed], before: Before
) -> list[LedgerRow]:
    """Return a ledger row per blank, in columns that print markers."""
    measured, tested = by_place(cells), by_pair(tests)
    marked = {column for _, column, cell in job.entry.cells() if cell.beats or cell.below}
    return [
        _row(job, blank, measured, tested.get(blank[:3]), before)
        for column in job.entry.columns
        for blank in blanks(job, column.id)
        if column.id in marked
    ]


def blanks(job: BoundTable, column: str) -> Iterator[Blank]:
    """Yield the blanks of a column: between numbered rows, and of variants without an arrow.

    If a paper compares with baselines only, a blank is any row's over a baseline.
    """
    cells = {row: cell for row, name, cell in job.entry.cells() if name == column}
    values = {row: cell.value for row, cell in cells.items() if cell.value is not None}
    numbers = {row.id: row.index for row in job.entry.rows if row.index}
    better = worse = [row for row in values if row in numbers]
    if job.tests.compare == "with_baselines":
        copied = {row.id for row in job.entry.rows if not row.system and not row.index}
        better = [row for row in values if row not in copied]
        worse = [row for row in worse if row in job.entry.baselines]
    for a in better:
        for b in worse:
            if values[a] > values[b]:
                over = {row for row in cells if numbers[b] in cells[row].beats}
                if a not in over:
                    yield Blank(column, a, b, _nearer(values, over, b, a))
    varied = {row.id: row.below for row in job.entry.rows if row.below and row.id in values}
    for row, above in varied.items():
        if above in values and not cells[row].below and values[row] < values[above]:
            under = {r for r, other in varied.items() if other == above and cells[r].below}
            yield Blank(column, above, row, _nearer(values, under, above, row))


def _nearer(values: Printed, marked: set[str], to: str, than: str) -> str | None:
    """Return a marked row whose number is nearer to that of `to` than the number of `than`."""
    gap = abs(values[than] - values[to])
    near = [row for row in values if row in marked and abs(values[row] - values[to]) < gap]
    return near[0] if near else None


def _row(
    job: BoundTable,
    blank: Blank,
    measured: Mapping[Key, GridCell],
    tested: Tested | None,
    before: Before,
) -> LedgerRow:
    column, better, worse, rival = blank
    cells = measured[better, column], measured[worse, column]
    judged = absence(*cells)
    if rival:
        near = f"the column marks {rival}, whose number is nearer"
        judged = NO_TEST, f"this blank says nothing: {near}"
    elif tested:
        judged = blank_verdict(tested)
    where = (parts_of(job.id)[0], job.entry.printed_in, job.id, better, column)
    claim = f"{better} above {worse}, unmarked"
    row = compared(where, *cells, tested, judged, kind="no marker", claim=claim)
    return replace(row, same_as=before.comparison(job, *cells, "unmarked"))


def blank_verdict(tested: Tested) -> Verdict:
    """Return (verdict, reason): whether the rows differ significantly here, in any direction."""
    sign, test = tested
    if why := unshown(test, [True, False]):
        return not_shown(why)
    reason = f"p {test.p_adjusted:.4g}, difference {sign * test.difference:+.4f}"
    if not test.significant:
        return "agrees", f"not significant ({reason})"
    if test.holds_over_seeds is False:
        return "these models only", f"{reason}; p over seeds {test.p_over_seeds:.4g}"
    if few := of_few(test):
        return "these models only", f"{reason}; {few}"
    return "significant here", reason

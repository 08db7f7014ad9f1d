"""Judge the numbers and comparisons that a page prints: a ledger row with a verdict for each.

Usage: `judge(page, cells, tests, before)`, with one `Before` for all pages. Verdicts are defined in
docs/verdicts.md.
"""

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import NamedTuple

from residuum.artefacts import intact
from residuum.pages import grids
from residuum.pages.bearing import SEEDS, Weighed, unshown
from residuum.pages.cells import PrintedCell
from residuum.pages.entries import parts_of
from residuum.pages.grids import GridCell, by_place
from residuum.pages.jobs import Judged
from residuum.paired import Comparison, adjust, reproduction

NOT_JUDGED = "not judged"  # the data could not show it
NOT_SHOWN = "the data could not show it: "  # begins the reason of that verdict
NO_TEST = "no test"  # what a paper says, or leaves blank, is nothing that a test could judge
COMPARED = ("holds", "these models only", "inconclusive", "reversed")
ABSENT = ("not learned", "not run")
VERDICTS = {
    "comparison": [*COMPARED, NOT_JUDGED, *ABSENT],
    "number": ["reproduced", "close", "differs", "not comparable", *ABSENT],
    "claim": [*COMPARED, "differs", "not comparable", NOT_JUDGED, NO_TEST, *ABSENT],
    "no marker": ["agrees", "significant here", "these models only", NOT_JUDGED, NO_TEST, *ABSENT],
}
Verdict = tuple[str, str]  # (verdict, reason)
Where = tuple[str, str, str, str, str]  # paper, printed_in, table, row, column


class Tested(NamedTuple):
    """A test, and the sign that makes its difference the claim's row minus the other row."""

    sign: int
    test: Weighed


@dataclass(frozen=True)
class LedgerRow:
    """A number, comparison or sentence that a paper prints. A comparison's values are differences.

    The kind `no marker` is for pairs of rows that the paper compares without a marker.
    """

    paper: str
    printed_in: str
    table: str
    row: str
    column: str
    _: KW_ONLY
    kind: str
    claim: str
    reported: float | None = None
    measured: float | None = None
    delta: float | None = None
    effect_ratio: float | None = None
    delta_ri: float | None = None
    tolerance: float | None = None
    p_adjusted: float | None = None
    p_over_seeds: float | None = None
    seeds_agreeing: str | None = None
    verdict: str
    under_holm: str | None = None
    same_as: str | None = None  # an earlier cell that prints the same of the same runs
    rests_on: str | None = None  # for a claim: a hash of the comparisons and runs that decide it
    reason: str


def number_form(kind: str) -> str:
    """Return the format of a row's values; those of all kinds but `number` are differences."""
    return ".4g" if kind == "number" else "+.4g"


def ledger(path: Path) -> list[LedgerRow]:
    """Return the rows of a finished ledger; ResiduumError if no manifest records the file."""
    made = grids.rows(path, LedgerRow)
    intact.made(path)
    return made


class Before:
    """The cells that first print each number, comparison and claim, in the order of pages."""

    def __init__(self) -> None:
        self._first: dict[Hashable, str] = {}

    def number(self, job: Judged, cell: GridCell) -> str | None:
        """Return the earlier cell that prints the same number, or None."""
        return self._same(cell, _identity(job, cell))

    def comparison(self, job: Judged, cell: GridCell, other: GridCell, claim: str) -> str | None:
        """Return the earlier cell that prints the same comparison of the same numbers, or None."""
        both = _identity(job, cell), _identity(job, other)
        return self._same(cell, None if None in both else (both, claim, job.between_rows()))

    def claim(self, page: str, name: str, rests_on: str | None) -> str | None:
        """Return the earlier claim that rests on the same comparisons and runs, or None."""
        return self._named("/".join([*parts_of(page), name]), rests_on)

    def _same(self, cell: GridCell, key: Hashable | None) -> str | None:
        return self._named(cell_name(cell), key)

    def _named(self, name: str, key: Hashable | None) -> str | None:
        first = name if key is None else self._first.setdefault(key, name)
        return None if first == name else first


def cell_name(cell: GridCell) -> str:
    """Return the name of a cell for `residuum explain`, such as clear/table1/bm25/dev-rr."""
    return "/".join([*parts_of(cell.table), cell.row, cell.column])


def _identity(job: Judged, cell: GridCell) -> Hashable | None:
    """Return what identifies a number: runs, split, measure, printed value; None without runs."""
    runs = job.runs_of(cell.row, cell.column)
    if runs is None or cell.split_ref is None:
        return None
    return tuple(runs), cell.split_ref, cell.measure, cell.reported


def judge(
    job: Judged, cells: Sequence[GridCell], tests: Sequence[Weighed], before: Before
) -> list[LedgerRow]:
    """Return the ledger rows of a page: for each cell its number, then its comparisons.

    `before` knows the numbers and comparisons of the pages judged before.
    """
    measured = by_place(cells)
    tested, by_holm = by_pair(tests), by_pair(_under_holm(job, tests))
    rows: list[LedgerRow] = []
    for row in job.entry.labels():
        for column, text in job.entry.reported.get(row, {}).items():
            printed, cell = PrintedCell.parse(text), measured[row, column]
            where = (parts_of(job.id)[0], job.entry.printed_in, job.id, row, column)
            if printed.value is not None:
                tolerance = job.entry.tolerated(column, printed)
                number = _number(job, where, printed.value, cell, tolerance)
                rows.append(replace(number, same_as=before.number(job, cell)))
            for name, claim in job.marked(row, column, printed):
                both = [pairs.get((column, row, name)) for pairs in (tested, by_holm)]
                other = measured[name, column]
                compares = _comparison(where, cell, other, claim, *both)
                same = before.comparison(job, cell, other, claim)
                rows.append(replace(compares, same_as=same))
    return rows


def _number(
    job: Judged, where: Where, reported: float, cell: GridCell, tolerance: float
) -> LedgerRow:
    verdict, why = number_verdict(job, reported, cell, tolerance)
    return LedgerRow(
        *where,
        kind="number",
        claim=f"{cell.measure} = {reported}",
        reported=reported,
        measured=cell.measured,
        delta=None if cell.measured is None else cell.measured - reported,
        tolerance=tolerance,
        verdict=verdict,
        reason=why,
    )


def by_pair(tests: Sequence[Weighed]) -> dict[tuple[str, str, str], Tested]:
    """Return tests by (column, row, other row), in both directions."""
    return {
        (t.column, *pair): Tested(sign, t)
        for t in tests
        for sign, pair in ((1, (t.a, t.b)), (-1, (t.b, t.a)))
    }


def _under_holm(job: Judged, tests: Sequence[Weighed]) -> list[Weighed]:
    """Correct the tests by Holm within each column, regardless of the paper's correction."""
    how = job.between_rows()
    return adjust([replace(t, family=t.column) for t in tests], "holm", how.alpha) if how else []


def number_verdict(job: Judged, reported: float, cell: GridCell, tolerance: float) -> Verdict:
    """Return (verdict, reason) of a number: reproduced, close, differs, not comparable, not run."""
    if cell.measured is None:
        return cell.absence, str(cell.not_run)
    stated = job.stated_index()
    if stated and cell.other_index:
        return "not comparable", cell.other_index
    if not stated and (why := job.not_comparable(cell.row, cell.column)):
        return "not comparable", why
    delta = abs(cell.measured - reported)
    same = "the same index; " if stated else ""
    if delta <= tolerance:
        return "reproduced", f"{same}|delta| is at most {tolerance}"
    lowest, highest, seeds = cell.lowest, cell.highest, cell.seeds or 1
    if seeds > 1 and lowest is not None and highest is not None and lowest <= reported <= highest:
        return "close", f"{same}inside the range of {seeds} seeds"
    return "differs", f"{same}|delta| is more than {tolerance}"


def _comparison(
    where: Where,
    cell: GridCell,
    other: GridCell,
    claim: str,
    tested: Tested | None,
    by_holm: Tested | None,
) -> LedgerRow:
    not_run = absence(cell, other)
    judged = comparison_verdict(claim, tested) if tested else not_run
    under_holm = comparison_verdict(claim, by_holm) if by_holm else not_run
    text = f"{cell.row} significantly {claim} {other.row}"
    row = compared(where, cell, other, tested, judged, kind="comparison", claim=text)
    gap, difference = row.reported, row.measured
    delta = None if gap is None or difference is None else difference - gap
    return replace(row, delta=delta, under_holm=under_holm[0])


def absence(cell: GridCell, other: GridCell) -> Verdict:
    """Return (verdict, reason) for two cells, if at least one has no value."""
    absent = cell if cell.measured is None else other
    return absent.absence, f"{absent.row}: {absent.not_run}"


def compared(
    where: Where,
    cell: GridCell,
    other: GridCell,
    tested: Tested | None,
    judged: Verdict,
    *,
    kind: str,
    claim: str,
) -> LedgerRow:
    """Return a ledger row on the difference cell - other of two cells: reported and measured."""
    ratio, relative = effects(cell, other) if tested else (None, None)
    row = LedgerRow(
        *where,
        kind=kind,
        claim=claim,
        reported=printed_gap(cell, other),
        measured=tested and tested.sign * tested.test.difference,
        effect_ratio=ratio,
        delta_ri=relative,
        verdict=judged[0],
        reason=judged[1],
    )
    return with_test(row, tested and tested.test)


def with_test(row: LedgerRow, test: Comparison | None) -> LedgerRow:
    """Return a ledger row with the p of a test and its agreement over seeds, if there is a test."""
    if test is None:
        return row
    return replace(
        row,
        p_adjusted=test.p_adjusted,
        p_over_seeds=test.p_over_seeds,
        seeds_agreeing=test.seeds_agreeing,
    )


def printed_gap(cell: GridCell, other: GridCell) -> float | None:
    """Return the difference of two printed numbers, rounded to 6 decimals."""
    a, b = cell.reported, other.reported
    return None if a is None or b is None else round(a - b, 6)


def effects(cell: GridCell, other: GridCell) -> tuple[float | None, float | None]:
    """Return effect ratio and delta RI, both of means: papers print no values per query."""
    a, b, ours, theirs = cell.reported, other.reported, cell.measured, other.measured
    gap = printed_gap(cell, other)
    if a is None or b is None or gap is None or ours is None or theirs is None:
        return None, None
    ratio = reproduction.effect_ratio(gap, ours - theirs)
    return ratio, reproduction.delta_ri((a, b), (ours, theirs))


def comparison_verdict(claim: str, tested: Tested) -> Verdict:
    """Return (verdict, reason): holds, these models only, inconclusive, reversed or not judged.

    `tested` is a test of the difference row - other; `claim` is above or below. The verdict is "not
    judged" if the data could not have shown the claim. It is inconclusive if the difference is not
    significant, or if ranks and means favour different rows. It is "these models only" if the
    difference is significant over queries but not over seeds, or if a side has too few trainings.
    """
    sign, test = tested
    if why := unshown(test, [(claim == "above") == (sign > 0)]):
        return not_shown(why)
    return decided(claim, tested)


def not_shown(why: str) -> Verdict:
    """Return the verdict, and the reason, of a comparison that the data could not have shown."""
    return NOT_JUDGED, f"{NOT_SHOWN}{why}"


def why_not_shown(row: LedgerRow) -> str | None:
    """Return why the data could not have shown a row of the ledger, or None."""
    _, marked, why = row.reason.partition(NOT_SHOWN)
    return why.rstrip(".") if marked else None


def decided(claim: str, tested: Tested) -> Verdict:
    """Return the verdict and the reason of a comparison, whatever the data could have shown."""
    sign, test = tested
    difference = sign * test.difference
    reason = f"p {test.p_adjusted:.4g}, difference {difference:+.4f}"
    if not test.significant:
        return "inconclusive", f"not significant ({reason})"
    if test.disagrees:
        return "inconclusive", f"{test.test} favours the row with the lower mean ({reason})"
    if test.holds_over_seeds is False:
        over = f"p over seeds {test.p_over_seeds:.4g}; {test.seeds_agreeing} seeds agree alone"
        return "these models only", f"{reason}; {over}"
    if few := of_few(test):
        return "these models only", f"{reason}; {few}"
    agrees = (difference > 0) == (claim == "above")
    return ("holds" if agrees else "reversed"), reason


def of_few(test: Weighed) -> str | None:
    """Return how many trainings a comparison of two trained rows has, if too few; else None."""
    if test.trainings is None or test.trainings >= SEEDS:
        return None
    return f"{test.trainings} training{'s' * (test.trainings > 1)} of a side, fewer than {SEEDS}"

"""Judge a paper's claims: test the comparisons of a claim together and give one verdict.

Usage: `judge(job, values, tests, tables)`. Relations and verdicts are defined in docs/verdicts.md.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from residuum import paired
from residuum.config.specs import canonical_json
from residuum.pages.bearing import Limits, Weighed, unshown, weigh
from residuum.pages.claims.entry import Between, Claim, Compared, Factor, Holding, K, Narrows, Says
from residuum.pages.claims.job import BoundClaims
from residuum.pages.entries import parts_of
from residuum.pages.grids import GridCell, Key
from residuum.pages.jobs import Side
from residuum.pages.verdicts import (
    LedgerRow,
    Tested,
    Verdict,
    comparison_verdict,
    decided,
    not_shown,
    with_test,
)
from residuum.paired import Comparison, ScoreMatrix

WORST_FIRST = ("reversed", "inconclusive", "not judged", "these models only", "holds")
BARE = ("not judged", "not run")
NO_PAIR = "its page has fewer than two points at this scale, so there is nothing to compare"
Cells = Mapping[Key, GridCell]


class Values(NamedTuple):
    """The values of a table's or figure's points, and why other points have no value."""

    scores: dict[Key, ScoreMatrix]
    not_run: dict[Key, str]  # row, and column or panel
    not_learned: dict[Key, str]


class Decision(NamedTuple):
    """A verdict and its reason, with the difference and the test of the deciding comparison."""

    verdict: str
    reason: str
    measured: float | None = None
    test: Comparison | None = None


def compare(job: BoundClaims, values: Mapping[str, Values], limits: Limits) -> list[Weighed]:
    """Test the comparisons of every claim whose rows have values, corrected within the claim.

    `values` holds the values of each table and figure by its short name. The family of a test is
    the id of its claim. `limits` tell what the data could have shown.
    """
    tests: list[Weighed] = []
    for claim in job.entry.claims:
        if claim.holds and not _absent(claim.holds, values[claim.holds.page]):
            scores = values[claim.holds.page].scores
            compared = list(claim.holds.compared(scores, axis(job, claim.holds)))
            pairs = [paired.Pair(c.a, c.b, c.column, family=claim.id) for c in compared]
            sides = {
                key: _side(scores, c, number)
                for c, pair in zip(compared, pairs, strict=True)
                for number, key in enumerate(pair.sides)
            }
            rows = paired.compare(sides, pairs, job.tests)
            adjusted = paired.adjust(rows, job.tests.correction, job.tests.alpha)
            for c, test in zip(compared, adjusted, strict=True):
                both = [_sides(job, claim.holds, c, number) for number in (0, 1)]
                tests.append(weigh(test, *both, limits, job.tests.alpha))
    return tests


def _sides(job: BoundClaims, holds: Holding, compared: Compared, number: int) -> list[Side]:
    """Return where the values of a side of a comparison come from, with those of its `less`."""
    points = [compared.sides[number], *([compared.less[number]] if compared.less else [])]
    return [side for point in points if (side := job.side(holds.page, *point))]


def axis(job: BoundClaims, holds: Holding) -> str:
    """Return the name of the axis of a claim's figure: K for rerank depths, and for tables."""
    figure = job.figures.get(holds.page)
    return figure.entry.over if figure and not figure.entry.of_curves else K


def _side(scores: Mapping[Key, ScoreMatrix], compared: Compared, number: int) -> ScoreMatrix:
    """Return the values of a side of a comparison, minus those of `less` for a gap."""
    side = scores[compared.sides[number]]
    if compared.less is None:
        return side
    less = scores[compared.less[number]]
    paired.same_queries({compared.a: side.query_ids, compared.b: less.query_ids})
    return ScoreMatrix(side.query_ids, side.values - less.values)


def judge(
    job: BoundClaims,
    values: Mapping[str, Values],
    tests: Sequence[Weighed],
    tables: Mapping[str, Cells],
) -> Iterator[LedgerRow]:
    """Yield a ledger row per claim. `tables` are tables' cells, which hold chosen depths."""
    for claim in job.entry.claims:
        family = [test for test in tests if test.family == claim.id]
        decision = _decide(job, claim, values, family, tables)
        row = LedgerRow(
            parts_of(job.id)[0],
            job.entry.printed_in,
            job.id,
            claim.id,
            claim.section,
            kind="claim",
            claim=claim.says,
            measured=decision.measured,
            verdict=decision.verdict,
            rests_on=None if decision.verdict in BARE else _rests_on(job, claim.holds, values),
            reason=f"{decision.reason.rstrip('.')}. {claim.remark}".rstrip(". "),
        )
        yield with_test(row, decision.test)


def _decide(
    job: BoundClaims,
    claim: Claim,
    values: Mapping[str, Values],
    tests: Sequence[Weighed],
    tables: Mapping[str, Cells],
) -> Decision:
    holds = claim.holds
    if holds is None:
        return Decision("not judged", str(claim.not_judged))
    if isinstance(holds, Factor):
        return _factor(holds, tables[holds.page], None if job.comparable else job.reason)
    if why := _absent(holds, values[holds.page]):
        return Decision(*why)
    compared = holds.compared(values[holds.page].scores, axis(job, holds))
    parts = list(zip(compared, tests, strict=True))
    return together(parts) if parts else Decision("not run", NO_PAIR)


def _rests_on(job: BoundClaims, holds: Holding | None, values: Mapping[str, Values]) -> str | None:
    """Return a hash of what decides a claim: its comparisons' runs and tests, or its factor's runs.

    Rows whose models did not learn are not compared, but the claim includes them.
    """
    if holds is None:
        return None
    if isinstance(holds, Factor):
        (column,) = holds.columns
        pairs = [
            [job.point(holds.page, row, column) for row in pair] for pair in holds.rows.items()
        ]
        basis: list[object] = [holds.relation, holds.between, pairs]
    else:
        drawn = dict.fromkeys(column for _, column in values[holds.page].scores)
        columns = drawn if holds.page in job.figures else holds.columns
        points = [(row, column) for row in holds.named() for column in columns]
        basis = [
            job.tests.model_dump(mode="json"),
            *(
                [c.says, *(job.point(holds.page, *p) for p in (*c.sides, *(c.less or ())))]
                for c in holds.compared(points)
            ),
        ]
    return hashlib.sha256(canonical_json(basis).encode()).hexdigest()[:12]


def _absent(holds: Holding, known: Values) -> Verdict | None:
    """Return the verdict and the reason if a row of a claim has no value in a column, else None."""
    points = [(row, column) for column in holds.columns for row in holds.named()]
    for verdict, reasons in (("not learned", known.not_learned), ("not run", known.not_run)):
        for point in points:
            if point in reasons:
                return verdict, reasons[point]
    return None


def together(parts: Sequence[tuple[Compared, Weighed]]) -> Decision:
    """Return the verdict of a claim: the worst verdict of its comparisons.

    A reversed comparison decides, since all were corrected together; then an inconclusive one, then
    one that the data could not show.
    The reason names the comparison with the largest p among those with the worst verdict. For
    reversed comparisons it names the one with the smallest p.
    """
    judged = [(*_part(compared.says, test), compared, test) for compared, test in parts]
    verdicts = [verdict for verdict, *_ in judged]
    worst = next(verdict for verdict in WORST_FIRST if verdict in verdicts)
    deciding = [part for part in judged if part[0] == worst]
    surest = sorted(deciding, key=lambda part: part[3].p_adjusted)
    _, why, compared, test = surest[0 if worst == "reversed" else -1]
    where = f"{compared.a} {compared.says} {compared.b} in {compared.column}: {why}"
    if len(judged) == 1:
        return Decision(worst, where, test.difference, test)
    agreeing = verdicts.count("holds")
    count = f"{agreeing} of {len(judged)} comparisons hold; {len(deciding)} {worst}, such as"
    first = "all hold, the weakest" if worst == "holds" else count
    return Decision(worst, f"{first} {where}", test.difference, test)


def _part(says: Says, test: Weighed) -> Verdict:
    """Return (verdict, reason) of one comparison of a claim.

    `apart` holds for a significant difference in either direction. `not below` holds unless the row
    lies significantly below the other row. `not apart` is reversed by a significant difference;
    without one it is not shown.
    """
    if says in ("above", "below"):
        return comparison_verdict(says, Tested(1, test))
    if lacking := unshown(test, [True, False] if says == "apart" else []):
        return not_shown(lacking)
    if says == "not below":
        verdict, why = decided("above", Tested(1, test))
        falls = test.significant and test.difference < 0
        return (verdict if falls else "holds"), why
    towards = "above" if test.difference > 0 else "below"
    verdict, why = decided(towards, Tested(1, test))
    return ("reversed" if says == "not apart" and verdict == "holds" else verdict), why


def _factor(holds: Factor, cells: Cells, elsewhere: str | None) -> Decision:
    """Judge the factors between rows' numbers. `elsewhere` is why they do not compare, or None."""
    (column,), (least, most) = holds.columns, holds.between
    numbers = {row: cells[row, column] for row in holds.named()}
    if absent := next((cell for cell in numbers.values() if cell.not_run), None):
        return Decision(absent.absence, str(absent.not_run))
    depths = {row: float(cell.measured or 0) for row, cell in numbers.items()}
    factors = {a: depths[a] / depths[b] for a, b in holds.rows.items()}
    shown = ", ".join(f"{a} / {holds.rows[a]} = {factor:.3g}" for a, factor in factors.items())
    if elsewhere:
        return Decision("not comparable", f"{shown} ({elsewhere.rstrip('.')})")
    inside = all(least <= factor <= most for factor in factors.values())
    reason = f"{shown}; printed {least:g} to {most:g}"
    return Decision("holds" if inside else "differs", reason)


def in_words(holds: Holding, over: str) -> str:
    """Write a claim's relation in words: `bm25 rises with K in reranked (figure1)`."""
    where = f"in {', '.join(holds.columns)} ({holds.page})"
    if isinstance(holds, Between):
        named = ((row, ", ".join(others)) for row, others in holds.rows.items())
        pairs = (f"{row} {holds.relation} {others}" for row, others in named)
        but = f" but {', '.join(holds.but)}" if holds.but else ""
        return f"{'; '.join(pairs)} {where}{but}"
    if isinstance(holds, Narrows):
        pairs = (f"{row} less {other}" for row, other in holds.rows.items())
        what = {"narrows": f"narrows with {over}", "stays": f"stays the same with {over}"}
        return f"the gap of {'; '.join(pairs)} {what[holds.relation]} {where}"
    if isinstance(holds, Factor):
        least, most = holds.between
        pairs = (f"{a} is {least:g} to {most:g} times {b}" for a, b in holds.rows.items())
        return f"{'; '.join(pairs)} {where}"
    what = {"rises": f"rises with {over}", "needs_largest": f"is highest at the largest {over}"}
    return f"{', '.join(holds.rows)} {what[holds.relation]} {where}"

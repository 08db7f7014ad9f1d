"""Judge a paper's claims: test the comparisons of a claim together and give one verdict.

Usage: `judge(job, values, tests, tables)`. Relations and verdicts are defined in docs/verdicts.md.
"""

import hashlib
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from residuum import paired
from residuum.artefacts.fidelities import ALL
from residuum.config.specs import canonical_json
from residuum.pages.bearing import Limits, Weighed, unshown, weigh
from residuum.pages.claims.entry import (
    Along,
    Between,
    Claim,
    Compared,
    Factor,
    Holding,
    Inside,
    K,
    Narrows,
    Says,
)  # fmt: skip
from residuum.pages.claims.job import BoundClaims
from residuum.pages.entries import parts_of
from residuum.pages.grids import GridCell, Key
from residuum.pages.jobs import Basis
from residuum.pages.table.job import BoundTable
from residuum.pages.verdicts import (
    NO_TEST,
    NOT_JUDGED,
    LedgerRow,
    Tested,
    Verdict,
    comparison_verdict,
    decided,
    not_shown,
    with_test,
)
from residuum.paired import Comparison, ScoreMatrix

WORST_FIRST = ("reversed", "inconclusive", NOT_JUDGED, "these models only", "holds")
NO_PAIR = "its page has fewer than two points at this scale, so there is nothing to compare"
COMPUTED = "computed, not tested"
ORDER = "the order of columns"
LENGTH = "length"  # the name of the axis of a page of dimensions
MEETS: dict[Says, Callable[[float, float], bool]] = {
    "above": operator.gt, "below": operator.lt, "apart": operator.ne, "at least": operator.ge,
    "not below": operator.ge, "not apart": operator.eq,
}  # fmt: skip
Cells = Mapping[Key, GridCell]


class Values(NamedTuple):
    """The values of a page's points, and why other points have no value.

    `scores` are in the order of the page. Of a page of dimensions they are the margins.
    """

    scores: dict[Key, ScoreMatrix]
    not_run: dict[Key, str]  # row, and column, panel or quantity
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
        if claim.holds and not _absent(job, claim.holds, values[claim.holds.page]):
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
                a, b = (_bases(job, claim.holds, c, number) for number in (0, 1))
                tests.append(weigh(test, a, b, limits, job.tests))
    return tests


def _bases(job: BoundClaims, holds: Holding, compared: Compared, number: int) -> list[Basis]:
    """Return where the values of a side of a comparison come from, with those of its `less`."""
    points = [compared.sides[number], *([compared.less[number]] if compared.less else [])]
    return [basis for point in points if (basis := job.basis(holds.page, *point))]


def axis(job: BoundClaims, holds: Holding) -> str:
    """Return the name of the axis of a claim's page: K for rerank depths."""
    if holds.page in job.dimensions:
        return LENGTH
    if holds.page in job.tables:
        return ORDER
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
    """Yield a ledger row per claim.

    `tables` are the cells of tables, which hold chosen depths, and of pages of dimensions.
    """
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
            rests_on=None if decision.verdict == "not run" else _rests_on(job, claim.holds, values),
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
        return Decision(NO_TEST, str(claim.no_test))
    if isinstance(holds, Factor):
        return _factor(holds, tables[holds.page], job.tables[holds.page])
    if why := _absent(job, holds, values[holds.page]):
        return Decision(*why)
    if not job.tested(holds):
        return _computed(holds, tables[holds.page])
    compared = holds.compared(values[holds.page].scores, axis(job, holds))
    parts = list(zip(compared, tests, strict=True))
    if not parts:
        return Decision("not run", NO_PAIR)
    decision, lacking = together(parts), ", ".join(job.unbound(holds))
    without = f"{decision.reason}; without {lacking}, to which scale {job.scale} binds nothing"
    return decision._replace(reason=without) if lacking else decision


def _rests_on(job: BoundClaims, holds: Holding | None, values: Mapping[str, Values]) -> str | None:
    """Return a hash of what decides a claim: its comparisons' runs and tests, or its factor's runs.

    Rows whose models did not learn are not compared, but the claim includes them.
    """
    if holds is None:
        return None
    if page := job.dimensions.get(holds.page):
        folders = page.folders()
        where = [folders.get(row, "") for row in holds.named()]
        made_of: list[object] = [holds.model_dump(mode="json"), where]
    elif isinstance(holds, Factor):
        (column,) = holds.columns
        pairs = [
            [job.point(holds.page, row, column) for row in pair] for pair in holds.rows.items()
        ]
        made_of = [holds.relation, holds.between, pairs]
    else:
        drawn = dict.fromkeys(column for _, column in values[holds.page].scores)
        columns = drawn if holds.page in job.figures else holds.columns
        points = [(row, column) for row in holds.named() for column in columns]
        made_of = [
            job.tests.model_dump(mode="json"),
            *(
                [c.says, *(job.point(holds.page, *p) for p in (*c.sides, *(c.less or ())))]
                for c in holds.compared(points)
            ),
        ]
    return hashlib.sha256(canonical_json(made_of).encode()).hexdigest()[:12]


def _absent(job: BoundClaims, holds: Holding, known: Values) -> Verdict | None:
    """Return the verdict and the reason if a claim cannot be judged, else None.

    A row has no value in a column, or columns of a table that are compared hold other queries.
    """
    columns = [name for name in holds.columns if name not in job.unbound(holds)]
    points = [(row, column) for column in columns for row in holds.named()]
    for verdict, reasons in (("not learned", known.not_learned), ("not run", known.not_run)):
        for point in points:
            if point in reasons:
                return verdict, reasons[point]
    if holds.page in job.tables and isinstance(holds, Along | Narrows):
        row, queries = holds.named()[0], known.scores
        ids = {column: {*queries[row, column].query_ids} for column in columns}
        for column in columns[1:]:
            if ids[column] != ids[columns[0]]:
                return NO_TEST, f"{columns[0]} and {column} hold different queries"
    return None


def together(parts: Sequence[tuple[Compared, Weighed]]) -> Decision:
    """Return the verdict of a claim: the worst verdict of its comparisons.

    A reversed comparison decides, since all were corrected together. An inconclusive one comes
    next, then one that the data could not show. The reason names the comparison with the largest p
    among those with the worst verdict. For reversed comparisons it names the one with the smallest
    p.
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
    without one it is not shown. `at least` is shown if the row lies significantly above.
    """
    if says in ("above", "below", "at least"):
        return comparison_verdict("below" if says == "below" else "above", Tested(1, test))
    if lacking := unshown(test, [True, False] if says == "apart" else []):
        return not_shown(lacking)
    if says == "not below":
        verdict, why = decided("above", Tested(1, test))
        falls = test.significant and test.difference < 0
        return (verdict if falls else "holds"), why
    towards = "above" if test.difference > 0 else "below"
    verdict, why = decided(towards, Tested(1, test))
    return ("reversed" if says == "not apart" and verdict == "holds" else verdict), why


def _factor(holds: Factor, cells: Cells, table: BoundTable) -> Decision:
    """Judge the factors between rows' numbers of a table."""
    (column,), (least, most) = holds.columns, holds.between
    numbers = {row: cells[row, column] for row in holds.named()}
    if absent := next((cell for cell in numbers.values() if cell.not_run), None):
        return Decision(absent.absence, str(absent.not_run))
    depths = {row: float(cell.measured or 0) for row, cell in numbers.items()}
    factors = {a: depths[a] / depths[b] for a, b in holds.rows.items()}
    shown = ", ".join(f"{a} / {holds.rows[a]} = {factor:.3g}" for a, factor in factors.items())
    whys = (table.not_comparable(row, column) for row in holds.named())
    if why := next(filter(None, whys), None):
        return Decision("not comparable", f"{shown} ({why.rstrip('.')})")
    inside = all(least <= factor <= most for factor in factors.values())
    reason = f"{shown}; printed {least:g} to {most:g}"
    return Decision("holds" if inside else "differs", reason)


def _computed(holds: Holding, cells: Cells) -> Decision:
    """Judge a claim by the numbers of a page of dimensions, which no test compares."""
    points = [(row, at) for row, at in cells if at.partition("/")[2] != ALL]
    compared = list(holds.compared(points, LENGTH))
    read = [point for part in compared for point in part.sides]
    if isinstance(holds, Inside):
        read = [(row, column) for row in holds.named() for column in holds.columns]
    if not read:
        return Decision("not run", NO_PAIR)
    numbers = {point: cells[point].measured for point in read}
    if absent := next((cells[point] for point in read if numbers[point] is None), None):
        return Decision("not run", f"{absent.row}, {absent.column}: {absent.not_run}")
    shown = ", ".join(f"{row} {column} {number:.4g}" for (row, column), number in numbers.items())
    if isinstance(holds, Inside):
        least, most = holds.between
        agrees = all(least <= float(number or 0) <= most for number in numbers.values())
        reason = f"{COMPUTED}: {shown}; asked for: {least:g} to {most:g}"
        return Decision("holds" if agrees else "differs", reason)
    sides = ([float(numbers[point] or 0) for point in part.sides] for part in compared)
    judged = zip(compared, sides, strict=True)
    unmet = [(part, pair) for part, pair in judged if not MEETS[part.says](*pair)]
    if unmet and isinstance(holds, Along) and all(one == other for _, (one, other) in unmet):
        part, (number, _) = unmet[0]
        both = " and ".join(" ".join(point) for point in part.sides)
        why = f"{both} are both {number:.4g}, and smaller steps were not tried"
        return Decision(*not_shown(f"{why}. {COMPUTED}: {shown}"))
    return Decision("differs" if unmet else "holds", f"{COMPUTED}: {shown}")


def in_words(holds: Holding, over: str) -> str:
    """Write a claim's relation in words: `bm25 rises with K in reranked (figure1)`."""
    where = f"in {', '.join(holds.columns)} ({holds.page})"
    if isinstance(holds, Between):
        named = ((row, ", ".join(others)) for row, others in holds.rows.items())
        pairs = (f"{row} {holds.relation} {others}" for row, others in named)
        but = f" but {', '.join(holds.but)}" if holds.but else ""
        return f"{'; '.join(pairs)} {where}{but}"
    if isinstance(holds, Narrows):
        pairs = (f"{row} less {', '.join(others)}" for row, others in holds.rows.items())
        what = {
            "narrows": f"narrows with {over}",
            "widens": f"widens with {over}",
            "widest": "is widest at the last point",
            "stays": f"stays the same with {over}",
        }
        return f"the gap of {'; '.join(pairs)} {what[holds.relation]} {where}"
    if isinstance(holds, Factor):
        least, most = holds.between
        pairs = (f"{a} is {least:g} to {most:g} times {b}" for a, b in holds.rows.items())
        return f"{'; '.join(pairs)} {where}"
    if isinstance(holds, Inside):
        least, most = holds.between
        return f"{', '.join(holds.rows)} from {least:g} to {most:g} {where}"
    what = {
        "rises": f"rises with {over}",
        "falls": f"falls with {over}",
        "keeps": f"does not fall with {over}",
        "needs_largest": f"is highest at the largest {over}",
    }
    return f"{', '.join(holds.rows)} {what[holds.relation]} {where}"

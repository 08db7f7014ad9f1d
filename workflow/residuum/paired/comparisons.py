"""Every requested comparison of systems over the same queries, corrected within its family.

Usage: `rows = compare(scores, [Pair("bm25", "clear", "dev-rr")], tests)`, then `adjust(rows,
"holm", alpha=0.05)`. Sources of the corrections: Bonferroni; Holm (1979).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.tests import Tests
from residuum.paired import classical, resampling
from residuum.paired.resampling import Contrasts
from residuum.paired.strata import Strata

Key = tuple[str, str]  # (system, column)
Value = TypeVar("Value", float, float | None)
Row = TypeVar("Row", bound="Comparison")


class ScoreMatrix(NamedTuple):
    """A system's values by one measure: a row per query_id, a column per run (seed).

    `collections` names the collection of each query where each collection counts alike.
    """

    query_ids: list[str]
    values: np.ndarray  # float64 of shape (queries, runs)
    collections: list[str] | None = None

    def means(self) -> list[float]:
        """Return the mean of each run over the queries, or over the means of the collections."""
        weighted = self.values
        if self.collections:
            weighted = Strata(self.collections).weights[:, None] * weighted
        return [float(value) for value in weighted.mean(axis=0)]


class Pair(NamedTuple):
    """A comparison to make, as a - b; corrections count the comparisons of a family."""

    a: str
    b: str
    column: str = ""
    measure: str = ""
    family: str = ""

    @property
    def sides(self) -> tuple[Key, Key]:
        """Return the keys of the scores of a and of b."""
        return (self.a, self.column), (self.b, self.column)


@dataclass(frozen=True)
class Comparison:
    """One tested difference: docs/statistics.md says what each column means."""

    column: str
    measure: str
    a: str
    b: str
    n: int
    seeds: int
    mean_a: float
    mean_b: float
    difference: float
    ci_low: float | None
    ci_high: float | None
    boot_low: float | None
    boot_high: float | None
    seed_low: float | None
    seed_high: float | None
    effect: float | None
    wins: int
    ties: int
    losses: int
    min_detectable: float | None
    p: float
    p_error: float
    p_adjusted: float
    significant: bool
    direction: int
    p_mixed_effects: float | None
    p_over_seeds: float | None
    holds_over_seeds: bool | None
    seeds_agreeing: str | None
    seeds_near_alpha: int | None
    method: str
    test: str
    correction: str
    family: str

    @property
    def disagrees(self) -> bool:
        """Say whether the test favours one system and the means the other, as ranks may."""
        return self.significant and self.direction * self.difference <= 0

    @property
    def beats(self) -> tuple[str, str] | None:
        """Return (better system, worse system), if the test is significant and the means agree."""
        if not self.significant or self.disagrees:
            return None
        return (self.a, self.b) if self.direction > 0 else (self.b, self.a)


def same_queries(sides: Mapping[str, Collection[str]], where: str = "") -> None:
    """Raise ResiduumError if the query_ids of two sides differ, and name both sides."""
    first = next(iter(sides), "")
    for name, ids in sides.items():
        if odd := sorted(set(ids) ^ set(sides[first])):
            fault = f"hold different queries ({len(odd)} of them, such as {odd[0]})"
            raise ResiduumError(f"{where}{first} and {name} {fault}")


def compare(
    scores: Mapping[Key, ScoreMatrix], pairs: Sequence[Pair], tests: Tests, workers: int = 1
) -> list[Comparison]:
    """Return a row per pair, in order; p_adjusted is p until `adjust` corrects it.

    Columns over the same queries share the signs of a permutation test, and one matrix product per
    block of signs. A system with seeds counts by each query's mean over seeds. Raises ResiduumError
    if a pair's queries differ, if it has none, or if a value is not finite.
    """
    keys = dict.fromkeys(key for pair in pairs for key in pair.sides)
    ordered = {key: _ordered(key, scores[key]) for key in keys}
    groups: dict[tuple[tuple[str, ...], ...], list[Pair]] = {}
    for pair in pairs:
        (a, _, strata), (b, _, _) = (ordered[key] for key in pair.sides)
        same_queries({pair.a: a, pair.b: b})
        if not a:
            raise ResiduumError(f"{pair.a} and {pair.b} hold no queries: nothing to compare")
        groups.setdefault((a, strata), []).append(pair)
    rows: dict[Pair, Comparison] = {}
    for (_, names), members in groups.items():
        runs = {key: ordered[key][1] for pair in members for key in pair.sides}
        made = _rows(runs, members, tests, workers, Strata(names) if names else None)
        rows |= zip(members, made, strict=True)
    return [rows[pair] for pair in pairs]


def _ordered(key: Key, matrix: ScoreMatrix) -> tuple[tuple[str, ...], np.ndarray, tuple[str, ...]]:
    """Return sorted query_ids, a system's values (runs, queries) and collections in their order.

    Without collections that count alike, none is named.
    """
    system, column = key
    ids = matrix.query_ids
    if duplicates := [query_id for query_id, count in Counter(ids).items() if count > 1]:
        raise ResiduumError(f"{system}: duplicate query {duplicates[0]}")
    order = sorted(range(len(ids)), key=ids.__getitem__)
    values = np.asarray(matrix.values, dtype=np.float64)[order]
    for row, run in np.argwhere(~np.isfinite(values)):
        where = f"{column} of {system}" if column else system
        fault = f"has the value {values[row, run]}, which is not finite"
        raise ResiduumError(f"{where}: query {ids[order[row]]} {fault}")
    names = tuple(matrix.collections[number] for number in order) if matrix.collections else ()
    return tuple(ids[number] for number in order), np.ascontiguousarray(values.T), names


def _rows(
    runs: Mapping[Key, np.ndarray],
    pairs: list[Pair],
    tests: Tests,
    workers: int,
    strata: Strata | None,
) -> Iterator[Comparison]:
    """Yield a row per pair over the same queries; `runs` are each side's values (runs, queries)."""
    if strata:
        runs = {key: strata.weights * values for key, values in runs.items()}
    numbers = {key: number for number, key in enumerate(runs)}
    sides = [(numbers[a], numbers[b]) for a, b in (pair.sides for pair in pairs)]
    means = Contrasts(np.stack([values.mean(axis=0) for values in runs.values()]), sides)
    starts = dict(zip(runs, np.cumsum([0, *map(len, runs.values())]).tolist(), strict=False))
    alone = [
        (starts[a] + i, starts[b] + j)
        for a, b in (pair.sides for pair in pairs)
        for i, j in paired_runs(len(runs[a]), len(runs[b]))
    ]
    by_seed = iter(test(Contrasts(np.concatenate(list(runs.values())), alone), tests, workers))
    intervals = resampling.bootstrap(means, tests.bootstrap, tests.seed, workers, strata)
    for number, outcome in enumerate(test(means, tests, workers)):
        a, b = (runs[key] for key in pairs[number].sides)
        d = means.difference(number)
        level = strata.levelled(d) if strata else d
        known = strata is None or strata.tell_variance
        sd = classical.deviation(level) if known else None
        ci_low, ci_high = classical.t_interval(level) if known else (None, None)
        mixed, agreeing, near = _over_seeds(a, b, by_seed, tests.alpha, outcome.direction, strata)
        yield Comparison(
            **pairs[number]._asdict(),
            **outcome._asdict(),
            n=len(d),
            seeds=max(len(a), len(b)),
            mean_a=float(a.mean()),
            mean_b=float(b.mean()),
            difference=float(d.mean()),
            ci_low=digits(ci_low),
            ci_high=digits(ci_high),
            boot_low=intervals[number][0],
            boot_high=intervals[number][1],
            seed_low=mixed and digits(mixed.low),
            seed_high=mixed and digits(mixed.high),
            effect=None if sd is None else float(d.mean()) / sd,
            wins=int((d > 0).sum()),
            ties=int((d == 0).sum()),
            losses=int((d < 0).sum()),
            min_detectable=digits(classical.min_detectable(level, tests.alpha)) if known else None,
            p_adjusted=outcome.p,
            significant=outcome.p < tests.alpha,
            p_mixed_effects=mixed and digits(mixed.p),
            p_over_seeds=None,
            holds_over_seeds=None,
            seeds_agreeing=agreeing,
            seeds_near_alpha=near,
            test=tests.test,
            correction=tests.correction,
        )


def paired_runs(runs_a: int, runs_b: int) -> list[tuple[int, int]]:
    """Return which run of a meets which run of b, by order; an unseeded system meets all runs.

    The list is empty if both have one seed, or if both have several seeds but unequally many.
    """
    several = max(runs_a, runs_b)
    if several == 1 or min(runs_a, runs_b) not in (1, several):
        return []
    return [(i % runs_a, i % runs_b) for i in range(several)]


def _over_seeds(
    a: np.ndarray,
    b: np.ndarray,
    by_seed: Iterator[classical.Outcome],
    alpha: float,
    whole: int,
    strata: Strata | None,
) -> tuple[classical.OverSeeds | None, str | None, int | None]:
    """Return the test over seeds, how many seeds agree, and how many are near alpha.

    A seed agrees if the same test on it alone is significant in the direction `whole`; `2/3` means
    two of three. A seed is near alpha if other resamples could decide otherwise.
    """
    met = paired_runs(len(a), len(b))
    if not met:
        return None, None, None
    d = np.stack([a[i] - b[j] for i, j in met], axis=1)
    known = strata is None or strata.tell_variance
    d = strata.levelled(d) if strata else d
    outcomes = [next(by_seed) for _ in met]
    agreeing = sum(one.p < alpha and one.direction == whole for one in outcomes)
    near = sum(near_alpha(one.p, one.p_error, alpha) for one in outcomes)
    return classical.over_seeds(d) if known and len(d) > 1 else None, f"{agreeing}/{len(met)}", near


def near_alpha(p: float, p_error: float, alpha: float) -> bool:
    """Say whether p was drawn and lies within two of its standard errors of alpha."""
    return p_error > 0 and abs(p - alpha) <= 2 * p_error


def digits(value: Value) -> Value:
    """Round to twelve significant digits, on which mathematical libraries agree."""
    return None if value is None else float(f"{value:.12g}")


CLASSICAL: dict[str, Callable[[np.ndarray], classical.Outcome]] = {
    "t-test": classical.t_test,
    "wilcoxon": classical.wilcoxon,
}  # tests that resample nothing


def test(contrasts: Contrasts, tests: Tests, workers: int = 1) -> list[classical.Outcome]:
    """Return the outcome of every contrast by the test that `tests` names."""
    if tests.test == "permutation":
        return resampling.permutation(contrasts, tests.resamples, tests.seed, workers)
    one = CLASSICAL[tests.test]
    outcomes = (one(contrasts.difference(number)) for number in range(len(contrasts.pairs)))
    return [outcome._replace(p=digits(outcome.p)) for outcome in outcomes]


def adjust(rows: Sequence[Row], correction: str, alpha: float) -> list[Row]:
    """Return the rows in their order, with p corrected together within each family.

    For rows with seeds, the larger of p and the p over seeds is corrected too. It decides whether a
    difference holds over queries and seeds.
    """
    over_queries = _corrected(rows, [row.p for row in rows], correction)
    largest = [max(row.p, row.p_mixed_effects or 0.0) for row in rows]
    over_seeds = _corrected(rows, largest, correction)
    adjusted = []
    for row, p, q in zip(rows, over_queries, over_seeds, strict=True):
        made = replace(row, p_adjusted=p, significant=p < alpha)
        if row.p_mixed_effects is not None:
            made = replace(made, p_over_seeds=q, holds_over_seeds=q < alpha)
        adjusted.append(made)
    return adjusted


def _corrected(rows: Sequence[Comparison], p: list[float], correction: str) -> list[float]:
    """Correct p together within each family; return the values in the order of rows."""
    families: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        families.setdefault(row.family, []).append(number)
    corrected = list(p)
    for numbers in families.values():
        values = CORRECTIONS[correction]([p[number] for number in numbers])
        for number, value in zip(numbers, values, strict=True):
            corrected[number] = value
    return corrected


def bonferroni(p: list[float]) -> list[float]:
    """Multiply each p by the number of comparisons, up to 1."""
    return [min(1.0, value * len(p)) for value in p]


def holm(p: list[float]) -> list[float]:
    """Return Holm's step-down p: the i-th smallest of m times (m - i + 1), never decreasing."""
    adjusted, running = [0.0] * len(p), 0.0
    for position, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        running = max(running, min(1.0, p[i] * (len(p) - position)))
        adjusted[i] = running
    return adjusted


Correct = Callable[[list[float]], list[float]]
CORRECTIONS: dict[str, Correct] = {"none": list, "bonferroni": bonferroni, "holm": holm}

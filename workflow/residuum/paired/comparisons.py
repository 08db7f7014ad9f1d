"""Every requested comparison of systems over the same queries: one matrix of values, a row each.

Usage: `compare(scores, [Pair("bm25", "clear", "dev-rr")], tests)`.
Must not know tables, papers or what a family stands for.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from residuum.core import schema
from residuum.core.errors import ResiduumError
from residuum.paired import classical, effects, flips, seeds
from residuum.paired.contrasts import Contrasts, Outcome, ScoreMatrix, same_queries


class Pair(NamedTuple):
    """A comparison to make, as a - b; corrections count the comparisons of a family."""

    a: str
    b: str
    column: str = ""
    measure: str = ""
    family: str = ""


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
    effect: float | None
    wins: int
    ties: int
    losses: int
    min_detectable: float | None
    p: float
    p_error: float
    p_adjusted: float
    significant: bool
    p_mixed_effects: float | None
    seeds_agreeing: str | None
    method: str
    test: str
    correction: str
    family: str

    @property
    def ordered(self) -> tuple[str, str]:
        """Return (better system, worse system) by the means."""
        return (self.a, self.b) if self.difference > 0 else (self.b, self.a)


Key = tuple[str, str]  # (system, column)


def compare(
    scores: Mapping[Key, ScoreMatrix],
    pairs: Sequence[Pair],
    tests: schema.Tests,
    workers: int = 1,
) -> list[Comparison]:
    """Return a row per pair, in order; p_adjusted is p until `adjust` corrects it.

    Columns over the same queries share the signs of a permutation test, and one matrix product
    per block of them. A system with seeds counts per query by their mean. Raises ResiduumError
    for different queries of a pair, none at all, or a value that is not finite.
    """
    groups: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(_queries(scores, pair), []).append(pair)
    rows: dict[Pair, Comparison] = {}
    for queries, members in groups.items():
        group = _Group(scores, queries, members)
        rows |= zip(members, group.rows(tests, workers), strict=True)
    return [rows[pair] for pair in pairs]


def _queries(scores: Mapping[Key, ScoreMatrix], pair: Pair) -> tuple[str, ...]:
    """Return the query_ids that both sides of a comparison hold, sorted."""
    sides = {system: scores[system, pair.column].query_ids for system in (pair.a, pair.b)}
    for system, query_ids in sides.items():
        if repeated := [q for q, count in Counter(query_ids).items() if count > 1]:
            raise ResiduumError(f"{system}: duplicate query {repeated[0]}")
    same_queries(sides)
    if not sides[pair.a]:
        raise ResiduumError(f"{pair.a} and {pair.b} hold no queries: there is nothing to compare")
    return tuple(sorted(sides[pair.a]))


class _Group:
    """Comparisons over the same queries: their sides as rows of a matrix."""

    def __init__(
        self, scores: Mapping[Key, ScoreMatrix], queries: tuple[str, ...], pairs: list[Pair]
    ) -> None:
        self.queries, self.pairs = queries, pairs
        keys = dict.fromkeys((s, pair.column) for pair in pairs for s in (pair.a, pair.b))
        self.runs = {key: _ordered(key, scores[key], queries) for key in keys}
        self.means = np.stack([runs.mean(axis=0) for runs in self.runs.values()])

    def rows(self, tests: schema.Tests, workers: int) -> Iterator[Comparison]:
        """Yield a row per comparison."""
        numbers = {key: number for number, key in enumerate(self.runs)}
        sides = [(numbers[p.a, p.column], numbers[p.b, p.column]) for p in self.pairs]
        contrasts = Contrasts(self.means, sides)
        intervals = effects.bootstrap(contrasts, tests.bootstrap, tests.seed, workers)
        outcomes = iter(test(self._over_seeds(sides), tests, workers))
        main = [next(outcomes) for _ in self.pairs]
        for number, pair in enumerate(self.pairs):
            p, p_error, method = main[number]
            p_mixed_effects, seeds_agreeing = self._seeds(pair, outcomes, tests.alpha)
            a, b = self._sides(pair)
            low, high = intervals[number]
            yield Comparison(
                **pair._asdict(),
                **vars(effects.describe(contrasts.difference(number), tests.alpha)),
                n=len(self.queries),
                seeds=max(len(a), len(b)),
                mean_a=float(a.mean()),
                mean_b=float(b.mean()),
                boot_low=low,
                boot_high=high,
                p=p,
                p_error=p_error,
                p_adjusted=p,
                significant=p < tests.alpha,
                p_mixed_effects=p_mixed_effects,
                seeds_agreeing=seeds_agreeing,
                method=method,
                test=tests.test,
                correction=tests.correction,
            )

    def _over_seeds(self, sides: list[tuple[int, int]]) -> Contrasts:
        """Return the comparisons of the means, and after them those seed by seed."""
        starts, rows = {}, [self.means]
        for key, runs in self.runs.items():
            starts[key] = sum(len(part) for part in rows)
            rows.append(runs)
        alone = [
            (starts[pair.a, pair.column] + i, starts[pair.b, pair.column] + j)
            for pair in self.pairs
            for i, j in self._paired_runs(pair)
        ]
        return Contrasts(np.concatenate(rows), [*sides, *alone])

    def _sides(self, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
        return self.runs[pair.a, pair.column], self.runs[pair.b, pair.column]

    def _paired_runs(self, pair: Pair) -> list[tuple[int, int]]:
        return seeds.paired_runs(*map(len, self._sides(pair)))

    def _seeds(
        self, pair: Pair, outcomes: Iterator[Outcome], alpha: float
    ) -> tuple[float | None, str | None]:
        """Return p over seeds, and in how many seeds the same test alone agrees: `2/3`."""
        runs = self._paired_runs(pair)
        if not runs:
            return None, None
        a, b = self._sides(pair)
        d = np.stack([a[i] - b[j] for i, j in runs], axis=1)
        same = np.sign(d.mean(axis=0)) == np.sign(d.mean())
        alone = [next(outcomes) for _ in runs]
        agreeing = sum(bool(s) and o.p < alpha for s, o in zip(same, alone, strict=True))
        p = seeds.p_mixed_effects(d) if len(self.queries) > 1 else None
        return p, f"{agreeing}/{len(runs)}"


def _ordered(key: Key, matrix: ScoreMatrix, queries: tuple[str, ...]) -> np.ndarray:
    """Return a system's values as (runs, queries) in the order of `queries`, all of them finite."""
    rows = {query_id: row for row, query_id in enumerate(matrix.query_ids)}
    values = np.asarray(matrix.values, dtype=np.float64)[[rows[q] for q in queries]]
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        where = " of ".join(filter(None, reversed(key)))
        value = values[tuple(wrong[0])]
        raise ResiduumError(
            f"{where}: query {queries[wrong[0][0]]} has the value {value}, which is not finite"
        )
    return np.ascontiguousarray(values.T)


def test(contrasts: Contrasts, tests: schema.Tests, workers: int = 1) -> list[Outcome]:
    """Test every contrast as `tests` says."""
    if tests.test == "permutation":
        return flips.permutation(contrasts, tests.resamples, tests.seed, workers)
    one = {"t-test": classical.t_test, "wilcoxon": classical.wilcoxon}[tests.test]
    return [one(contrasts.difference(number)) for number in range(len(contrasts.pairs))]

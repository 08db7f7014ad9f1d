"""Every requested comparison of systems over the same queries: one matrix of values, a row each.

Usage: `compare(scores, [Pair("bm25", "clear", "dev-rr")], tests)`.
Must not know tables, papers or what a family stands for.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.papers import Tests
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
    tests: Tests,
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
        rows |= zip(members, _rows(scores, queries, members, tests, workers), strict=True)
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


def _rows(
    scores: Mapping[Key, ScoreMatrix],
    queries: tuple[str, ...],
    pairs: list[Pair],
    tests: Tests,
    workers: int,
) -> Iterator[Comparison]:
    """Yield a row per comparison over the same queries: of means, and beside them of each seed."""
    keys = list(dict.fromkeys((s, pair.column) for pair in pairs for s in (pair.a, pair.b)))
    runs = [_ordered(key, scores[key], queries) for key in keys]
    sides = [(keys.index((p.a, p.column)), keys.index((p.b, p.column))) for p in pairs]
    means = Contrasts(np.stack([each.mean(axis=0) for each in runs]), sides)
    intervals = effects.bootstrap(means, tests.bootstrap, tests.seed, workers)
    starts = np.cumsum([0, *map(len, runs)]).tolist()
    met = [seeds.paired_runs(len(runs[a]), len(runs[b])) for a, b in sides]
    alone = [
        (starts[a] + i, starts[b] + j)
        for (a, b), own in zip(sides, met, strict=True)
        for i, j in own
    ]
    outcomes = test(means, tests, workers)
    by_seed = iter(test(Contrasts(np.concatenate(runs), alone), tests, workers))
    for number, pair in enumerate(pairs):
        a, b = (runs[side] for side in sides[number])
        p_mixed_effects, agreeing = _over_seeds(a, b, met[number], by_seed, tests.alpha)
        yield Comparison(
            **pair._asdict(),
            **asdict(effects.describe(means.difference(number), tests.alpha)),
            **outcomes[number]._asdict(),
            n=len(queries),
            seeds=max(len(a), len(b)),
            mean_a=float(a.mean()),
            mean_b=float(b.mean()),
            boot_low=intervals[number][0],
            boot_high=intervals[number][1],
            p_adjusted=outcomes[number].p,
            significant=outcomes[number].p < tests.alpha,
            p_mixed_effects=p_mixed_effects,
            seeds_agreeing=agreeing,
            test=tests.test,
            correction=tests.correction,
        )


def _over_seeds(
    a: np.ndarray,
    b: np.ndarray,
    met: list[tuple[int, int]],
    by_seed: Iterator[Outcome],
    alpha: float,
) -> tuple[float | None, str | None]:
    """Return p over seeds, and in how many seeds the same test alone agrees: `2/3`."""
    if not met:
        return None, None
    d = np.stack([a[i] - b[j] for i, j in met], axis=1)
    same = np.sign(d.mean(axis=0)) == np.sign(d.mean())
    significant = [next(by_seed).p < alpha for _ in met]
    p = seeds.p_mixed_effects(d) if len(d) > 1 else None
    return p, f"{int((same & significant).sum())}/{len(met)}"


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


def test(contrasts: Contrasts, tests: Tests, workers: int = 1) -> list[Outcome]:
    """Test every contrast as `tests` says."""
    if tests.test == "permutation":
        return flips.permutation(contrasts, tests.resamples, tests.seed, workers)
    one = {"t-test": classical.t_test, "wilcoxon": classical.wilcoxon}[tests.test]
    return [one(contrasts.difference(number)) for number in range(len(contrasts.pairs))]

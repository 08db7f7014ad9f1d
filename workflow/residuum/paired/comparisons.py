"""Every wanted comparison of cells over the same queries: one matrix of values, one row each.

Usage: `compare_all(cells, [Wanted("dev-rr", "bm25", "clear")], tests, seed=1)`.
Must not know tables, papers or families.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from residuum.core import schema
from residuum.core.cells import Cell
from residuum.core.errors import ResiduumError
from residuum.paired import classical, effects, flips, seeds
from residuum.paired.contrasts import Contrasts, Outcome


class Wanted(NamedTuple):
    """A comparison to make: in which column, and which two systems, as a - b."""

    column: str
    a: str
    b: str


Key = tuple[str, str]  # (system, column)


def compare(
    cells: Mapping[str, Cell],
    pairs: Sequence[tuple[str, str]],
    tests: schema.Tests,
    seed: int,
    workers: int = 1,
) -> list[dict[str, Any]]:
    """Compare pairs of systems by one measure: a row per pair, as `compare_all` without column."""
    keyed = {(system, ""): cell for system, cell in cells.items()}
    rows = compare_all(keyed, [Wanted("", a, b) for a, b in pairs], tests, seed, workers)
    return [{key: value for key, value in row.items() if key != "column"} for row in rows]


def compare_all(
    cells: Mapping[Key, Cell],
    wanted: Sequence[Wanted],
    tests: schema.Tests,
    seed: int,
    workers: int = 1,
) -> list[dict[str, Any]]:
    """Return a row per wanted comparison, in order: column, a, b, n, means, effects, p, p_seeds.

    Columns over the same queries share the signs of a permutation test, and one matrix product
    per block of them. A system with seeds counts per query by their mean. Raises ResiduumError
    for different queries of a pair, none at all, or a value that is no number.
    """
    groups: dict[tuple[str, ...], list[Wanted]] = {}
    for one in wanted:
        groups.setdefault(_queries(cells, one), []).append(one)
    rows = {}
    for queries, members in groups.items():
        group = _Group(cells, queries, members)
        found = zip(members, group.rows(tests, seed, workers), strict=True)
        rows.update(found)
    return [rows[one] for one in wanted]


def _queries(cells: Mapping[Key, Cell], one: Wanted) -> tuple[str, ...]:
    """Return the query_ids that both sides of a comparison hold, sorted."""
    a, b = (_once(system, cells[system, one.column].query_ids) for system in (one.a, one.b))
    odd = sorted(set(a) ^ set(b))
    if odd:
        raise ResiduumError(
            f"{one.a} and {one.b} hold different queries ({len(odd)} of them, such as {odd[0]})"
        )
    if not a:
        raise ResiduumError(f"{one.a} and {one.b} hold no queries: there is nothing to compare")
    return tuple(sorted(a))


def _once(system: str, query_ids: list[str]) -> list[str]:
    if len(set(query_ids)) < len(query_ids):
        twice = next(q for q, count in Counter(query_ids).items() if count > 1)
        raise ResiduumError(f"{system}: query {twice} stands twice")
    return query_ids


class _Group:
    """Comparisons over the same queries: their sides as rows of a matrix."""

    def __init__(
        self, cells: Mapping[Key, Cell], queries: tuple[str, ...], wanted: list[Wanted]
    ) -> None:
        self.cells, self.queries, self.wanted = cells, queries, wanted
        keys = dict.fromkeys((s, w.column) for w in wanted for s in (w.a, w.b))
        self.runs = {key: _ordered(key, cells[key], queries) for key in keys}
        self.sides = {key: number for number, key in enumerate(keys)}
        self.means = np.stack([runs.mean(axis=0) for runs in self.runs.values()])

    def rows(self, tests: schema.Tests, seed: int, workers: int) -> Iterator[dict[str, Any]]:
        """Yield a row per comparison."""
        pairs = [(self.sides[w.a, w.column], self.sides[w.b, w.column]) for w in self.wanted]
        contrasts = Contrasts(self.means, pairs)
        intervals = effects.bootstrap(contrasts, tests.bootstrap, seed, workers)
        by_seed = self._over_seeds(pairs)
        outcomes = iter(test(by_seed, tests, seed, workers))
        main = [next(outcomes) for _ in self.wanted]
        for number, one in enumerate(self.wanted):
            met = self._met(one)
            d = contrasts.difference(number)
            alone = [next(outcomes) for _ in met]
            yield {
                **self._means(one),
                **effects.describe(d, tests.alpha),
                **dict(zip(("boot_low", "boot_high"), intervals[number], strict=True)),
                "p": main[number].p,
                "p_error": main[number].error,
                "method": main[number].method,
                **self._seeds(one, met, alone, tests.alpha),
            }

    def _over_seeds(self, pairs: list[tuple[int, int]]) -> Contrasts:
        """Return the comparisons of the means, and after them those seed by seed."""
        starts, rows = {}, [self.means]
        for key, runs in self.runs.items():
            starts[key] = sum(len(part) for part in rows)
            rows.append(runs)
        alone = [
            (starts[one.a, one.column] + i, starts[one.b, one.column] + j)
            for one in self.wanted
            for i, j in self._met(one)
        ]
        return Contrasts(np.concatenate(rows), [*pairs, *alone])

    def _met(self, one: Wanted) -> list[tuple[int, int]]:
        return seeds.paired_runs(self.cells[one.a, one.column], self.cells[one.b, one.column])

    def _means(self, one: Wanted) -> dict[str, Any]:
        a, b = ((system, one.column) for system in (one.a, one.b))
        return {
            "column": one.column,
            "a": one.a,
            "b": one.b,
            "n": len(self.queries),
            "seeds": max(len(self.runs[a]), len(self.runs[b])),
            "mean_a": float(self.runs[a].mean()),
            "mean_b": float(self.runs[b].mean()),
        }

    def _seeds(
        self, one: Wanted, met: list[tuple[int, int]], alone: list[Outcome], alpha: float
    ) -> dict[str, Any]:
        """Return p_seeds, and in how many seeds the same test alone says the same."""
        if not met:
            return {"p_seeds": None, "seeds_holding": ""}
        a, b = self.runs[one.a, one.column], self.runs[one.b, one.column]
        d = np.stack([a[i] - b[j] for i, j in met], axis=1)
        same = np.sign(d.mean(axis=0)) == np.sign(d.mean())
        holding = sum(bool(s) and o.p < alpha for s, o in zip(same, alone, strict=True))
        p = seeds.p_over_seeds(d) if len(self.queries) > 1 else None
        return {"p_seeds": p, "seeds_holding": f"{holding}/{len(met)}"}


def _ordered(key: Key, cell: Cell, queries: tuple[str, ...]) -> np.ndarray:
    """Return a cell's values as (runs, queries) in the order of `queries`, all of them finite."""
    place = {query_id: row for row, query_id in enumerate(cell.query_ids)}
    values = np.asarray(cell.values, dtype=np.float64)[[place[q] for q in queries]]
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        where = " of ".join(filter(None, reversed(key)))
        found = f"query {queries[wrong[0][0]]} has the value {values[tuple(wrong[0])]}"
        raise ResiduumError(f"{where}: {found}, which is no finite number")
    return np.ascontiguousarray(values.T)


def test(contrasts: Contrasts, tests: schema.Tests, seed: int, workers: int = 1) -> list[Outcome]:
    """Test every contrast as `tests` says."""
    if tests.test == "permutation":
        return flips.permutation(contrasts, tests.resamples, seed, workers)
    one = {"t-test": classical.t_test, "wilcoxon": classical.wilcoxon}[tests.test]
    return [one(contrasts.difference(number)) for number in range(len(contrasts.pairs))]

"""What is tested: values per query of a system, and pairs of systems over the same queries.

Usage: `contrasts.difference(0)`. Made by `residuum.paired.comparisons`, read by every test.
Must not know which systems the rows are, nor how they are tested.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError

TIE = 1e-12  # values per query, and means of them, this close to each other count as equal


class ScoreMatrix(NamedTuple):
    """Values of one system by one measure: a row per query_id, a column per run (seed)."""

    query_ids: list[str]
    runs: list[str]
    values: np.ndarray  # float64 of shape (queries, runs)


def same_queries(sides: Mapping[str, Collection[str]], where: str = "") -> None:
    """Raise a ResiduumError that names two sides whose query_ids differ, if any do."""
    first = next(iter(sides), "")
    for name, ids in sides.items():
        if odd := sorted(set(ids) ^ set(sides[first])):
            raise ResiduumError(
                f"{where}{first} and {name} hold different queries "
                f"({len(odd)} of them, such as {odd[0]})"
            )


class Contrasts(NamedTuple):
    """Values of shape (sides, queries), queries ordered by query_id, and pairs of sides (a, b)."""

    values: np.ndarray
    pairs: list[tuple[int, int]]

    def difference(self, number: int) -> np.ndarray:
        """Return a - b of one pair per query, shape (queries,); what is within TIE of 0 is 0."""
        a, b = self.pairs[number]
        d = self.values[a] - self.values[b]
        return np.where(np.abs(d) <= TIE, 0.0, d)


class Outcome(NamedTuple):
    """A two-sided p, its Monte-Carlo standard error (0 if nothing was drawn), the method."""

    p: float
    p_error: float
    method: str

"""Whether two averages put systems into the same order: Kendall's tau-b and its interval.

Usage: `agreement(whole, sample, tests)`, with a `ScoreMatrix` of each system in both. Sources:
Kendall, The Treatment of Ties in Ranking Problems, Biometrika 1945 (tau-b); Efron and Tibshirani,
An Introduction to the Bootstrap, 13.3.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from residuum.config.schema.tests import Tests
from residuum.config.specs import derive
from residuum.paired.classical import LEVEL, TIE
from residuum.paired.comparisons import ScoreMatrix
from residuum.paired.resampling import sums_of_draws
from residuum.paired.strata import Strata

FEWEST_SYSTEMS = 3  # with two, tau is 1 or -1


class Agreement(NamedTuple):
    """Tau-b, the bounds of its 95% interval, and how many pairs of systems have the same order."""

    tau: float
    low: float
    high: float
    alike: int
    pairs: int


def agreement(
    whole: Sequence[ScoreMatrix], sample: Sequence[ScoreMatrix], tests: Tests
) -> Agreement | None:
    """Return how alike two averages order systems; None for few systems, or if all are level.

    The interval is of draws of the queries within each collection, of both averages apart. A
    system with seeds counts by each query's mean over them.
    """
    if len(whole) < FEWEST_SYSTEMS:
        return None
    first, second = (_signs(np.array([[np.mean(side.means()) for side in sides]]))
                     for sides in (whole, sample))  # fmt: skip
    [tau] = _tau(first, second)
    if np.isnan(tau):
        return None
    drawn = [
        _signs(_means_of_draws(sides, derive(tests.seed, "ranks", name), tests.bootstrap))
        for name, sides in (("whole", whole), ("sample", sample))
    ]
    low, high = np.nanquantile(_tau(*drawn), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    alike = int((first == second).sum())
    return Agreement(float(tau), float(low), float(high), alike, first.size)


def _signs(means: np.ndarray) -> np.ndarray:
    """Return the order of each pair of systems, -1, 0 or 1, by means of shape (draws, systems)."""
    a, b = np.array(list(combinations(range(means.shape[1]), 2))).T
    d = means[:, a] - means[:, b]
    return np.where(np.abs(d) <= TIE, 0.0, np.sign(d))


def _tau(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return tau-b of each draw by the orders of its pairs; NaN where one order has no pair."""
    untied = np.abs(first).sum(axis=1) * np.abs(second).sum(axis=1)
    agreed = (first * second).sum(axis=1)
    return np.asarray(np.where(untied > 0, agreed / np.sqrt(np.maximum(untied, 1.0)), np.nan))


def _means_of_draws(sides: Sequence[ScoreMatrix], entropy: int, draws: int) -> np.ndarray:
    """Return the means of systems over drawn queries, shape (draws, systems)."""
    assert all(side.query_ids == sides[0].query_ids for side in sides), "sorted by metrics' readers"
    strata = Strata(sides[0].collections or [""] * len(sides[0].query_ids))
    values = np.stack([strata.weights * side.values.mean(axis=1) for side in sides])
    sums = sums_of_draws(values, entropy, draws, 1, strata)
    means: np.ndarray = np.concatenate(list(sums), axis=1).T / values.shape[1]
    return means

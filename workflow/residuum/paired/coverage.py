"""Queries that one system answers and another does not: their counts, and the ratio.

Usage: `coverage(dense, lexical).ratio`, with two `ScoreMatrix` of hits. A hit is a query that a
system answers: a measure of 0 or 1, such as Success@10. Source: Lee et al., On Complementarity
Objectives for Hybrid Retrieval, ACL 2023 (RoC), Eq. 1 and Figure 1.
"""

import math
from typing import NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.paired.comparisons import ScoreMatrix, digits


class Coverage(NamedTuple):
    """How many queries a first and a second system answer, as means over the seeds.

    `ratio` is RoC, the share of the first's hits that the second lacks. `low` and `high` bound its
    95% interval. All three are None if the first has no hit.
    """

    queries: int
    first: float
    second: float
    residual: float  # answered by the first alone
    overlap: float
    failures: float  # answered by neither
    ratio: float | None
    low: float | None
    high: float | None
    by_seed: tuple[float, ...] = ()  # the seeds' ratios, whose mean is `ratio`


def coverage(first: ScoreMatrix, second: ScoreMatrix) -> Coverage:
    """Return the coverage of the first system against the second, over the same ordered queries.

    Seeds of both systems are paired; a system without seeds is paired with each seed. In each seed,
    the ratio is one of sums over the queries; it is then averaged (Eq. 1).
    """
    hits, other = _both(first, second)
    found, alone = hits.sum(axis=0), (hits & ~other).sum(axis=0)
    ratio = low = high = None
    by_seed: tuple[float, ...] = ()
    if found.all():
        by_seed = tuple((alone / found).tolist())
        ratio = digits(float(np.mean(by_seed)))
        low, high = wilson(ratio, float(found.mean()))
    return Coverage(
        queries=len(hits),
        first=float(found.mean()),
        second=_mean_count(other),
        residual=float(alone.mean()),
        overlap=_mean_count(hits & other),
        failures=_mean_count(~(hits | other)),
        ratio=ratio,
        low=low,
        high=high,
        by_seed=by_seed,
    )


def residual(first: ScoreMatrix, second: ScoreMatrix) -> ScoreMatrix:
    """Return 1 for each query that the first system answers and the second does not, by seed."""
    hits, other = _both(first, second)
    return ScoreMatrix(first.query_ids, (hits & ~other).astype(np.float64))


def overlap(first: ScoreMatrix, second: ScoreMatrix) -> ScoreMatrix:
    """Return 1 for each query that both systems answer, by seed."""
    hits, other = _both(first, second)
    return ScoreMatrix(first.query_ids, (hits & other).astype(np.float64))


def _both(first: ScoreMatrix, second: ScoreMatrix) -> list[np.ndarray]:
    """Return the hits of both systems as booleans of one shape (queries, runs)."""
    if first.query_ids != second.query_ids:
        raise ValueError("values of other queries, or in another order")
    return [*np.broadcast_arrays(_hits(first), _hits(second))]


def _mean_count(flags: np.ndarray) -> float:
    return float(flags.sum(axis=0).mean())


def _hits(scores: ScoreMatrix) -> np.ndarray:
    hits: np.ndarray = scores.values == 1
    if not (hits | (scores.values == 0)).all():
        other = scores.values[~hits & (scores.values != 0)][0]
        raise ResiduumError(f"a query is a hit or none, 1 or 0, not {other:g}")
    return hits


def wilson(share: float, count: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """Return the 95% score interval of a share of `count` (Wilson, JASA 1927).

    For a mean over seeds, `count` is the count of one seed. The seeds share their queries, so the
    interval is as wide as one seed's.
    """
    centre, spread = share + z * z / (2 * count), share * (1 - share) / count
    half = z * math.sqrt(spread + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return digits(max(0.0, (centre - half) / scale)), digits(min(1.0, (centre + half) / scale))

"""How large a difference is: intervals, standardised difference, and what n queries can show.

Usage: `describe(d)`, `d` the differences per query, shape (queries,); `bootstrap(contrasts, ...)`
for all pairs at once. Must not know how p is computed.
"""

import math
from dataclasses import dataclass

import numpy as np

from residuum.config.specs import derive
from residuum.paired.contrasts import TIE, Contrasts
from residuum.paired.flips import spread

LEVEL = 0.95  # of both intervals
POWER = 0.8
FARTHEST = 1e5  # critical t beyond which SciPy finds no noncentrality
BLOCK = 128  # bootstrap resamples that share a generator
DRAWN_AT_ONCE = 4_000_000  # queries that a block may draw: bounds memory

Interval = tuple[float | None, float | None]


@dataclass(frozen=True)
class Size:
    """How large a difference is, over queries; a tie is a difference of 0."""

    difference: float
    ci_low: float | None
    ci_high: float | None
    effect: float | None  # Cohen's d_z, None where the differences do not vary
    wins: int
    ties: int
    losses: int
    min_detectable: float | None


def describe(d: np.ndarray, alpha: float) -> Size:
    """Return the mean of the differences, its t interval, d_z = mean / deviation and its signs."""
    deviation = _deviation(d)
    wins, losses = int((d > 0).sum()), int((d < 0).sum())
    effect = None if deviation is None else float(d.mean()) / deviation
    ties = len(d) - wins - losses
    detectable = min_detectable(d, alpha)
    return Size(float(d.mean()), *t_interval(d), effect, wins, ties, losses, detectable)


def _deviation(d: np.ndarray) -> float | None:
    deviation = float(d.std(ddof=1)) if len(d) > 1 else 0.0
    return deviation if deviation > TIE else None


def t_interval(d: np.ndarray, level: float = LEVEL) -> Interval:
    """Return the t interval of the mean difference, or (None, None) for fewer than two queries."""
    if len(d) < 2:
        return None, None
    from scipy import special

    half = float(special.stdtrit(len(d) - 1, (1 + level) / 2) * d.std(ddof=1) / math.sqrt(len(d)))
    return float(d.mean()) - half, float(d.mean()) + half


def min_detectable(d: np.ndarray, alpha: float, power: float = POWER) -> float | None:
    """Return the true mean difference that this many queries show with the given power.

    For a two-sided paired t-test at alpha, uncorrected, with the standard deviation of `d`
    (Cohen, Statistical Power Analysis): the noncentrality at which the t statistic exceeds its
    critical value with probability `power`. None where the differences do not vary, or alpha is
    out of reach for so few queries.
    """
    from scipy import special

    deviation = _deviation(d)
    if deviation is None:
        return None
    critical = special.stdtrit(len(d) - 1, 1 - alpha / 2)
    if critical > FARTHEST:
        return None
    noncentrality = float(special.nctdtrinc(len(d) - 1, 1 - power, critical))
    return noncentrality * deviation / math.sqrt(len(d))


def bootstrap(
    contrasts: Contrasts, resamples: int, seed: int, workers: int = 1, level: float = LEVEL
) -> list[Interval]:
    """Return the percentile bootstrap interval of each pair's mean difference.

    Queries are drawn with replacement (Efron and Tibshirani, An Introduction to the Bootstrap,
    13.3), the same ones for all pairs. (None, None) for fewer than two queries.
    """
    queries = contrasts.values.shape[1]
    if queries < 2:
        return [(None, None)] * len(contrasts.pairs)
    entropy = derive(seed, "bootstrap")
    whole, units = _whole(contrasts.values)
    rows = max(1, min(BLOCK, DRAWN_AT_ONCE // queries))
    a, b = np.array(contrasts.pairs).T

    def block(number: int) -> np.ndarray:
        generator = np.random.Generator(np.random.PCG64([entropy, number]))
        counts = _times_drawn(generator, min(rows, resamples - number * rows), queries)
        sums = (whole @ counts.T) / units[:, None]
        return np.asarray((sums[a] - sums[b]) / queries)

    means = np.concatenate(list(spread(block, -(-resamples // rows), workers)), axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=1)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _whole(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values in units of at most 2^-32, as whole numbers, and units per 1, by row.

    Sums of whole numbers below 2^53 are exact, so that no digit of a bootstrap mean depends on the
    order in which a processor's matrix product adds.
    """
    largest = np.maximum(np.abs(values).max(axis=1), 1.0)
    bits = np.minimum(32, np.floor(52 - np.log2(largest * values.shape[1])))
    units = np.exp2(bits)
    return np.rint(values * units[:, None]), units


def _times_drawn(generator: np.random.Generator, rows: int, queries: int) -> np.ndarray:
    """Draw as many queries as there are, `rows` times; return how often each, (rows, queries)."""
    drawn = generator.integers(queries, size=(rows, queries))
    drawn += np.arange(rows)[:, None] * queries
    counts = np.bincount(drawn.ravel(), minlength=rows * queries)
    return counts.reshape(rows, queries).astype(np.float64)

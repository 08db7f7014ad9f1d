"""Statistics of one paired comparison: t, signed ranks, detectable differences, seeds.

Usage: `t_test(d)` with `d` the differences per query, shape (queries,). Sources: Student (1908);
Wilcoxon (1945): zero differences dropped, midranks for ties; Conover, Practical Nonparametric
Statistics, for the variance under ties; Cohen, Statistical Power Analysis; Searle, Casella and
McCulloch, Variance Components; Satterthwaite (1946).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import special

TIE = 1e-12  # values per query, and means of values, this close count as equal
LEVEL = 0.95  # confidence level of intervals
POWER = 0.8  # power to detect the smallest detectable difference
FARTHEST = 1e5  # critical t beyond which SciPy finds no noncentrality
# Most queries for which Wilcoxon's p is exact: with ties or zeros, and without.
EXACT_UP_TO, EXACT_UNTIED_UP_TO = 13, 50
CONSTANT = "no variance"  # note of the method where t is infinite
SIGNED_RANK = "Wilcoxon signed rank, zeros dropped"
DECIMALS = 12  # |differences| equal to this many decimals share a rank

Interval = tuple[float | None, float | None]


class Outcome(NamedTuple):
    """A two-sided p, its Monte-Carlo standard error (0 if nothing was drawn), the method.

    `direction` is the sign of the tested sum: of differences, or of signed ranks.
    """

    p: float
    p_error: float
    method: str
    direction: int


class OverSeeds(NamedTuple):
    """The p of a mean difference over queries and seeds, and its interval at LEVEL."""

    p: float
    low: float
    high: float


def direction(d: np.ndarray) -> int:
    """Return the sign of the sum of differences, or 0 if the sum is only rounding."""
    total = float(d.sum())
    return 0 if abs(total) <= TIE * len(d) else int(math.copysign(1, total))


def t_test(d: np.ndarray) -> Outcome:
    """Two-sided paired t-test; p is 1 without differences and for a single query.

    A constant difference other than 0 over several queries makes t infinite. Then p is 0, as in
    SciPy, and the method says so.
    """
    if len(d) < 2 or not d.any():
        return Outcome(1.0, 0.0, "paired t", direction(d))
    deviation = d.std(ddof=1)
    if deviation <= TIE:
        return Outcome(0.0, 0.0, f"paired t, {CONSTANT}", direction(d))
    t = d.mean() / (deviation / np.sqrt(len(d)))
    p = float(2 * special.stdtr(len(d) - 1, -abs(t)))
    return Outcome(p, 0.0, "paired t", direction(d))


def wilcoxon(d: np.ndarray) -> Outcome:
    """Two-sided signed-rank test by SciPy: zeros dropped, no continuity correction.

    All sign patterns are counted for up to 13 queries, or 50 without ties and zeros. Otherwise the
    sum of signed ranks is taken as normal, with the variance that allows for ties.
    """
    from scipy import stats

    d = np.round(d, DECIMALS)
    if not d.any():
        return Outcome(1.0, 0.0, f"{SIGNED_RANK}, exact", 0)
    untied = bool(d.all()) and len(np.unique(np.abs(d))) == len(d)
    exact = "exact" if untied else stats.PermutationMethod()
    if len(d) <= (EXACT_UNTIED_UP_TO if untied else EXACT_UP_TO):
        p, how = stats.wilcoxon(d, method=exact).pvalue, "exact"
    else:
        p = stats.wilcoxon(d, method="asymptotic").pvalue
        how = "normal approximation without continuity correction"
    signed = np.sign(d[d != 0]) * stats.rankdata(np.abs(d[d != 0]))
    return Outcome(float(p), 0.0, f"{SIGNED_RANK}, {how}", direction(signed))


def deviation(d: np.ndarray) -> float | None:
    """Return the standard deviation of the differences, or None if they do not vary."""
    sd = float(d.std(ddof=1)) if len(d) > 1 else 0.0
    return sd if sd > TIE else None


def t_interval(d: np.ndarray) -> Interval:
    """Return the t interval of the mean difference, or (None, None) for fewer than two queries."""
    if len(d) < 2:
        return None, None
    half = float(special.stdtrit(len(d) - 1, (1 + LEVEL) / 2) * d.std(ddof=1) / math.sqrt(len(d)))
    return float(d.mean()) - half, float(d.mean()) + half


def min_detectable(d: np.ndarray, alpha: float) -> float | None:
    """Return the true mean difference that this many queries show with a power of 0.8.

    The test is a two-sided paired t-test at alpha, uncorrected, with the standard deviation of `d`.
    At the noncentrality of the result, the t statistic exceeds its critical value with probability
    0.8. Returns None if the differences do not vary, or if alpha is out of reach for so few
    queries.
    """
    if (sd := deviation(d)) is None:
        return None
    critical = special.stdtrit(len(d) - 1, 1 - alpha / 2)
    if critical > FARTHEST:
        return None
    noncentrality = float(special.nctdtrinc(len(d) - 1, 1 - POWER, critical))
    return noncentrality * sd / math.sqrt(len(d))


def over_seeds(d: np.ndarray) -> OverSeeds:
    """Return the two-sided p of the mean of `d` and its interval, with random queries and seeds.

    `d` has shape (queries, seeds), with two or more of each. The model has two-way random effects
    with mean squares MS. The variance of the mean is (MS_query + MS_seed - MS_residual) / (queries
    * seeds), but no less than the residual's part alone. The degrees of freedom are
    Satterthwaite's.
    """
    queries, seeds = d.shape
    mean = float(d.mean())
    by_query, by_seed = d.mean(axis=1) - mean, d.mean(axis=0) - mean
    rest = d - mean - by_query[:, None] - by_seed[None, :]
    df_query, df_seed = queries - 1, seeds - 1
    query = seeds * float((by_query**2).sum()) / df_query
    seed = queries * float((by_seed**2).sum()) / df_seed
    residual = float((rest**2).sum()) / (df_query * df_seed)
    square = max(query + seed - residual, residual)
    if math.sqrt(square) <= TIE:
        return OverSeeds(1.0 if abs(mean) <= TIE else 0.0, mean, mean)
    spread = query**2 / df_query + seed**2 / df_seed + residual**2 / (df_query * df_seed)
    error, df = math.sqrt(square / (queries * seeds)), square**2 / spread
    half = float(special.stdtrit(df, (1 + LEVEL) / 2)) * error
    return OverSeeds(float(2 * special.stdtr(df, -abs(mean / error))), mean - half, mean + half)

"""Student's paired t-test and Wilcoxon's signed-rank test.

Usage: `t_test(d)`, `wilcoxon(d)`, `d` the differences per query, shape (queries,). Sources:
Student (1908); Wilcoxon (1945): zero differences dropped, midranks for ties; Conover, Practical
Nonparametric Statistics, for the variance under ties. Must not know systems or corrections.
"""

import numpy as np

from residuum.paired.contrasts import TIE, Outcome

# Queries up to which Wilcoxon's p is exact, as in SciPy: with ties or zeros, and without.
EXACT_UP_TO, EXACT_UNTIED_UP_TO = 13, 50
SIGNED_RANK = "Wilcoxon signed rank, zeros dropped"
DECIMALS = 12  # |differences| that agree in so many share a rank


def t_test(d: np.ndarray) -> Outcome:
    """Two-sided paired t-test; p is 1 without differences and for a single query.

    A constant difference other than 0 over several queries leaves t infinite: p is 0.
    """
    from scipy import special

    if len(d) < 2 or not d.any():
        return Outcome(1.0, 0.0, "paired t")
    deviation = d.std(ddof=1)
    if deviation <= TIE:
        return Outcome(0.0, 0.0, "paired t")
    t = d.mean() / (deviation / np.sqrt(len(d)))
    return Outcome(float(2 * special.stdtr(len(d) - 1, -abs(t))), 0.0, "paired t")


def wilcoxon(d: np.ndarray) -> Outcome:
    """Two-sided signed-rank test, as `scipy.stats.wilcoxon` chooses between exact and normal.

    Exact given the ranks for up to 13 queries, or 50 without ties and zeros. Else the sum of signed
    ranks is taken as normal with the sum of squared ranks as variance, which allows for ties; no
    continuity correction.
    """
    from scipy import special

    queries, d = len(d), d[d != 0]
    if not len(d):
        return Outcome(1.0, 0.0, f"{SIGNED_RANK}, exact")
    ranks = midranks(np.round(np.abs(d), DECIMALS))
    total = abs(float((np.sign(d) * ranks).sum()))
    untied = len(np.unique(ranks)) == queries
    if queries <= (EXACT_UNTIED_UP_TO if untied else EXACT_UP_TO):
        return Outcome(exact_tail(ranks, total), 0.0, f"{SIGNED_RANK}, exact")
    p = float(2 * special.ndtr(-total / np.sqrt((ranks**2).sum())))
    how = "normal approximation without continuity correction"
    return Outcome(p, 0.0, f"{SIGNED_RANK}, {how}")


def midranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1; equal values share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def exact_tail(ranks: np.ndarray, total: float) -> float:
    """Return the share of all sign patterns of midranks whose |sum| is at least `total`.

    Counts patterns by twice the sum of their positive ranks, a whole number: one convolution per
    rank instead of 2^n patterns.
    """
    twice = np.rint(2 * ranks).astype(np.int64)
    patterns = np.zeros(int(twice.sum()) + 1)
    patterns[0] = 1.0
    for rank in twice:
        patterns[rank:] += patterns[: len(patterns) - rank].copy()
    sums = 2 * np.arange(len(patterns)) - twice.sum()  # twice the sum of signed ranks
    return float(patterns[np.abs(sums) >= round(2 * total)].sum() / patterns.sum())

"""Student's paired t-test and Wilcoxon's signed-rank test.

Usage: `t_test(d)`, `wilcoxon(d)`, `d` the differences per query, shape (queries,). Sources:
Student (1908); Wilcoxon (1945): zero differences dropped, midranks for ties; Conover, Practical
Nonparametric Statistics, for the variance under ties. Must not know systems or corrections.
"""

import numpy as np

from residuum.paired.contrasts import TIE, Outcome

# Queries up to which Wilcoxon's p is exact: with ties or zeros, and without.
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
    """Two-sided signed-rank test by SciPy: zeros dropped, no continuity correction.

    All sign patterns are counted for up to 13 queries, or 50 without ties and zeros. Else the sum
    of signed ranks is taken as normal, with the variance that allows for ties.
    """
    from scipy import stats

    d = np.round(d, DECIMALS)
    if not d.any():
        return Outcome(1.0, 0.0, f"{SIGNED_RANK}, exact")
    untied = bool(d.all()) and len(np.unique(np.abs(d))) == len(d)
    exact = "exact" if untied else stats.PermutationMethod()
    if len(d) <= (EXACT_UNTIED_UP_TO if untied else EXACT_UP_TO):
        p, how = stats.wilcoxon(d, method=exact).pvalue, "exact"
    else:
        p = stats.wilcoxon(d, method="asymptotic").pvalue
        how = "normal approximation without continuity correction"
    return Outcome(float(p), 0.0, f"{SIGNED_RANK}, {how}")

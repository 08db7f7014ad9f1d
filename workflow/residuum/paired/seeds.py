"""Comparisons over training seeds: is a difference more than queries and seeds make by chance?

Usage: `p_mixed_effects(d)`, `d` of shape (queries, seeds). Source: the two-way random-effects model
(Searle, Casella and McCulloch, Variance Components) with Satterthwaite's degrees of freedom (1946).
Must not know how models are trained, nor other tests.
"""

import math

import numpy as np

from residuum.paired.contrasts import TIE


def paired_runs(runs_a: int, runs_b: int) -> list[tuple[int, int]]:
    """Return which run of a meets which of b: by their order, an unseeded system meets all.

    Empty where there is one seed, or where both have several but not as many.
    """
    several = max(runs_a, runs_b)
    if several == 1 or min(runs_a, runs_b) not in (1, several):
        return []
    return [(i % runs_a, i % runs_b) for i in range(several)]


def p_mixed_effects(d: np.ndarray) -> float:
    """Return the two-sided p of the mean of `d`, both queries and seeds taken as random.

    `d` has shape (queries, seeds), two or more of each. With mean squares MS, the variance of the
    mean is (MS_query + MS_seed - MS_residual) / (queries * seeds), no less than the residual's
    part alone.
    """
    from scipy import special

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
        return 1.0 if abs(mean) <= TIE else 0.0
    spread = query**2 / df_query + seed**2 / df_seed + residual**2 / (df_query * df_seed)
    t = mean / math.sqrt(square / (queries * seeds))
    return float(2 * special.stdtr(square**2 / spread, -abs(t)))

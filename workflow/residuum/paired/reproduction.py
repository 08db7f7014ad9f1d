"""How close a reproduction is to its original: in effects, values per query, and rankings.

Usage: `effect_ratio(reported_gap, measured_gap)`, `rmse(original, values)`, `kendall_tau_union(
original_docs, docs)`. Sources: Breuer et al., How to Measure the Reproducibility of System-oriented
IR Experiments, SIGIR 2020; Webber, Moffat and Zobel, A Similarity Measure for Indefinite Rankings,
TOIS 2010.
"""

import math
from collections.abc import Sequence

import numpy as np

from residuum.paired.classical import TIE
from residuum.paired.comparisons import digits

PERSISTENCE = 0.8  # of rank-biased overlap, as in Breuer et al.: 5 docs read on average


def effect_ratio(original: float, reproduced: float) -> float | None:
    """Return ER, the reproduced mean improvement over the original's; 1 is the same effect.

    It uses means alone, as papers print them. None if the original shows no improvement.
    """
    return None if abs(original) <= TIE else digits(reproduced / original)


def delta_ri(original: tuple[float, float], reproduced: tuple[float, float]) -> float | None:
    """Return RI - RI' of means (a, b): RI = (a - b) / b; 0 is the same relative improvement.

    None if either baseline b is 0.
    """
    (a, b), (own_a, own_b) = original, reproduced
    if abs(b) <= TIE or abs(own_b) <= TIE:
        return None
    return digits((a - b) / b - (own_a - own_b) / own_b)


def rmse(original: np.ndarray, reproduced: np.ndarray) -> float:
    """Return the root mean square error of values per query, both of shape (queries,)."""
    squares = np.square(reproduced - original)
    return digits(math.sqrt(math.fsum(squares) / len(squares)))


def kendall_tau_union(original: Sequence[str], reproduced: Sequence[str]) -> float | None:
    """Return Kendall's tau of the docs' positions in the union of two rankings.

    The union is the original list, followed by docs of the other list alone. Positions of both
    lists are correlated rank by rank, down to the end of the shorter list. Two lists of the same
    docs have their Kendall's tau. Two lists without a common doc have 1, so read tau beside the
    overlap. None below two ranks.
    """
    from scipy import stats

    depth = min(len(original), len(reproduced))
    if depth < 2:
        return None
    places = {doc: place for place, doc in enumerate(dict.fromkeys([*original, *reproduced]))}
    tau = stats.kendalltau(range(depth), [places[doc] for doc in reproduced[:depth]]).statistic
    return digits(float(tau))


def rank_biased_overlap(
    original: Sequence[str], reproduced: Sequence[str], persistence: float = PERSISTENCE
) -> float:
    """Return RBO_EXT (Webber et al., equation 32): 1 for equal rankings, 0 for none in common.

    Beyond their ends, the lists are assumed to agree as at their last ranks. An empty list has 0
    with a list that is not empty.
    """
    short, long = sorted((original, reproduced), key=len)
    if not short:
        return float(not long)
    ranks = {doc: rank for rank, doc in enumerate(long, start=1)}
    shared = [max(rank, ranks[doc]) for rank, doc in enumerate(short, start=1) if doc in ranks]
    common = np.cumsum(np.bincount(shared, minlength=len(long) + 1))[1:]
    s, depth = len(short), np.arange(1, len(long) + 1)
    beyond = common[s - 1] * np.maximum(depth - s, 0) / (s * depth)
    seen = float((persistence**depth) @ (common / depth + beyond))
    last = (common[-1] - common[s - 1]) / len(long) + common[s - 1] / s
    overlap = (1 - persistence) / persistence * seen + last * persistence ** len(long)
    return digits(float(overlap))

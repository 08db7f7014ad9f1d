"""How close a reproduction is: the paper's examples, numbers by hand, definitions written out."""

import random

import numpy as np
import pytest
from scipy import stats

from residuum.paired import reproduction


def docs(numbers):
    return [f"d{number}" for number in numbers]


@pytest.mark.parametrize(
    ("original", "reproduced", "tau"),
    [
        ([1, 2, 3], [1, 2, 4], 1.0),  # both are Breuer et al.'s, section 3.1
        ([1, 2, 3, 4], [2, 5, 3, 6], 2 / 3),
        ([1, 2, 3], [4, 5, 6], 1.0),  # no doc in common
        ([2, 1, 3], [2, 3, 1], 1 / 3),  # one of three pairs turned, whatever the ids
        ([1, 2, 3, 4], [2, 1, 3], 1 / 3),  # three ranks
        ([1, 2], [2, 1], -1.0),
        ([1], [1], None),
        ([], [1, 2], None),
    ],
)
def test_kendalls_tau_of_the_union(original, reproduced, tau):
    result = reproduction.kendall_tau_union(docs(original), docs(reproduced))
    assert result == (tau if tau is None else pytest.approx(tau))


def test_over_the_same_docs_it_is_kendalls_tau():
    shuffled = random.Random(3).sample(range(40), 40)
    ranks = [shuffled.index(doc) for doc in range(40)]
    own = reproduction.kendall_tau_union(docs(range(40)), docs(shuffled))
    assert own == pytest.approx(stats.kendalltau(range(40), ranks).statistic)


def overlap(first, second, p, last=4000):
    """Sum the agreement at every rank, extrapolated as Webber et al. do behind the lists."""
    short, long = sorted((first, second), key=len)
    s, total, agreement = len(short), 0.0, 0.0
    at_s = len({*short} & {*long[:s]})
    for d in range(1, last):
        if d <= len(long):
            common = len({*short[:d]} & {*long[:d]})
            agreement = (common + at_s * max(0, d - s) / s) / d
        total += (1 - p) * p ** (d - 1) * agreement
    return total


@pytest.mark.parametrize("p", [0.8, 0.95])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([1, 2, 3], [4, 5, 6]),
        ([1, 2, 3], [3, 2, 1]),
        ([1, 2], [3, 1, 2, 5, 6]),
        (range(30), [*range(10, 20), *range(5)]),
    ],
)
def test_rank_biased_overlap_is_its_definition(first, second, p):
    first, second = docs(first), docs(second)
    result = reproduction.rank_biased_overlap(first, second, p)
    assert result == pytest.approx(overlap(first, second, p), abs=1e-9)
    assert result == reproduction.rank_biased_overlap(second, first, p)


def test_rank_biased_overlap_by_hand():
    # Agreement 0 at rank 1, 1 at rank 2 and behind: the weight of all but the first rank.
    assert reproduction.rank_biased_overlap(["a", "b"], ["b", "a"], 0.8) == pytest.approx(0.8)
    assert reproduction.rank_biased_overlap([], ["a"]) == 0.0
    assert reproduction.rank_biased_overlap([], []) == 1.0


def test_rmse_by_hand():
    result = reproduction.rmse(np.array([0.5, 1.0, 0.0]), np.array([0.5, 0.0, 0.5]))
    assert result == pytest.approx((1.25 / 3) ** 0.5)


def test_effects_by_hand():
    # Original 0.3 -> 0.4, a third more; reproduced 0.2 -> 0.25, a quarter more.
    assert reproduction.effect_ratio(0.1, 0.05) == pytest.approx(0.5)
    assert reproduction.delta_ri((0.4, 0.3), (0.25, 0.2)) == pytest.approx(1 / 3 - 1 / 4)
    assert reproduction.effect_ratio(0.0, 0.05) is None
    assert reproduction.delta_ri((0.4, 0.0), (0.25, 0.2)) is None
    assert reproduction.delta_ri((0.4, 0.3), (0.25, 0.0)) is None

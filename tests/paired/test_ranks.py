"""Whether two averages order systems alike: tau-b by SciPy, its interval by plain draws."""

import numpy as np
import pytest
from scipy import stats

from residuum.config.schema.tests import Tests
from residuum.paired import ScoreMatrix
from residuum.paired.ranks import agreement

TESTS = Tests.model_validate({"test": "permutation", "alpha": 0.05, "correction": "none",
                              "family": "column", "bootstrap": 2000})  # fmt: skip
NAMES = ["x"] * 20 + ["y"] * 60


def systems(values, names=NAMES):
    ids = [f"{name}/{number}" for number, name in enumerate(names)]
    return [ScoreMatrix(ids, np.array(one, dtype=float).reshape(len(ids), -1), names)
            for one in values]  # fmt: skip


def level(means, names=NAMES):
    """Systems all of whose queries have one value."""
    return systems([[mean] * len(names) for mean in means], names)


def test_tau_is_scipys_with_ties_and_counts_pairs_by_hand():
    whole, sample = [0.1, 0.2, 0.3, 0.4, 0.4], [0.2, 0.1, 0.3, 0.5, 0.4]
    made = agreement(level(whole), level(sample, ["a", "b"]), TESTS)
    assert made.tau == pytest.approx(stats.kendalltau(whole, sample).statistic)
    assert (made.alike, made.pairs) == (8, 10), "1 with 2 turned, 4 with 5 a tie in one alone"
    assert made.low == made.high == pytest.approx(made.tau), "no draw changes a mean"


def test_collections_count_alike_in_the_order():
    ours, theirs = [1.0] * 20 + [0.0] * 60, [0.0] * 20 + [0.5] * 60
    both = systems([ours, theirs, [0.9] * 80])
    made = agreement(both, level([0.5, 0.25, 0.9]), TESTS)
    assert made.tau == 1.0, "0.5 beside 0.25 over collections, and 0.25 beside 0.375 over queries"


def test_the_interval_is_that_of_plain_draws_within_collections():
    random = np.random.default_rng(2)
    true = np.linspace(0.3, 0.5, 6)
    whole = [np.clip(random.normal(mean, 0.3, 80), 0, 1) for mean in true]
    sample = [np.clip(random.normal(mean, 0.3, 30), 0, 1) for mean in true]
    names = ["x"] * 10 + ["y"] * 20
    made = agreement(systems(whole), systems(sample, names), TESTS)

    def drawn(values, sizes):
        first, second = (random.integers(size, size=size) for size in sizes)
        return [(v[: sizes[0]][first].mean() + v[sizes[0] :][second].mean()) / 2 for v in values]

    taus = [stats.kendalltau(drawn(whole, (20, 60)), drawn(sample, (10, 20))).statistic
            for _ in range(1000)]  # fmt: skip
    low, high = np.quantile(taus, [0.025, 0.975])
    assert (made.low, made.high) == pytest.approx((low, high), abs=0.14), "steps of tau are 2 / 15"
    assert made.low < made.tau and agreement(systems(whole), systems(sample, names), TESTS) == made


def test_two_systems_or_level_ones_have_no_tau():
    assert agreement(level([0.1, 0.2]), level([0.1, 0.2]), TESTS) is None
    assert agreement(level([0.1, 0.2, 0.3]), level([0.1, 0.1, 0.1]), TESTS) is None

"""Rank intervals and groups: against loops over draws, by hand, and where the truth is known."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from residuum.cli.errors import ResiduumError
from residuum.paired.audits import FEWEST, audit, groups
from residuum.paired.strata import Strata


def sample(seed=1, systems=6, queries=60, spread=0.4):
    random = np.random.default_rng(seed)
    hard = random.normal(size=queries)
    return np.array([hard + spread * n + random.normal(size=queries) for n in range(systems)])


def test_means_errors_and_single_pairs_are_those_of_the_paired_t_test():
    values = sample(spread=0.15)
    made = audit(values, None, 999, 1)
    np.testing.assert_allclose(made.means, values.mean(axis=1))
    assert made.order == [int(n) for n in np.argsort(-values.mean(axis=1))]
    for a, b in combinations(range(len(values)), 2):
        tested = stats.ttest_rel(values[a], values[b])
        assert made.errors[a, b] == pytest.approx(stats.sem(values[a] - values[b]))
        assert made.alone[a, b] == made.alone[b, a] == (tested.pvalue < 0.05)
    assert not made.alone.diagonal().any() and not made.apart.diagonal().any()


def test_bounds_are_quantiles_of_the_largest_studentised_difference():
    """By other draws, one after another, so that only the spread of 4,000 draws is between."""
    values, random = sample(), np.random.default_rng(5)
    made = audit(values, None, 20_000, 1)
    centred, n = values - values.mean(axis=1, keepdims=True), values.shape[1]
    errors = {pair: stats.sem(values[pair[0]] - values[pair[1]])
              for pair in combinations(range(6), 2)}  # fmt: skip
    largest, own = [], []
    for _ in range(4000):  # enough for two digits
        mean = centred[:, random.integers(n, size=n)].mean(axis=1) * np.sqrt(n / (n - 1))
        distances = {(a, b): abs(mean[a] - mean[b]) / error for (a, b), error in errors.items()}
        largest.append(max(distances.values()))
        own.append(max(value for pair, value in distances.items() if 0 in pair))
    expected = stats.t.ppf(stats.norm.cdf(np.quantile(largest, 0.95)), n - 1)
    assert made.bounds[0, 1] == pytest.approx(expected, abs=0.08)
    lower = stats.t.ppf(stats.norm.cdf(np.quantile(own, 0.95)), n - 1)
    assert 1.96 < lower < made.bounds[0, 1]
    ratio = (made.means[0] - made.means) / np.where(made.errors[0], made.errors[0], np.inf)
    certain = np.abs(ratio) > lower
    near = np.abs(np.abs(ratio) - lower) < 0.1
    assert not near.any(), "the sample must not hang on the draws"
    assert made.low[0] == 1 + (certain & (ratio < 0)).sum()
    assert made.high[0] == 6 - (certain & (ratio > 0)).sum()


def test_few_units_have_bonferronis_bound():
    values = sample(queries=FEWEST - 1)
    made = audit(values, None, 999, 1)
    assert made.bounds[1, 2] == pytest.approx(stats.t.ppf(1 - 0.025 / 15, FEWEST - 2))
    ratio = (made.means[2] - made.means) / np.where(made.errors[2], made.errors[2], np.inf)
    own = stats.t.ppf(1 - 0.025 / 5, FEWEST - 2)
    assert (made.low[2], made.high[2]) == (1 + (ratio < -own).sum(), 6 - (ratio > own).sum())


def test_collections_count_alike_and_differences_between_them_are_no_noise():
    values = sample(queries=90)
    names = ["a"] * 60 + ["b"] * 30
    values[:, 60:] += 100  # another collection, with other numbers for all
    made = audit(values, Strata(names), 999, 1)
    parts = values[:, :60], values[:, 60:]
    np.testing.assert_allclose(made.means, sum(part.mean(axis=1) for part in parts) / 2)
    for a, b in combinations(range(6), 2):
        variances = [stats.sem(part[a] - part[b]) ** 2 for part in parts]
        assert made.errors[a, b] == pytest.approx(np.sqrt(sum(variances)) / 2, rel=1e-6)


def test_equal_systems_are_never_apart_and_share_their_ranks():
    values = np.repeat(sample(systems=2, spread=3.0), [3, 2], axis=0)
    made = audit(values, None, 999, 1)
    assert [*zip(made.low, made.high, strict=True)] == [(3, 5)] * 3 + [(1, 2)] * 2
    assert made.order == [3, 4, 0, 1, 2]
    assert groups(made.apart, made.order) == [[3, 4], [0, 1, 2]]


def test_a_constant_difference_is_apart():
    values = np.linspace(0, 1, 30) + np.array([[0.5], [0.0]])
    made = audit(values, None, 999, 1)
    assert made.apart[0, 1] and made.alone[0, 1] and (made.low[0], made.high[0]) == (1, 1)


def test_of_few_units_a_constant_difference_is_chance():
    values = np.array([[0.3, 0.5, 0.4], [0.2, 0.4, 0.3]])
    made = audit(values, None, 999, 1)
    assert not made.apart.any() and [*made.high] == [2, 2]


def test_more_systems_than_units_have_bonferronis_bound():
    values = np.random.default_rng(2).normal(size=(40, 30))
    made = audit(values, None, 999, 1)
    assert made.bounds[0, 1] == pytest.approx(stats.t.isf(0.025 / (40 * 39 / 2), 29))


def test_a_collection_of_few_queries_decides_the_degrees_of_freedom():
    """Compute Satterthwaite's by hand, for collections of 10 and 120 queries that count alike."""
    random = np.random.default_rng(8)
    values = random.normal(size=(3, 130))
    made = audit(values, Strata(["a"] * 10 + ["b"] * 120), 999, 1)
    parts = [(values[0, :10] - values[1, :10]), (values[0, 10:] - values[1, 10:])]
    shares = [part.var(ddof=1) / len(part) / 4 for part in parts]
    freedom = sum(shares) ** 2 / (shares[0] ** 2 / 9 + shares[1] ** 2 / 119)
    assert made.errors[0, 1] == pytest.approx(np.sqrt(sum(shares)))
    assert made.bounds[0, 1] == pytest.approx(stats.t.isf(0.025 / 3, freedom))


def test_unequal_collections_hold_ranks_as_often():
    random, held = np.random.default_rng(5), []
    names = Strata(["a"] * 25 + ["b"] * 300)
    for _ in range(150):
        values = random.normal(size=(5, 325)) + random.normal(size=325)
        made = audit(values, names, 199, 1)
        held.append(((made.low == 1) & (made.high == 5)).mean())
    assert 0.92 <= np.mean(held) <= 0.98


def test_draws_are_shared_so_that_orders_and_workers_change_nothing():
    values = sample()
    made = audit(values, None, 999, 1)
    again = audit(values[::-1], None, 999, 1, workers=2)
    assert [*again.low] == [*made.low[::-1]] and again.bounds[0, 1] == made.bounds[0, 1]
    assert audit(values, None, 999, 2).bounds[0, 1] != made.bounds[0, 1]


def test_too_many_groups_are_none_and_too_few_draws_are_refused():
    apart = np.ones((200, 200), bool) & (np.arange(200)[:, None] % 100 == np.arange(200) % 100)
    np.fill_diagonal(apart, False)
    assert groups(apart, [*range(200)]) == []
    with pytest.raises(ResiduumError, match="an audit needs 99 or more"):
        audit(sample(), None, 98, 1)


@pytest.mark.parametrize("shape", [(1, 30), (3, 2)])
def test_too_little_is_refused(shape):
    with pytest.raises(ResiduumError, match=f"{shape[0]} systems and {shape[1]} queries"):
        audit(np.zeros(shape), None, 99, 1)


def cliques(apart, order):
    """Return the largest groups by trying every subset."""
    free = [
        set(some)
        for size in range(1, len(order) + 1)
        for some in combinations(order, size)
        if not any(apart[a, b] for a, b in combinations(some, 2))
    ]
    return [one for one in free if not any(one < other for other in free)]


@pytest.mark.parametrize("seed", range(20))
def test_groups_are_the_largest_sets_of_which_no_two_are_apart(seed):
    random = np.random.default_rng(seed)
    apart = np.triu(random.random((7, 7)) < random.choice([0.2, 0.5, 0.8]), 1)
    apart, order = apart | apart.T, [int(n) for n in random.permutation(7)]
    made = groups(apart, order)
    assert sorted(map(sorted, made)) == sorted(map(sorted, cliques(apart, order)))
    assert {system for group in made for system in group} == {*order}


def test_intervals_hold_the_true_rank_as_often_as_they_say():
    """Of equal systems, whose true ranks are all: 95%, within two points; 400 samples."""
    random, held, spaced = np.random.default_rng(3), [], []
    for _ in range(400):
        values = np.array([random.normal(size=(5, 40))])[0] + random.normal(size=40)
        made = audit(values, None, 499, 1)
        held.append(((made.low == 1) & (made.high == 5)).mean())
        far = audit(values + 0.3 * np.arange(5)[:, None], None, 499, 1)
        spaced.append(((far.low <= [5, 4, 3, 2, 1]) & (far.high >= [5, 4, 3, 2, 1])).mean())
    assert 0.93 <= np.mean(held) <= 0.97 and np.mean(spaced) >= 0.95

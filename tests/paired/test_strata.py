"""Means over collections: hand-computed means, p by plain loops, standard errors by Cochran."""

from itertools import product

import numpy as np
import pytest

from residuum import paired
from residuum.config.schema.tests import Tests
from residuum.paired.strata import Strata

TESTS = Tests.model_validate(
    {"test": "permutation", "alpha": 0.05, "correction": "none", "family": "column"}
)
# Collection x has two queries, y four: a query of x counts twice as much as one of y.
NAMES = ["x", "x", "y", "y", "y", "y"]
A, B = [0.9, 0.5, 0.4, 0.6, 0.2, 0.8], [0.4, 0.6, 0.1, 0.2, 0.3, 0.5]


def matrix(values, names=NAMES):
    ids = [f"{name}/{number}" for number, name in enumerate(names)]
    return paired.ScoreMatrix(ids, np.array(values, dtype=float).reshape(len(ids), -1), names)


def compared(a, b, names=NAMES, tests=TESTS, workers=1):
    scores = {("a", ""): matrix(a, names), ("b", ""): matrix(b, names)}
    [row] = paired.compare(scores, [paired.Pair("a", "b")], tests, workers)
    return row


def test_the_mean_is_of_the_collections_means_not_of_all_queries():
    assert matrix(A).means() == pytest.approx([(0.7 + 0.5) / 2])
    assert np.mean(A) == pytest.approx(3.4 / 6), "and not this"
    row = compared(A, B)
    assert (row.mean_a, row.mean_b) == pytest.approx((0.6, (0.5 + 0.275) / 2))
    assert row.difference == pytest.approx(0.6 - 0.3875)
    assert (row.n, row.wins, row.losses) == (6, 4, 2)


def test_p_is_the_share_of_sign_flips_whose_mean_of_means_is_as_large():
    d = np.subtract(A, B)
    observed = abs((d[:2].mean() + d[2:].mean()) / 2)
    flipped = [np.multiply(signs, d) for signs in product((1, -1), repeat=6)]
    means = [abs((f[:2].mean() + f[2:].mean()) / 2) for f in flipped]
    expected = np.mean([mean >= observed - 1e-12 for mean in means])
    assert compared(A, B).p == pytest.approx(expected)
    alike = paired.compare(
        {("a", ""): paired.ScoreMatrix(list("uvwxyz"), np.array(A)[:, None]),
         ("b", ""): paired.ScoreMatrix(list("uvwxyz"), np.array(B)[:, None])},
        [paired.Pair("a", "b")], TESTS,
    )  # fmt: skip
    assert alike[0].p != pytest.approx(expected), "another p if each query counted alike"


def drawn(sizes, shifts, seed=1):
    random = np.random.default_rng(seed)
    names = [name for name, size in sizes.items() for _ in range(size)]
    d = np.concatenate([random.normal(shifts[n], 0.1 + 0.1 * i, size)
                        for i, (n, size) in enumerate(sizes.items())])  # fmt: skip
    return names, d


def stratified_error(names, d):
    each = {name: d[[n == name for n in names]] for name in names}
    return np.sqrt(sum(one.var(ddof=1) / len(one) for one in each.values())) / len(each)


def test_differences_between_collections_are_no_noise():
    names, d = drawn({"x": 60, "y": 200}, {"x": 0.5, "y": -0.3})
    level = Strata(names).levelled(Strata(names).weights * d)
    error = stratified_error(names, d)
    assert level.std(ddof=1) / np.sqrt(len(d)) == pytest.approx(error)
    row = compared(d, np.zeros(len(d)), names)
    assert (row.ci_high - row.ci_low) / 2 == pytest.approx(1.969 * error, rel=1e-3), "t at 259 df"
    assert (row.boot_high - row.boot_low) / 2 == pytest.approx(1.96 * error, rel=0.05)
    weighted = (Strata(names).weights * d).std(ddof=1) / np.sqrt(len(d))
    assert weighted > 1.5 * error, "what an unstratified interval would rest on"


def test_few_queries_of_a_collection_have_no_interval():
    """The variance of one query is not known; t intervals of three covered the mean at 0.81."""
    names, d = drawn({"x": 9, "y": 200}, {"x": 0.1, "y": 0.1})
    row = compared(d, np.zeros(len(d)), names)
    assert (row.ci_low, row.boot_low, row.min_detectable, row.effect) == (None,) * 4
    names, d = drawn({"x": 10, "y": 200}, {"x": 0.1, "y": 0.1})
    row = compared(d, np.zeros(len(d)), names)
    assert None not in (row.ci_low, row.boot_low, row.min_detectable, row.effect)
    a = np.random.default_rng(1).normal(size=(209, 3))
    seeded = compared(a, np.zeros((209, 1)), ["x"] * 9 + ["y"] * 200)
    assert seeded.p_mixed_effects is None and seeded.seeds_agreeing is not None


def test_workers_and_the_order_of_queries_change_nothing():
    names, d = drawn({"x": 60, "y": 200}, {"x": 0.02, "y": 0.01})
    one, zeros = compared(d, np.zeros(len(d)), names), np.zeros(len(d))
    assert compared(d, zeros, names, workers=3) == one
    scores = {("a", ""): matrix(d, names), ("b", ""): matrix(zeros, names)}
    ids, values, collections = scores["a", ""]
    turned = paired.ScoreMatrix(ids[::-1], values[::-1], collections[::-1])
    [row] = paired.compare({**scores, ("a", ""): turned}, [paired.Pair("a", "b")], TESTS)
    assert row == one


def test_seeds_are_averaged_and_tested_over_collections():
    random = np.random.default_rng(3)
    names = ["x"] * 30 + ["y"] * 90
    base = random.normal(0.3, 0.1, (120, 1))
    seeds = base + 0.05 + random.normal(0, 0.01, (120, 3))
    row = compared(seeds, base, names)
    by_seed = [(s[:30].mean() + s[30:].mean()) / 2 for s in seeds.T]
    assert matrix(seeds, names).means() == pytest.approx(by_seed)
    assert row.seeds == 3 and row.seeds_agreeing == "3/3" and row.p_mixed_effects < 0.001
    assert row.seed_low < row.difference < row.seed_high


def test_false_alarms_are_as_many_as_alpha_says():
    random, alarms, names = np.random.default_rng(5), 0, ["x"] * 10 + ["y"] * 40
    tests = TESTS.model_copy(update={"resamples": 199, "bootstrap": 1})
    for _ in range(150):
        d = np.concatenate([random.laplace(0, 0.4, 10), random.laplace(0, 0.1, 40)])
        alarms += compared(d, np.zeros(50), names, tests).p < 0.05
    assert 1 <= alarms <= 16, "of 150 at 0.05: 7.5, give or take three standard deviations"

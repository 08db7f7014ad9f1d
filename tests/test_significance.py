"""Paired tests against enumeration, SciPy and hand-computed corrections."""

import itertools

import numpy as np
import pytest
from scipy import stats

from residuum import significance as s


def exact(d):
    """Enumerate all sign flips of one column of differences."""
    flips = np.array(list(itertools.product([1, -1], repeat=len(d))))
    return (np.abs(flips @ d) >= abs(d.sum()) - 1e-12).mean()


@pytest.mark.parametrize("n", [4, 8, 12])
def test_permutation_agrees_with_exact_enumeration(n):
    d = np.random.default_rng(n).normal(0.3, 1.0, size=n)
    resamples = 20_000
    p = s.permutation(d[:, None], resamples, seed=1)[0]
    truth = exact(d)
    # Four Monte-Carlo standard errors, and the 1/(B+1) that is added to numerator and denominator.
    allowed = 4 * np.sqrt(truth * (1 - truth) / resamples) + 1 / resamples
    assert abs(p - truth) <= allowed


def test_permutation_agrees_with_scipy():
    d = np.random.default_rng(3).normal(0.1, 1.0, size=60)
    ours = s.permutation(d[:, None], 9_999, seed=1)[0]
    theirs = stats.permutation_test(
        (d,), np.mean, permutation_type="samples", n_resamples=9_999, rng=7
    ).pvalue
    assert ours == pytest.approx(theirs, abs=4 * np.sqrt(2 * 0.25 / 9_999))


def test_permutation_handles_discrete_differences_as_ties():
    # Four queries that win by 0.1 each: only all-plus and all-minus reach the observed sum, 2/16.
    d = np.full((4, 1), 0.1)
    assert s.permutation(d, 20_000, seed=1)[0] == pytest.approx(2 / 16, abs=0.01)
    assert s.permutation(np.zeros((5, 1)), 99, seed=1)[0] == 1.0


def test_p_is_never_zero_and_has_a_floor():
    d = np.ones((200, 1))
    assert s.permutation(d, 999, seed=1)[0] == 1 / 1000


def test_p_depends_on_the_seed_only():
    d = np.random.default_rng(0).normal(0.05, 1.0, size=(100, 5))
    p = s.permutation(d, 2_000, seed=1)
    assert np.array_equal(p, s.permutation(d, 2_000, seed=1))
    assert np.array_equal(p[::-1], s.permutation(d[:, ::-1], 2_000, seed=1))
    assert np.array_equal(p[2:3], s.permutation(d[:, 2:3], 2_000, seed=1))
    assert np.array_equal(p, s.permutation(-d, 2_000, seed=1))
    assert not np.array_equal(p, s.permutation(d, 2_000, seed=2))


def test_p_is_uniform_under_the_null():
    d = np.random.default_rng(5).normal(size=(30, 400))
    p = s.permutation(d, 999, seed=1)
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_t_and_wilcoxon_by_hand_and_without_differences():
    d = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    # t = 2 / (1 / sqrt(3)) = 3.4641 with 2 degrees of freedom; p = 1 - t / sqrt(t^2 + 2)
    t = 2 * np.sqrt(3)
    assert s.t_test(d, 0, 0) == pytest.approx([1 - t / np.sqrt(t * t + 2), 1.0])
    # All three ranks positive: 2 of the 8 sign patterns are as extreme.
    assert s.wilcoxon(d, 0, 0) == pytest.approx([2 / 8, 1.0])


def test_t_interval_by_hand():
    # mean 2, sd 1, n 3; t(0.975, 2) = 4.302653
    low, high = s.t_interval(np.array([1.0, 2.0, 3.0]))
    assert (low, high) == pytest.approx((2 - 4.302653 / np.sqrt(3), 2 + 4.302653 / np.sqrt(3)))
    assert s.t_interval(np.array([1.0])) == (None, None)


def test_corrections_by_hand():
    p = [0.01, 0.04, 0.03, 0.2]
    assert s.bonferroni(p) == pytest.approx([0.04, 0.16, 0.12, 0.8])
    # sorted: .01 x 4, .03 x 3, .04 x 2 (raised to .09), .2 x 1
    assert s.holm(p) == pytest.approx([0.04, 0.09, 0.09, 0.2])
    assert s.holm([0.6, 0.5]) == [1.0, 1.0]


def test_adjust_corrects_within_families_only():
    rows = [{"family": "a", "p": 0.03}, {"family": "a", "p": 0.02}, {"family": "b", "p": 0.03}]
    s.adjust(rows, "bonferroni")
    assert [row["p_adjusted"] for row in rows] == pytest.approx([0.06, 0.04, 0.03])

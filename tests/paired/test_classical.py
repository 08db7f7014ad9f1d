"""Student's t and Wilcoxon's signed ranks against SciPy, by hand and by counting patterns."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from residuum.paired import classical


def test_t_by_hand():
    # t = 2 / (1 / sqrt(3)) = 3.4641 with 2 degrees of freedom; p = 1 - t / sqrt(t^2 + 2)
    t = 2 * np.sqrt(3)
    result = classical.t_test(np.array([1.0, 2.0, 3.0]))
    assert result.p == pytest.approx(1 - t / np.sqrt(t * t + 2))
    assert (result.p_error, result.method) == (0.0, "paired t")


@pytest.mark.parametrize(("d", "p"), [([0.0] * 5, 1.0), ([0.3], 1.0), ([0.1] * 5, 0.0)])
def test_t_without_variance(d, p):
    result = classical.t_test(np.array(d))
    assert result.p == p
    assert result.method == ("paired t, no variance" if p == 0 else "paired t")


@pytest.mark.parametrize("n", [2, 10, 500])
def test_t_agrees_with_scipy(n):
    a, b = np.random.default_rng(n).random((2, n))
    assert classical.t_test(a - b).p == pytest.approx(stats.ttest_rel(a, b).pvalue)


def test_wilcoxon_by_hand():
    # All three ranks positive: 2 of the 8 sign patterns are as extreme.
    result = classical.wilcoxon(np.array([1.0, 2.0, 3.0]))
    assert result.p == pytest.approx(2 / 8)
    assert result.method == "Wilcoxon signed rank, zeros dropped, exact"
    assert classical.wilcoxon(np.zeros(4)).p == 1.0
    assert classical.wilcoxon(np.array([0.5])).p == 1.0
    assert classical.wilcoxon(np.array([0.0, 0.1, 0.1, 0.1])).p == pytest.approx(2 / 8)
    # Four equal ranks of 2.5: 10 of 16 patterns sum to at least 3 x 2.5 - 2.5. In binary, 0.3 - 0.2
    # is a little less than 0.1; it must not rank below it.
    assert classical.wilcoxon(np.array([0.1, 0.1, 0.1, 0.2 - 0.3])).p == pytest.approx(10 / 16)


@pytest.mark.parametrize("n", [5, 13, 40, 50, 51, 300])
@pytest.mark.parametrize("decimals", [1, 8])
def test_wilcoxon_agrees_with_scipy(n, decimals):
    """One decimal makes ties and zeros."""
    d = np.random.default_rng(n).normal(0.2, 0.8, size=n).round(decimals)
    result = classical.wilcoxon(d)
    how = stats.PermutationMethod() if n <= 13 else "auto"
    theirs = stats.wilcoxon(d, zero_method="wilcox", correction=False, method=how)
    assert result.p == pytest.approx(theirs.pvalue)
    exact = n <= 13 or (n <= 50 and decimals == 8)
    approximate = "normal approximation without continuity correction"
    assert result.method.endswith("exact" if exact else approximate)


@pytest.mark.parametrize(("n", "levels"), [(6, 4), (12, 3), (12, 400), (20, 4000)])
def test_an_exact_wilcoxon_counts_the_sign_patterns(n, levels):
    random = np.random.default_rng(n)
    d = random.integers(1, levels, size=n) * random.choice([-1.0, 1.0], size=n) / levels
    untied = len(set(abs(d))) == n
    assert untied == (levels > n**2), "few levels tie, many do not"
    ranks = stats.rankdata(abs(d))
    sums = {0.0: 1}  # signed rank sum: sign patterns
    for rank in ranks:
        grown = Counter()
        for total, patterns in sums.items():
            grown[total + rank] += patterns
            grown[total - rank] += patterns
        sums = grown
    observed = abs((np.sign(d) * ranks).sum())
    truth = sum(patterns for total, patterns in sums.items() if abs(total) >= observed) / 2**n
    assert classical.wilcoxon(d).p == pytest.approx(truth)


@pytest.mark.parametrize("test", [classical.t_test, classical.wilcoxon])
def test_p_is_uniform_under_the_null(test):
    d = np.random.default_rng(8).normal(size=(500, 60))
    assert stats.kstest([test(row).p for row in d], "uniform").pvalue > 0.01

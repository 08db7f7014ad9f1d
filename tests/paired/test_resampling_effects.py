"""Intervals and effects by hand, against SciPy, and by what simulations find."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from conftest import ROOT
from residuum.artefacts import machine
from residuum.paired import classical, resampling
from residuum.paired.resampling import Contrasts


def test_deviation_by_hand():
    d = np.array([1.0, 2.0, 3.0, 0.0, -1.0])
    assert classical.deviation(d) == pytest.approx(np.sqrt(2.5))


def test_t_interval_by_hand():
    # mean 2, sd 1, n 3; t(0.975, 2) = 4.302653
    low, high = classical.t_interval(np.array([1.0, 2.0, 3.0]))
    assert (low, high) == pytest.approx((2 - 4.302653 / np.sqrt(3), 2 + 4.302653 / np.sqrt(3)))


@pytest.mark.parametrize("d", [[0.0] * 4, [0.1] * 4])
def test_differences_that_do_not_vary_have_no_effect_size(d):
    d = np.array(d)
    assert (classical.deviation(d), classical.min_detectable(d, alpha=0.05)) == (None, None)
    assert classical.t_interval(d)[0] == pytest.approx(d[0])


def test_one_query_has_no_interval():
    d = np.array([0.5])
    assert (classical.t_interval(d), classical.deviation(d)) == ((None, None), None)


@pytest.mark.parametrize(("queries", "there"), [(1, False), (49, False), (50, True)])
def test_few_queries_have_no_bootstrap_interval(queries, there):
    # Of 20 queries, 95% percentile intervals hold the mean in 92 of 100 samples, Student's in 95.
    values = np.random.default_rng(1).random((3, queries))
    made = resampling.bootstrap(Contrasts(values, [(0, 1), (2, 1)]), 99, seed=1)
    assert [low is not None and low < high for low, high in made] == [there] * 2


def test_detectable_by_the_tables():
    """Cohen: a paired t-test at 0.05 shows d_z = 0.5 with 80% power from 34 pairs on."""
    d = np.random.default_rng(0).normal(size=34)
    standard = (d - d.mean()) / d.std(ddof=1)
    assert classical.min_detectable(standard, 0.05) == pytest.approx(0.495, abs=0.002)
    large = np.tile([1.0, -1.0], 3500)
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert classical.min_detectable(large, 0.05) == pytest.approx(z / np.sqrt(7000), rel=1e-3)


@pytest.mark.parametrize(("n", "alpha"), [(15, 0.05), (50, 0.01)])
def test_the_detectable_difference_is_found_four_times_in_five(n, alpha):
    random = np.random.default_rng(n)
    shape = random.normal(size=n)
    true = classical.min_detectable((shape - shape.mean()) / shape.std(ddof=1), alpha)
    samples = random.normal(true, 1.0, size=(3000, n))
    result = np.mean([classical.t_test(d).p < alpha for d in samples])
    assert result == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 3000))


def test_the_bootstrap_agrees_with_scipys():
    random = np.random.default_rng(2)
    values = random.exponential(size=(3, 80)) + np.array([[5.0], [0.0], [-5.0]])
    contrasts = Contrasts(values, [(0, 1), (1, 2)])
    result = resampling.bootstrap(contrasts, 9_999, seed=1)
    for number, (low, high) in enumerate(result):
        d = contrasts.difference(number)
        theirs = stats.bootstrap((d,), np.mean, method="percentile", rng=3).confidence_interval
        # A quantile of 9,999 draws is off by about 0.03 standard errors of the mean.
        allowed = 6 * 0.03 * d.std() / np.sqrt(80)
        assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=allowed)


def test_the_bootstrap_depends_on_the_seed_only():
    values = np.random.default_rng(2).random((3, 300))
    first = resampling.bootstrap(Contrasts(values, [(0, 1), (1, 2)]), 700, seed=1)
    again = resampling.bootstrap(Contrasts(values[::-1], [(1, 0), (2, 1)]), 700, seed=1, workers=3)
    assert np.array(again[::-1]) == pytest.approx(np.array(first), abs=1e-12)
    assert resampling.bootstrap(Contrasts(values, [(0, 1)]), 700, seed=2) != first[:1]


def test_intervals_cover_the_truth_as_often_as_they_say():
    random = np.random.default_rng(4)
    values = np.vstack([random.normal(0.3, 1.0, size=(600, 60)), np.zeros((1, 60))])
    contrasts = Contrasts(values, [(i, 600) for i in range(600)])
    drawn = np.array(resampling.bootstrap(contrasts, 499, seed=1))
    student = np.array([classical.t_interval(row) for row in values[:600]])
    for intervals, nominal in ((drawn, 0.94), (student, 0.95)):
        covered = np.mean((intervals[:, 0] <= 0.3) & (intervals[:, 1] >= 0.3))
        assert covered == pytest.approx(nominal, abs=4 * np.sqrt(0.95 * 0.05 / 600))


BOOTSTRAP = """
import sys, numpy as np
from residuum.paired import resampling
from residuum.paired.resampling import Contrasts
values = np.random.default_rng(4).random((11, 300))[: int(sys.argv[1])]
print([x.hex() for x in resampling.bootstrap(Contrasts(values, [(0, 1)]), 500, seed=1)[0]])
"""


def test_bootstrap_digits_are_those_of_every_processor_and_table():
    """OpenBLAS adds in another order on another core; a wider matrix takes other kernels too."""
    newer = {"avx2": ["Haswell", "Zen"], "avx512": ["Haswell", "Zen", "SkylakeX"]}
    cores = ["Prescott", *newer.get(machine.cpu().instructions, [])]
    printed = {
        subprocess.run(
            [sys.executable, "-c", BOOTSTRAP, sides],
            env={**os.environ, "PYTHONPATH": str(ROOT / "workflow"), "OPENBLAS_CORETYPE": core},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for core in cores
        for sides in ("2", "11")
    }
    assert len(printed) == 1


def test_bootstrap_of_large_values_is_that_of_small_ones():
    values = np.random.default_rng(5).random((2, 60))
    small = resampling.bootstrap(Contrasts(values, [(0, 1)]), 200, seed=1)[0]
    large = resampling.bootstrap(Contrasts(values * 2.0**30, [(0, 1)]), 200, seed=1)[0]
    assert large == pytest.approx([x * 2.0**30 for x in small], rel=1e-6)


def test_an_alpha_out_of_reach_has_no_detectable_difference():
    assert classical.min_detectable(np.array([1.0, 2.0]), alpha=1e-6) is None
    assert classical.min_detectable(np.array([1.0, 2.0]), alpha=1e-3) > 0

"""Comparisons over seeds: the model by hand, and its size where seeds make a real difference."""

import numpy as np
import pytest
from scipy import stats

from residuum.paired import classical, comparisons


@pytest.mark.parametrize(
    ("a", "b", "met"),
    [
        (3, 3, [(0, 0), (1, 1), (2, 2)]),
        (3, 1, [(0, 0), (1, 0), (2, 0)]),
        (1, 2, [(0, 0), (0, 1)]),
        (1, 1, []),
        (2, 3, []),
    ],
)
def test_which_runs_meet(a, b, met):
    assert comparisons.paired_runs(a, b) == met


def test_the_model_by_hand():
    # Grand mean 2; query means 1 and 3, seed means 1.5 and 2.5; residuals of 0.5 either way.
    # MS_query = 2 (1 + 1) / 1 = 4, MS_seed = 2 (0.25 + 0.25) / 1 = 1, MS_residual = 4 x 0.25 = 1.
    # Variance of the mean (4 + 1 - 1) / 4 = 1; degrees of freedom 4^2 / (16 + 1 + 1) = 16/18.
    d = np.array([[1.0, 1.0], [2.0, 4.0]])
    assert classical.over_seeds(d).p == pytest.approx(2 * stats.t.sf(2.0, 16 / 18))


def test_the_interval_by_hand():
    # As above: mean 2, standard error 1, 16/18 degrees of freedom.
    d = np.array([[1.0, 1.0], [2.0, 4.0]])
    half = stats.t.ppf(0.975, 16 / 18)
    assert classical.over_seeds(d)[1:] == pytest.approx((2 - half, 2 + half))
    assert classical.over_seeds(np.full((4, 3), 0.5))[1:] == (0.5, 0.5)


def test_the_interval_covers_what_that_over_queries_misses():
    drawn = simulate(1500, queries=200, runs=5, seed_effect=0.2)
    covers = np.mean([low <= 0 <= high for _, low, high in map(classical.over_seeds, drawn)])
    averaged = [classical.t_interval(d.mean(axis=1)) for d in drawn]
    assert covers == pytest.approx(0.95, abs=4 * np.sqrt(0.05 * 0.95 / 1500))
    assert np.mean([low <= 0 <= high for low, high in averaged]) < 0.7


def test_the_variance_is_no_less_than_the_residuals():
    # Query and seed means are all equal: only residuals of 1 either way are left. MS_residual = 4.
    d = 5 + np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert classical.over_seeds(d).p == pytest.approx(2 * stats.t.sf(5 / 1.0, 4**2 / 4**2))


def test_without_variance():
    assert classical.over_seeds(np.zeros((4, 3))).p == 1.0
    assert classical.over_seeds(np.full((4, 3), 0.1)).p == 0.0


def simulate(count, queries, runs, seed_effect):
    """Draw differences of mean 0, shape (count, queries, runs), that vary by query and by seed."""
    random = np.random.default_rng(9)
    return (
        random.normal(0, 0.5, size=(count, queries, 1))
        + random.normal(0, seed_effect, size=(count, 1, runs))
        + random.normal(0, 0.5, size=(count, queries, runs))
    )


def test_with_a_seed_effect_only_the_test_over_seeds_keeps_its_size():
    drawn = simulate(1500, queries=200, runs=5, seed_effect=0.2)
    over_seeds = np.mean([classical.over_seeds(d).p < 0.05 for d in drawn])
    averaged = np.mean([classical.t_test(d.mean(axis=1)).p < 0.05 for d in drawn])
    assert over_seeds == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 1500))
    assert averaged > 0.3, "averaged over seeds, three null comparisons in ten look significant"


def test_without_a_seed_effect_both_keep_it():
    drawn = simulate(1500, queries=200, runs=5, seed_effect=0.0)
    for size in (
        np.mean([classical.over_seeds(d).p < 0.05 for d in drawn]),
        np.mean([classical.t_test(d.mean(axis=1)).p < 0.05 for d in drawn]),
    ):
        assert size == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 1500))


@pytest.mark.parametrize("seed_effect", [0.05, 0.2])
def test_of_three_seeds_few_verdicts_on_true_nulls_are_false(seed_effect):
    """As in tests/benchmarks/simulations.py: standard deviations 1 over queries, 0.5 residual."""
    random = np.random.default_rng(2)
    shape, false = (1500, 200, 3), 0
    drawn = random.normal(size=(1500, 200, 1)) + 0.5 * random.normal(size=shape)
    for d in drawn + seed_effect * random.normal(size=(1500, 1, 3)):
        both = max(classical.over_seeds(d).p, classical.t_test(d.mean(axis=1)).p)
        false += both < 0.05
    assert false / 1500 <= 0.08 + 3 * np.sqrt(0.08 * 0.92 / 1500)

"""Bounds against the paper's constants and by hand; the exact error against drawn projections."""

import math

import numpy as np
import pytest
from scipy.stats import f

from residuum.vectors import bounds


def test_constants_that_the_paper_prints() -> None:
    """k* <= 8.76 (eps^2/2 - eps^3/3)^-1 at an error of .05: 2 ln 80."""
    assert bounds.constant(0.05) == pytest.approx(8.764053)
    # at eps .1 with three million docs and r 10; and with eight vectors of each
    margins = np.array([0.1])
    assert bounds.guaranteed_recall(margins, 0.05, 3_000_000, 10) == pytest.approx(8270, abs=1)
    assert bounds.guaranteed_recall(margins, 0.05, 24_000_000, 10) == pytest.approx(9161, abs=1)


def test_formulas_by_hand() -> None:
    # eps = 1/2: 1/8 - 1/24 = 1/12
    assert bounds.exponent(0.5) == pytest.approx(1 / 12)
    assert bounds.error_bound(0.5, 48) == pytest.approx(4 * math.exp(-2))
    assert bounds.constant(0.04) == pytest.approx(2 * math.log(100))
    assert bounds.simple_dimensions(0.5, 0.04) == pytest.approx(48 * math.log(100))
    assert bounds.recall_bound(0.5, 48, 12, 3) == pytest.approx(40 * math.exp(-2))
    assert bounds.boolean_dimensions(3, 5, 0.04) == pytest.approx(360 * math.log(100))


def test_equation_2_inverts_lemma_1_and_the_simple_bound_is_looser() -> None:
    margins = np.linspace(0.01, 1, 50)
    for error in (0.5, 0.05, 1e-6):
        dimensions = bounds.constant(error) / bounds.exponent(margins)
        for margin, k in zip(margins, dimensions, strict=True):
            assert bounds.error_bound(margin, k) == pytest.approx(error)
        assert (bounds.simple_dimensions(margins, error) >= dimensions - 1e-9).all()


@pytest.mark.parametrize("margin", [0.05, 0.1, 0.2, 0.4, 0.9])
def test_exact_error_is_that_of_drawn_gaussian_projections(margin: float) -> None:
    """Of A u and A v with <u, v> = margin, in two dimensions, which are all that matter."""
    random, draws = np.random.default_rng(3), 40_000
    for k in (1, 2, 7, 32):
        x, y = random.normal(size=(2, draws, k))
        product = (x * (margin * x + math.sqrt(1 - margin**2) * y)).sum(axis=1)
        exact = bounds.gaussian_error(margin, k)
        deviation = math.sqrt(exact * (1 - exact) / draws)
        assert abs((product <= 0).mean() - exact) < 4.5 * deviation
        assert exact == pytest.approx(f.cdf((1 - margin) / (1 + margin), k, k))
        assert exact <= bounds.error_bound(margin, k)


def test_least_dimensions_of_an_exact_error_are_least() -> None:
    known = {0.05: 1082, 0.1: 270, 0.2: 67, 0.4: 17}  # found by trying each k with scipy.stats.f
    for margin, least in known.items():
        ratio = (1 - margin) / (1 + margin)
        errors = [f.cdf(ratio, k, k) for k in range(1, least + 1)]
        assert exactly([margin], [3]) == least
        assert errors[-1] <= 0.05 < min(errors[:-1])
    assert exactly([1.0], [1]) == 1
    # three pairs of .1 for each of .4: the mean of both errors
    errors = [(3 * f.cdf(9 / 11, k, k) + f.cdf(3 / 7, k, k)) / 4 for k in range(1, 300)]
    least = next(k for k, own in enumerate(errors, 1) if own <= 0.05)
    assert exactly([0.1, 0.4], [3, 1]) == least and 17 < least < 270


def test_guarantees_are_least_by_trying_each() -> None:
    """Lemma 1 of a mix of margins, each bound at most 1; Lemma 2 of the queries of a split."""
    margins, counts = np.array([0.5, 0.2]), np.array([9, 1])
    x = [1 / 12, 0.02 - 0.008 / 3]
    bound = [
        0.9 * min(1, 4 * math.exp(-k / 2 * x[0])) + 0.1 * min(1, 4 * math.exp(-k / 2 * x[1]))
        for k in range(1, 1000)
    ]
    least = next(k for k, own in enumerate(bound, 1) if own <= 0.05)
    assert bounds.guaranteed_dimensions(margins, counts, 0.05) == least
    recall = [
        np.mean([min(1, 4 * 11 * math.exp(-k / 2 * own)) for own in x]) for k in range(1, 3000)
    ]
    least = next(k for k, own in enumerate(recall, 1) if own <= 0.05)
    assert bounds.guaranteed_recall(margins, 0.05, 20, 10) == least
    alone = bounds.guaranteed_dimensions(margins[1:], counts[1:], 0.05)
    assert alone == math.ceil(8.764053 / (0.2**2 / 2 - 0.2**3 / 3)), "k of the paper's Eq. 2"


def exactly(margins: list[float], counts: list[int]) -> int:
    return bounds.gaussian_dimensions(np.array(margins), np.array(counts), 0.05)

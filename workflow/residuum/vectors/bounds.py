"""How many dimensions a random projection needs to keep a ranking: bounds, and the exact value.

Usage: `error_bound(margin, dimensions)`. A margin is the normalised margin of Luan et al. 2021
(ME-BERT), Definition 2.1: mu(q, d1, d2) = <q, d1 - d2> / (|q| |d1 - d2|), in (0, 1]. Sources: their
Lemmas 1 and 2, Corollaries 1 and 2. Margins may be arrays.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from scipy.special import betainc

Number = TypeVar("Number", float, np.ndarray)


def exponent(margin: Number) -> Number:
    """Return eps^2/2 - eps^3/3 =: x; errors fall with dimensions k as exp(-k x / 2)."""
    value: Number = margin * margin * (1 / 2 - margin / 3)
    return value


def error_bound(margin: Number, dimensions: int) -> Number:
    """Return a bound on the probability that a projection turns a pair (Lemma 1, Eq. 1).

    A bound above 1 says nothing.
    """
    return 4 * np.exp(-dimensions / 2 * exponent(margin))


def constant(error: float) -> float:
    """Return the factor of 1/(eps^2/2 - eps^3/3) in Eq. 2: 8.76 at an error of .05."""
    return 2 * math.log(4 / error)


def simple_dimensions(margin: Number, error: float) -> Number:
    """Return the looser bound that is quadratic in 1/margin (Corollary 1)."""
    return 12 / margin**2 * math.log(4 / error)


def recall_bound(margin: Number, dimensions: int, docs: int, depth: int) -> Number:
    """Return a bound on the probability that a query's first doc leaves the first `depth`.

    This is Lemma 2. `margin` is the `depth`-th smallest of the margins to the other `docs`.
    """
    return (docs - depth + 1) * error_bound(margin, dimensions)


def boolean_dimensions(query_terms: float, doc_terms: float, error: float) -> float:
    """Return dimensions for all pairs of Boolean vectors, given their most terms (Corollary 2)."""
    return 24 * query_terms * doc_terms * math.log(4 / error)


def gaussian_error(margin: Number, dimensions: int) -> Number:
    """Return the exact probability that a Gaussian projection turns a pair.

    It is I_{(1-eps)/2}(k/2, k/2). No paper cited here prints it. The projections of two unit
    vectors with cosine eps are, entry by entry, x and eps x + sqrt(1 - eps^2) y. Their product is
    (1+eps)/2 times one chi-square of k degrees less (1-eps)/2 times another. It is negative where
    an F is below the ratio.
    """
    chance: Number = betainc(dimensions / 2, dimensions / 2, (1 - margin) / 2)
    return chance


def gaussian_dimensions(margins: np.ndarray, counts: np.ndarray, error: float) -> int:
    """Return the least dimensions at which a Gaussian projection turns few enough pairs.

    `counts` has the number of pairs of each margin. The expected share of turned pairs among all is
    at most `error`.
    """
    return _least(lambda k: np.average(gaussian_error(margins, k), weights=counts), error)


def guaranteed_dimensions(margins: np.ndarray, counts: np.ndarray, error: float) -> int:
    """Return the least dimensions at which Lemma 1 bounds the share of turned pairs by `error`."""
    bound = partial(error_bound, margins)
    return _least(lambda k: np.average(np.minimum(1, bound(k)), weights=counts), error)


def guaranteed_recall(margins: np.ndarray, error: float, docs: int, depth: int) -> int:
    """Return the least dimensions at which Lemma 2 bounds the share of lost first docs by `error`.

    `margins` holds for each query the `depth`-th smallest margin to the other `docs`.
    """
    return _least(lambda k: np.minimum(1, recall_bound(margins, k, docs, depth)).mean(), error)


def _least(failing: Callable[[int], float], error: float) -> int:
    """Return the least dimensions at which `failing`, which falls with them, is at most `error`."""
    low, high = 0, 1
    while failing(high) > error:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if failing(middle) <= error else (middle, high)
    return high

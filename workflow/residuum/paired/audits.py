"""Which ranks of many systems the data can tell apart: rank intervals and groups.

Usage: `audit(values, strata, resamples=9999, seed=1)`, with a row of values for each system.
Sources: Mogstad, Romano, Shaikh and Wilhelm, Inference for Ranks, Review of Economic Studies 2024
(intervals of ranks from differences tested together); Romano and Wolf, Econometrica 2005 (the
largest of studentised differences by bootstrap); Piepho, Journal of Computational and Graphical
Statistics 2004 (letters of groups).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats

from residuum.cli.errors import ResiduumError
from residuum.config.specs import derive
from residuum.paired.classical import LEVEL, TIE
from residuum.paired.resampling import sums_of_draws
from residuum.paired.strata import Strata

# Units, queries or collections, below which Bonferroni's bound takes the place of the bootstrap:
# so few units span too few directions to draw many differences from. So it is with more systems
# than units.
FEWEST = 25
LEAST_RESAMPLES = 99
MOST_GROUPS = 60  # more of them tell a reader nothing
POWER = 0.8


class Audit(NamedTuple):
    """What can be said of the order of systems by their means, each of shape (systems,) or pairs.

    `low` and `high` bound the true rank of a system, with 95% confidence for each by itself.
    `apart` says for each two systems whether their order is certain, all pairs taken together with
    95% confidence. `alone` says so of each pair as if it were the only one. `errors` are standard
    errors of differences. A difference beyond `bounds` errors is apart.
    """

    means: np.ndarray
    low: np.ndarray
    high: np.ndarray
    apart: np.ndarray
    alone: np.ndarray
    errors: np.ndarray
    bounds: np.ndarray

    @property
    def order(self) -> list[int]:
        """The systems from the highest mean down; of equal means, the first given comes first."""
        return [int(number) for number in np.argsort(-np.round(self.means / TIE), kind="stable")]

    @property
    def detectable(self) -> np.ndarray:
        """True differences that four times in five would be found apart, of shape (pairs)."""
        return np.asarray((self.bounds + stats.norm.ppf(POWER)) * self.errors)


def audit(
    values: np.ndarray, strata: Strata | None, resamples: int, seed: int, workers: int = 1
) -> Audit:
    """Return which ranks are certain, of values of shape (systems, units).

    Units are queries, or collections. The collections of `strata` count alike, and queries are
    drawn within each. Raises ResiduumError for fewer than two systems or three units.
    """
    systems, units = values.shape
    if systems < 2 or units < 3:
        text = f"{systems} systems and {units} queries or collections"
        raise ResiduumError(f"{text}: an audit needs two systems and three of the others")
    if resamples < LEAST_RESAMPLES:
        raise ResiduumError(f"resamples: {resamples}; an audit needs {LEAST_RESAMPLES} or more")
    weighted = values * strata.weights if strata else values
    means = weighted.mean(axis=1)
    members = strata.members if strata else [np.arange(units)]
    errors, freedom = _errors(weighted, members)
    level = strata.levelled(weighted.T).T if strata else weighted
    if min(*map(len, members), units) < FEWEST or units < systems:
        pairs = systems * (systems - 1) / 2
        tails = [(1 - LEVEL) / 2 / number for number in (systems - 1, pairs)]
        each, every = (stats.t.isf(tail, freedom) for tail in tails)
    else:
        drawn = sums_of_draws(
            level - level.mean(axis=1, keepdims=True), derive(seed, "audit"), resamples, workers,
            strata,
        )  # fmt: skip
        quantiles = _quantiles(drawn, errors, units)
        tails = stats.norm.sf(quantiles)  # of the normal distribution, and then of Student's
        each, every = (stats.t.isf(tail, freedom) for tail in (tails[:-1, None], tails[-1]))
    difference = means[:, None] - means[None, :]
    sure = units >= FEWEST  # that a difference which never varies is one
    constant = np.where(difference > 0, np.inf, -np.inf) if sure else np.zeros_like(difference)
    varies = errors > 0
    ratio = np.where(varies, difference / np.where(varies, errors, 1), constant)
    ratio = np.where(np.abs(difference) <= TIE, 0.0, ratio)
    alone = np.abs(ratio) > stats.t.isf((1 - LEVEL) / 2, freedom)
    low = 1 + (ratio < -each).sum(axis=1)
    high = systems - (ratio > each).sum(axis=1)
    return Audit(means, low, high, np.abs(ratio) > every, alone, errors, every)


def _errors(weighted: np.ndarray, members: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard error of each two systems' mean difference, and degrees of freedom.

    An error is 0 where nothing varies. The degrees of freedom are Satterthwaite's: a collection of
    few queries, of which each weighs much, decides them.
    """
    systems, units = weighted.shape
    variance, squares = np.zeros((systems, systems)), np.zeros((systems, systems))
    for queries in members:
        own = weighted[:, queries]
        parts = np.array([(one - own).var(axis=1, ddof=1) for one in own])
        parts *= len(queries) / units**2
        variance += parts
        squares += parts**2 / (len(queries) - 1)
    errors = np.sqrt(variance)
    freedom = np.where(squares > 0, variance**2 / np.where(squares > 0, squares, 1), units - 1)
    return np.where(errors <= TIE, 0.0, errors), freedom


def _quantiles(drawn: Iterator[np.ndarray], errors: np.ndarray, units: int) -> np.ndarray:
    """Return the 95% quantiles of the largest studentised difference of draws.

    The last is that of all pairs; the others are those of each system's differences from others.
    """
    scale = np.sqrt(units / (units - 1)) / units
    largest = []
    for sums in drawn:
        deviations, block = sums * scale, np.zeros_like(sums)
        for number, own in enumerate(deviations):
            varies = errors[number] > 0
            if varies.any():
                distance = np.abs(own - deviations[varies]) / errors[number][varies, None]
                block[number] = distance.max(axis=0)
        largest.append(block)
    found = np.concatenate(largest, axis=1)
    every = np.vstack([found, found.max(axis=0)])
    return np.asarray(np.quantile(every, LEVEL, axis=1, method="higher"))


def groups(apart: np.ndarray, order: list[int]) -> list[list[int]]:
    """Return the largest groups of systems of which no two are apart, by their first system.

    Piepho's insert and absorb: each pair that is apart splits the groups that hold both. Of more
    than MOST_GROUPS there are none.
    """
    made = [frozenset(order)]
    for place, one in enumerate(order):
        for other in order[place + 1 :]:
            if apart[one, other]:
                split = [group for group in made if {one, other} <= group]
                kept = [group for group in made if group not in split]
                for part in [group - {gone} for group in split for gone in (other, one)]:
                    if not any(part <= group for group in kept):
                        kept = [group for group in kept if not group <= part] + [part]
                made = kept
                if len(made) > MOST_GROUPS:
                    return []
    ranks = {system: rank for rank, system in enumerate(order)}
    listed = [sorted(group, key=ranks.__getitem__) for group in made]
    return sorted(listed, key=lambda group: [ranks[system] for system in group])

"""Which ranks of many systems the data can tell apart: rank intervals and groups.

Usage: `audit(values, strata, resamples=9999, seed=1)`, with a row of values for each system.
Sources: Mogstad, Romano, Shaikh and Wilhelm, Inference for Ranks, Review of Economic Studies 2024
(intervals of ranks from differences tested together); Romano and Wolf, Econometrica 2005 (the
largest of studentised differences by bootstrap); Piepho, Journal of Computational and Graphical
Statistics 2004 (letters of groups).
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from residuum.cli.errors import ResiduumError
from residuum.config.specs import derive
from residuum.paired.classical import LEVEL, TIE
from residuum.paired.resampling import sums_of_draws
from residuum.paired.strata import Strata

# Units, queries or collections, below which Bonferroni's bound takes the place of the bootstrap:
# so few units span too few directions to draw many differences from.
FEWEST = 25
POWER = 0.8


class Audit(NamedTuple):
    """What can be said of the order of systems by their means, each of shape (systems,) or pairs.

    `low` and `high` bound the true rank of a system, with 95% confidence for each by itself.
    `apart` says for each two systems whether their order is certain, all pairs taken together with
    95% confidence. `alone` says so of each pair as if it were the only one. `errors` are standard
    errors of differences. A difference beyond `bound` errors is apart.
    """

    means: np.ndarray
    low: np.ndarray
    high: np.ndarray
    apart: np.ndarray
    alone: np.ndarray
    errors: np.ndarray
    bound: float

    @property
    def order(self) -> list[int]:
        """The systems from the highest mean down; of equal means, the first given comes first."""
        return [int(number) for number in np.argsort(-self.means, kind="stable")]

    @property
    def detectable(self) -> np.ndarray:
        """True differences that four times in five would be found apart, of shape (pairs)."""
        return np.asarray((self.bound + stats.norm.ppf(POWER)) * self.errors)


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
    weighted = values * strata.weights if strata else values
    means = weighted.mean(axis=1)
    level = strata.levelled(weighted.T).T if strata else weighted
    errors = _errors(level)
    each, bound = _bounds(level - level.mean(axis=1, keepdims=True), errors, strata, resamples,
                          seed, workers)  # fmt: skip
    difference = means[:, None] - means[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(np.abs(difference) <= TIE, 0.0, difference / errors)
    alone = np.abs(ratio) > stats.t.ppf((1 + LEVEL) / 2, units - 1)
    low = 1 + (ratio < -each[:, None]).sum(axis=1)
    high = systems - (ratio > each[:, None]).sum(axis=1)
    return Audit(means, low, high, np.abs(ratio) > bound, alone, errors, bound)


def _errors(values: np.ndarray) -> np.ndarray:
    """Return the standard error of each two systems' mean difference; 0 where nothing varies."""
    made = np.empty((len(values), len(values)))
    for row, own in zip(made, values, strict=True):
        off = (own - values) - (own - values).mean(axis=1, keepdims=True)
        row[:] = np.sqrt((off**2).sum(axis=1) / (values.shape[1] * (values.shape[1] - 1)))
    return np.where(made <= TIE, 0.0, made)


def _bounds(
    off: np.ndarray,
    errors: np.ndarray,
    strata: Strata | None,
    resamples: int,
    seed: int,
    workers: int,
) -> tuple[np.ndarray, float]:
    """Return the bound on a system's differences from the others, and on those of all pairs.

    In units of standard errors. Of the largest difference of each draw it is the 95% quantile,
    brought from the normal distribution's tail to that of Student's t. Of few units it is
    Bonferroni's.
    """
    systems, units = off.shape
    if units < FEWEST:
        tails = [(1 - LEVEL) / 2 / number for number in (systems - 1, systems * (systems - 1) / 2)]
        own, every = (float(stats.t.isf(tail, units - 1)) for tail in tails)
        return np.full(systems, own), every
    drawn = sums_of_draws(off, derive(seed, "audit"), resamples, workers, strata)
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
    made = np.quantile(np.vstack([found, found.max(axis=0)]), LEVEL, axis=1, method="higher")
    made = stats.t.isf(stats.norm.sf(made), units - 1)
    return made[:-1], float(made[-1])


def groups(apart: np.ndarray, order: list[int]) -> list[list[int]]:
    """Return the largest groups of systems of which no two are apart, by their first system.

    Piepho's insert and absorb: each pair that is apart splits the groups that hold both.
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
    ranks = {system: rank for rank, system in enumerate(order)}
    listed = [sorted(group, key=ranks.__getitem__) for group in made]
    return sorted(listed, key=lambda group: [ranks[system] for system in group])

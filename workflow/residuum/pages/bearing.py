"""Whether data could have shown the effect that a comparison is about: rules of docs/verdicts.md.

Usage: `weigh(test, [basis_a], [basis_b], Limits(metrics, bounds), tests)`. The rules read measures
and counts. No rule reads which of two rows is better.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from residuum.artefacts import trec
from residuum.config.schema.tests import Tests
from residuum.pages import grids
from residuum.pages.jobs import Basis
from residuum.paired import Comparison
from residuum.paired.comparisons import CLASSICAL
from residuum.tuning.learned import ERRORS, error_of
from residuum.wiring.paths import below_bounds

SEEDS = 3  # trainings of each row that a verdict on a method needs


@dataclass(frozen=True)
class Weighed(Comparison):
    """A comparison, and what the data could have shown.

    `trainings` is the smallest number of seeds of a model behind one row and not the other; None if
    a row has no such model. `must_differ` is the fewest queries on which the rows must differ
    for the test to be significant. `room_a` is how far a can lie above the mean of b at most,
    `room_b` the same of b and a; None if no ceiling is known. `at_chance` says which dense part
    answers no more than chance.
    """

    trainings: int | None = None
    must_differ: int = 0
    room_a: float | None = None
    room_b: float | None = None
    at_chance: str | None = None


class Limits:
    """What a random order and the best order reach, and what dense parts reach by themselves."""

    def __init__(self, metrics: Path, bounds: Path) -> None:
        """Read from the folders of metrics files and of bounds; each file is read once."""
        self._metrics, self._bounds = metrics, bounds
        self._read, self._read_bounds = cache(trec.read_metrics), cache(trec.read_bounds)
        self.at_chance = cache(self._at_chance)  # of a row, which is compared with many

    def ceiling(self, basis: Basis) -> float | None:
        """Return the mean of the best order over all queries, or None without a formula."""
        known = self._bounds_of(basis) if basis.whole else None
        return None if known is None else float(known["ceiling"].to_numpy().mean())

    def _at_chance(self, basis: Basis) -> str | None:
        """Return which dense part behind a row is at most ERRORS standard errors above chance.

        A part with seeds counts by each query's mean. None if all are above, or if no formula
        gives the value of a random order.
        """
        known = self._bounds_of(basis) if basis.alone else None
        if known is None:
            return None
        for runs in basis.alone:
            both = self._values(basis, runs).join(known, on="query_id", how="inner")
            above = (both["value"] - both["chance"]).to_numpy()
            error = error_of(above)
            if above.mean() <= ERRORS * error:
                value, chance = both["value"].to_numpy().mean(), both["chance"].to_numpy().mean()
                name = runs[0].partition(".")[0]
                return (
                    f"{name} answers no more than chance on {basis.split_ref}: "
                    f"{basis.measure} {value:.4f} ± {error:.4f}, a random order {chance:.4f}"
                )
        return None

    def _values(self, basis: Basis, runs: Sequence[str]) -> pl.DataFrame:
        """Return query_id and value, the mean over runs."""
        where = f"{runs[0]} on {basis.split_ref}: "
        values = grids.read_matrix(
            self._metrics, basis.split_ref, runs, str(basis.measure), where, self._read
        )
        return pl.DataFrame({"query_id": values.query_ids, "value": values.values.mean(axis=1)})

    def _bounds_of(self, basis: Basis) -> pl.DataFrame | None:
        """Return query_id, measure, chance and ceiling, or None if the measure has no bounds."""
        if basis.measure is None:
            return None
        path = self._bounds / below_bounds(basis.split_ref, basis.over)
        known = self._read_bounds(path).filter(measure=basis.measure)
        return known if known.height else None


@cache
def must_differ(test: str, alpha: float, queries: int) -> int:
    """Return the fewest queries on which two rows must differ for a p of alpha, uncorrected.

    The best case is that all these differences are equal. Of the signs of m differences two of 2^m
    patterns are then as extreme: the p by flips. Other tests compute theirs. If no number of
    queries is enough, all of them and one more must differ.
    """
    for number in range(1, queries + 1):
        alike = np.zeros(queries)
        alike[:number] = 1.0
        p = 2.0 ** (1 - number) if test == "permutation" else CLASSICAL[test](alike).p
        if p <= alpha:
            return number
    return queries + 1


def trainings(a: Collection[str], b: Collection[str]) -> int | None:
    """Return the smallest number of seeds of a model behind one of two rows and not the other.

    None if a row has no such model: what both rows share cannot make their difference.
    """
    counts = []
    for mine, others in ((a, b), (b, a)):
        seeds = Counter(model.rpartition("/")[0] for model in {*mine} - {*others})
        counts.append(min(seeds.values(), default=0))
    return min(counts) or None


def weigh(
    test: Comparison, a: Sequence[Basis], b: Sequence[Basis], limits: Limits, tests: Tests
) -> Weighed:
    """Return a comparison with what the data could have shown.

    A gap, one row less another one, rests on the bases of both rows.
    """
    both = [*a, *b]
    of_a, of_b = ({model for basis in bases for model in basis.models} for bases in (a, b))
    rooms: list[float | None] = [None, None]
    if len(a) == len(b) == 1:
        tops = [limits.ceiling(basis) for basis in both]
        rooms = [
            None if top is None else top - other
            for top, other in zip(tops, (test.mean_b, test.mean_a), strict=True)
        ]
    return Weighed(
        **{field.name: getattr(test, field.name) for field in fields(Comparison)},
        trainings=trainings(of_a, of_b),
        must_differ=must_differ(test.test, tests.alpha, test.n),
        room_a=rooms[0],
        room_b=rooms[1],
        at_chance=next(filter(None, map(limits.at_chance, both)), None),
    )


def unshown(test: Weighed, ways: Collection[bool]) -> str | None:
    """Return why the data could not have shown a difference, or None.

    `ways` holds True for a above b, and False for b above a. One way with room is enough. Without
    a way nothing is asked but whether dense parts are above chance: two rows may well be equal. A
    significant difference was shown, whichever way it points.
    """
    if test.at_chance or not ways:
        return test.at_chance
    return None if test.significant else _too_few(test) or _no_room(test, ways)


def _too_few(test: Weighed) -> str | None:
    differ = test.wins + test.losses
    if differ >= test.must_differ:
        return None
    return (
        f"{test.a} and {test.b} differ on {differ} of {test.n} queries, and the test needs "
        f"{test.must_differ}"
    )


def _no_room(test: Weighed, ways: Collection[bool]) -> str | None:
    rooms = [_no_room_for(test, above) for above in ways]
    return rooms[0] if all(rooms) else None


def _no_room_for(test: Weighed, above: bool) -> str | None:
    """Return why a cannot be shown above b (`above`), or b above a; None if it can.

    It can if the best order of the docs lies above the other row's mean by the detectable
    difference or more.
    """
    room = test.room_a if above else test.room_b
    if room is None or test.min_detectable is None or room >= test.min_detectable:
        return None
    upper, lower = (test.a, test.b) if above else (test.b, test.a)
    return (
        f"the best order of the docs puts {upper} above {lower} by {np.round(room, 4):+g}, and the "
        f"test detects {test.min_detectable:.4f}"
    )

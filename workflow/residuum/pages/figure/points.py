"""A point of a figure: a series in one panel, at one depth, effort, cutoff and so on.

Usage: `Point(panel, series, 10, "10", scores)`; `compare(job, tested, points)` adds the tests.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from residuum import paired
from residuum.pages.figure.entry import Panel, Series
from residuum.pages.figure.job import BoundFigure


class Point(NamedTuple):
    """A series at one point of a panel, and its test against the first series, if any."""

    panel: Panel
    series: Series
    x: int  # depth or effort, 0 for the first stage alone or the exact search; others from 1
    at: str
    scores: paired.ScoreMatrix
    cost: float | None = None  # per query: docs reranked, if known, or vectors compared
    test: paired.Comparison | None = None

    @property
    def column(self) -> str:
        """Name the column of its test: the series of one panel at one point."""
        return f"{self.panel.id}/{self.at}"

    @property
    def means(self) -> np.ndarray:
        """Return the mean over queries of each run."""
        return np.asarray(self.scores.values.mean(axis=0))


def compare(job: BoundFigure, tested: Collection[str], points: Sequence[Point]) -> list[Point]:
    """Test each other series against the first, per panel, at every point that both have.

    `tested` names the series whose models learned; others are not tested. A series on another split
    than the first is not tested either, because its queries differ.
    """
    first = (job.drawn() or job.entry.series)[0]
    beside = {one for one in tested if job.splits[one] == job.splits[first.id]}
    scores = {(point.series.id, point.column): point.scores for point in points}
    pairs = []
    for p in points:  # x = 0, where nothing is reranked or left out, is not tested
        both = {p.series.id, first.id} <= beside
        if both and p.x > 0 and p.series.id != first.id and (first.id, p.column) in scores:
            family = job.id if job.tests.family == "table" else f"{job.id}/{p.panel.id}"
            pairs.append(paired.Pair(p.series.id, first.id, p.column, family=family))
    rows = paired.compare(scores, pairs, job.tests)
    adjusted = paired.adjust(rows, job.tests.correction, job.tests.alpha)
    tests = {(test.a, test.column): test for test in adjusted}
    return [point._replace(test=tests.get((point.series.id, point.column))) for point in points]

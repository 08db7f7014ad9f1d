"""The values behind a figure over the snapshots of trainings: a point per panel, series, snapshot.

Usage: `measured(job, metrics)`. The last snapshot is the finished model, whose runs tables show.
"""

from functools import cache
from pathlib import Path

from residuum.artefacts import trec
from residuum.pages import grids
from residuum.pages.figure.job import BoundFigure
from residuum.pages.figure.points import Point
from residuum.wiring.paths import below_metrics


def measured(job: BoundFigure, metrics: Path) -> list[Point]:
    """Return a point per panel, series and snapshot; x is the snapshot's number, from 1."""
    read, points = cache(trec.read_metrics), list[Point]()
    for panel, series in job.plotted():
        for at, runs in job.at_snapshots(series.id).items():
            names = [below_metrics(str(job.splits[series.id]), run) for run in runs]
            tables = {name: read(metrics / name) for name in names}
            where = f"{job.id}, {series.id} at snapshot {at}: "
            scores = grids.matrix(tables, str(panel.measure), where)
            points.append(Point(panel, series, int(at), at, scores))
    return points

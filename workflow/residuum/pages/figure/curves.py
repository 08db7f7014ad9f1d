"""The values behind a figure over depths or efforts: a point per panel, series and x.

Usage: `measured(figure, curve)`, so that figures and claims see the same values.
"""

from collections.abc import Mapping
from typing import cast

import polars as pl

from residuum import paired
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.pages import grids
from residuum.pages.figure.job import BoundFigure
from residuum.pages.figure.points import Point

Costs = Mapping[tuple[str, int], float]  # (run, effort): vectors compared for a query


def measured(job: BoundFigure, table: pl.DataFrame, costs: Costs | None = None) -> list[Point]:
    """Return a point per panel, series and x of the curve; all points have the same queries."""
    if not job.drawn():
        raise ResiduumError(f"{job.id}: no series has runs at scale {job.scale}")
    over, points = job.entry.over, []
    for panel, series in job.plotted():
        runs, measure = job.runs[series.id], panel.measure or trec.RECALL
        if missing := sorted(set(runs) - set(table["run"])):
            known = ", ".join(table["run"].unique().sort())
            text = f"the {over} curve lacks run {missing[0]}; it has {known}"
            raise ResiduumError(f"{job.id}: {text}")
        # Recall starts at x = 1: depth 0 has no candidates, and the exact search finds all docs.
        own = table.filter(pl.col("run").is_in(runs), pl.col(over) >= int(panel.measure is None))
        parts = own.partition_by(over, "run", as_dict=True)
        places = own.filter(measure=measure)[over].unique().sort()
        if places.is_empty():
            known = ", ".join(own["measure"].unique().sort()) or "nothing"
            raise ResiduumError(f"{job.id}: no values of {measure}; the {over} curve holds {known}")
        for x in places:
            tables = {run: parts.get((x, run), own.clear()) for run in runs}
            scores = grids.matrix(tables, measure, f"{job.id}, {over} {x}: ")
            lengths = own.filter(pl.col(over) == x, measure=trec.DOCS_RERANKED)["value"]
            cost = cast("float | None", lengths.mean())
            if costs:
                cost = sum(costs[run, x] for run in runs) / len(runs)
            points.append(Point(panel, series, x, str(x), scores, cost))
    sides = {f"{point.series.id} in {point.column}": point.scores.query_ids for point in points}
    paired.same_queries(sides, f"{job.id}: ")
    return points

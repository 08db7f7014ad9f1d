"""The values behind a figure over rerank depths: a point per panel, series and depth.

Usage: `measured(figure, depth_curve)`, so that figures and claims see the same values. Must not
know tests that are made of them, nor how docs were reranked.
"""

from typing import cast

import polars as pl

from residuum import paired
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.pages import grids
from residuum.pages.points import Point
from residuum.wiring.drawn import BoundFigure


def measured(job: BoundFigure, table: pl.DataFrame) -> list[Point]:
    """Return a point per panel, series and depth of the depth curve; all hold the same queries."""
    if not job.drawn():
        raise ResiduumError(f"{job.id}: no series has runs at scale {job.scale}")
    points = []
    for panel, series in job.plotted():
        runs, measure = job.runs[series.id], panel.measure or trec.RECALL
        if missing := sorted(set(runs) - set(table["run"])):
            known = ", ".join(table["run"].unique().sort())
            raise ResiduumError(f"{job.id}: the depth curve lacks run {missing[0]}; it has {known}")
        # recall starts at depth 1: at depth 0 nothing is a candidate
        own = table.filter(pl.col("run").is_in(runs), pl.col("depth") >= int(panel.measure is None))
        parts = own.partition_by("depth", "run", as_dict=True)
        depths = own.filter(measure=measure)["depth"].unique().sort()
        if depths.is_empty():
            known = ", ".join(own["measure"].unique().sort()) or "nothing"
            raise ResiduumError(f"{job.id}: no values of {measure}; the depth curve holds {known}")
        for depth in depths:
            tables = {run: parts.get((depth, run), own.clear()) for run in runs}
            scores = grids.matrix(tables, measure, f"{job.id}, depth {depth}: ")
            lengths = own.filter(depth=depth, measure=trec.DOCS_RERANKED)["value"]
            reranked = cast("float | None", lengths.mean())
            points.append(Point(panel, series, depth, str(depth), scores, reranked))
    sides = {f"{point.series.id} in {point.column}": point.scores.query_ids for point in points}
    paired.same_queries(sides, f"{job.id}: ")
    return points

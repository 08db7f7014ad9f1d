"""The points of a figure: means of each series over the rerank depth, a panel each measure.

Usage: `points(job, load(job, trec.read_depths(path)))`. Must not know how points are tested or
drawn.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from residuum.artefacts.trec import DOCS_RERANKED, RECALL
from residuum.cli.errors import ResiduumError
from residuum.paired import Comparison, same_queries
from residuum.wiring.bound import BoundFigure


class Curve(NamedTuple):
    """A series of a figure: {depth: values of shape (queries, runs)}, rows ordered by query_id."""

    query_ids: list[str]
    values: dict[int, np.ndarray]
    docs_reranked: dict[int, float]  # depth: docs reranked per query, where the file has it


@dataclass(frozen=True)
class Point:
    """A series at one depth in one panel."""

    panel: str
    series: str
    depth: int
    measure: str
    n: int
    seeds: int
    mean: float
    lowest: float
    highest: float
    per_seed: str
    docs_reranked: float | None

    @property
    def key(self) -> tuple[str, str, int]:
        """Return (panel id, series id, depth)."""
        return self.panel, self.series, self.depth


Key = tuple[str, str, int]
Curves = dict[tuple[str, str], Curve]  # (panel id, series id)
Tests = dict[Key, Comparison]  # the tested points


def load(job: BoundFigure, table: pl.DataFrame) -> Curves:
    """Return the curve of each series in each panel; all hold the same queries."""
    curves = {
        (panel.id, s.id): _curve(table, job.runs[s.id], panel.measure or RECALL)
        for panel in job.figure.panels
        for s in job.series()
    }
    same_queries({"/".join(key): c.query_ids for key, c in curves.items()}, f"{job.id}: ")
    return curves


def _curve(table: pl.DataFrame, runs: list[str], measure: str) -> Curve:
    """Return a measure of a series over the depths, a column per run; recall starts at depth 1."""
    own = table.filter(pl.col("run").is_in(runs))
    rows = own.filter((pl.col("measure") == measure) & (pl.col("depth") >= int(measure == RECALL)))
    missing = sorted(set(runs) - set(rows["run"]))
    if missing:
        known = ", ".join(sorted(set(table["run"])))
        raise ResiduumError(
            f"the depth curve holds no {measure} of {missing[0]}; its runs: {known}"
        )
    wide = rows.pivot("run", index=["depth", "query_id"], values="value").sort("depth", "query_id")
    parts = {part["depth"][0]: part for part in wide.partition_by("depth")}
    ids = parts[min(parts)]["query_id"].to_list()
    whole = all(part["query_id"].to_list() == ids for part in parts.values())
    if not whole or wide.null_count().sum_horizontal().item():
        raise ResiduumError(f"the depth curve's runs {', '.join(runs)} differ in depths or queries")
    sizes = own.filter(pl.col("measure") == DOCS_RERANKED)
    lengths = sizes.group_by("depth").agg(pl.col("value").mean())
    values = {depth: part.select(runs).to_numpy() for depth, part in parts.items()}
    return Curve(ids, values, dict(lengths.iter_rows()))


def points(job: BoundFigure, curves: Curves) -> list[Point]:
    """Return a point per panel, series and depth: means over queries and seeds, spread."""
    return [
        Point(
            panel.id,
            series.id,
            depth,
            measure=panel.measure or RECALL,
            n=len(values),
            seeds=len(means),
            mean=float(means.mean()),
            lowest=float(means.min()),
            highest=float(means.max()),
            per_seed=" ".join(str(float(mean)) for mean in means),
            docs_reranked=curve.docs_reranked.get(depth),
        )
        for panel in job.figure.panels
        for series in job.series()
        for curve in [curves[panel.id, series.id]]
        for depth, values in curve.values.items()
        for means in [values.mean(axis=0)]
    ]

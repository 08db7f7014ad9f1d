"""What is measured behind a table's cells: values per query, and the indexes that were searched.

Usage: `job, scores = load(job, metrics)`. Read by significance and tables alike, so that both see
the same values. Must not know tests or rendering.
"""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from residuum.artefacts import indexes, trec
from residuum.cli.errors import NotRun, ResiduumError
from residuum.config.schema.papers import Column, Row
from residuum.paired import ScoreMatrix, same_queries
from residuum.wiring.bound import BoundTable

Key = tuple[str, str]  # (row id, column id)


def load(job: BoundTable, metrics: Path) -> tuple[BoundTable, dict[Key, ScoreMatrix]]:
    """Read the cells that have runs; cells whose metrics hold a refusal are absent from the job.

    All cells of a column must hold the same queries; anything else is a ResiduumError, because a
    paired test over different queries means nothing.
    """
    tables: dict[Path, pl.DataFrame] = {}
    absent = {row: dict(reasons) for row, reasons in job.absent.items()}
    for row, column in job.cells():
        for path in _paths(job, metrics, row, column):
            try:
                tables[path] = tables[path] if path in tables else trec.read_metrics(path)
            except NotRun as reason:
                absent.setdefault(row.id, {})[column.id] = str(reason)
    job = job.model_copy(update={"absent": absent})
    scores = {(r.id, c.id): _matrix(job, metrics, r, c, tables) for r, c in job.cells()}
    for column in job.table.columns:
        rows = {r: one.query_ids for (r, name), one in scores.items() if name == column.id}
        same_queries(rows, f"{job.id}, column {column.id}: rows ")
    return job, scores


def searched(job: BoundTable, metrics: Path) -> dict[Key, list[indexes.Record | None]]:
    """Return what the runs of each cell searched, for a table that states its index; else {}."""
    return {
        (row.id, column.id): list(map(indexes.recorded, _paths(job, metrics, row, column)))
        for row, column in (job.cells() if job.table.index else ())
    }


def _paths(job: BoundTable, metrics: Path, row: Row, column: Column) -> list[Path]:
    return [metrics / name for name in job.metrics_of(row, column)]


def _matrix(
    job: BoundTable,
    metrics: Path,
    row: Row,
    column: Column,
    tables: Mapping[Path, pl.DataFrame],
) -> ScoreMatrix:
    paths = zip(job.runs[row.id], _paths(job, metrics, row, column), strict=True)
    runs = {run: _one_measure(path, tables[path], column.measure) for run, path in paths}
    ids, *others = (run["query_id"].to_list() for run in runs.values())
    if any(other != ids for other in others):
        raise ResiduumError(f"{job.id}, row {row.id}: its runs hold different query sets")
    values = pl.DataFrame({name: run["value"] for name, run in runs.items()})
    return ScoreMatrix(ids, job.runs[row.id], values.to_numpy())


def _one_measure(path: Path, table: pl.DataFrame, measure: str) -> pl.DataFrame:
    rows = table.filter(pl.col("measure") == measure).sort("query_id")
    if not rows.height:
        known = ", ".join(table["measure"].unique().sort())
        raise ResiduumError(f"{path}: no values of {measure}; it holds {known}")
    return rows

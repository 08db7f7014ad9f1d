"""The per-query values behind a table: which runs make which cell, aligned by query_id.

Usage: `cells = load(job, metrics_root)`. Read by significance and tables alike, so that both
see the same values. Must not know tests or rendering.
"""

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from residuum.core import schema, trec
from residuum.core.errors import ResiduumError
from residuum.core.jobs import Job


class Cell(NamedTuple):
    """Values of one system for one column: a row per query_id, a column per run (seed)."""

    query_ids: list[str]
    runs: list[str]
    values: Any  # numpy float64 of shape (queries, runs)

    @property
    def per_query(self) -> Any:
        """Mean over seeds, shape (queries,): what the paired tests compare."""
        return self.values.mean(axis=1)


def load(job: Job, root: Path) -> dict[tuple[str, str], Cell]:
    """Read every cell that has runs: {(row id, column id): Cell}.

    All cells of a column must hold the same queries; anything else is an error, because
    a paired test over different queries means nothing.
    """
    read: dict[Path, pl.DataFrame] = {}
    cells: dict[tuple[str, str], Cell] = {}
    for column in job.table.columns:
        for row in job.table.rows:
            if job.not_run(row, column) is None:
                cells[row.id, column.id] = _cell(job, root, row, column, read)
        _same_queries(job, column, cells)
    return cells


def _cell(
    job: Job, root: Path, row: schema.Row, column: schema.Column, read: dict[Path, pl.DataFrame]
) -> Cell:
    tables = []
    for run in job.runs[row.id]:
        path = root / str(job.places[column.id]) / f"{run}.tsv"
        if path not in read:
            read[path] = trec.read_metrics(path)
        tables.append(_one_measure(path, read[path], column.measure).rename({"value": run}))
    merged = tables[0]
    for table in tables[1:]:
        merged = merged.join(table, on="query_id", how="full", coalesce=True)
    if merged.null_count().sum_horizontal().item():
        raise ResiduumError(f"{job.id}, row {row.id}: its runs hold different query sets")
    merged = merged.sort("query_id")
    values = merged.drop("query_id").to_numpy()
    return Cell(merged["query_id"].to_list(), job.runs[row.id], values)


def _one_measure(path: Path, table: pl.DataFrame, measure: str) -> pl.DataFrame:
    rows = table.filter(pl.col("measure") == measure).select("query_id", "value")
    if not rows.height:
        known = ", ".join(table["measure"].unique().sort())
        raise ResiduumError(f"{path}: no values of {measure}; it holds {known}")
    return rows


def _same_queries(job: Job, column: schema.Column, cells: dict[tuple[str, str], Cell]) -> None:
    sets = {row: cell.query_ids for (row, name), cell in cells.items() if name == column.id}
    first = next(iter(sets), None)
    for row, ids in sets.items():
        if first is not None and ids != sets[first]:
            odd = sorted(set(ids) ^ set(sets[first]))
            raise ResiduumError(
                f"{job.id}, column {column.id}: rows {first} and {row} hold different queries "
                f"({len(odd)} of them, such as {odd[0]})"
            )

"""What stands behind a table's cells and a figure's points: values aligned by query_id.

Usage: `cells = load(job, metrics_root)`. Read by significance and tables alike, so that both
see the same values. Must not know tests or rendering.
"""

import io
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from residuum.core import files, indexes, schema, trec
from residuum.core.errors import NotRun, ResiduumError
from residuum.core.jobs import Job

DEPTH_CURVE = {
    "run": pl.String,
    "depth": pl.Int64,
    "query_id": pl.String,
    "measure": pl.String,
    "value": pl.Float64,
}
RECALL, DOCS_RERANKED = "recall", "docs_reranked"  # beside the measures of a depth curve


class Cell(NamedTuple):
    """Values of one system for one column: a row per query_id, a column per run (seed)."""

    query_ids: list[str]
    runs: list[str]
    values: Any  # numpy float64 of shape (queries, runs)

    @property
    def per_query(self) -> Any:
        """Mean over seeds, shape (queries,): what the paired tests compare."""
        return self.values.mean(axis=1)


def refused(job: Job, root: Path) -> Job:
    """Return the job with the cells absent whose metrics hold the reason why there are none."""
    absent = {row: dict(reasons) for row, reasons in job.absent.items()}
    for row, column in job.cells():
        for run in job.runs[row.id]:
            try:
                trec.read_metrics(_path(job, root, column, run))
            except NotRun as reason:
                absent.setdefault(row.id, {})[column.id] = str(reason)
    return job.model_copy(update={"absent": absent})


def searched(job: Job, root: Path) -> dict[tuple[str, str], list[indexes.Record | None]]:
    """Return what the runs of each cell searched, for a table that states its index; else {}."""
    found = job.cells() if job.table.index else ()
    return {
        (row.id, column.id): [
            indexes.recorded(_path(job, root, column, run)) for run in job.runs[row.id]
        ]
        for row, column in found
    }


def _path(job: Job, root: Path, column: schema.Column, run: str) -> Path:
    return root / str(job.places[column.id]) / f"{run}.tsv"


def load(job: Job, root: Path) -> dict[tuple[str, str], Cell]:
    """Read every cell that has runs: {(row id, column id): Cell}.

    All cells of a column must hold the same queries; anything else is an error, because
    a paired test over different queries means nothing.
    """
    read: dict[Path, pl.DataFrame] = {}
    cells = {(r.id, c.id): _cell(job, root, r, c, read) for r, c in job.cells()}
    for column in job.table.columns:
        _same_queries(job, column, cells)
    return cells


def _cell(
    job: Job, root: Path, row: schema.Row, column: schema.Column, read: dict[Path, pl.DataFrame]
) -> Cell:
    tables = []
    for run in job.runs[row.id]:
        path = _path(job, root, column, run)
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


class Curve(NamedTuple):
    """A series of a figure: {depth: values of shape (queries, runs)}, rows ordered by query_id."""

    query_ids: list[str]
    values: dict[int, Any]
    docs_reranked: dict[int, float]  # depth: docs reranked per query, where the file has it


def read_depths(path: Path) -> pl.DataFrame:
    """Read the values of runs cut at several depths; depth 0 is the first stage as it was."""
    text = files.read_bytes(path)
    want = f"{path}: expected a header and lines of `{' TAB '.join(DEPTH_CURVE)}`"
    if text.partition(b"\n")[0].decode(errors="replace").split("\t") != list(DEPTH_CURVE):
        raise ResiduumError(f"{want}; found {text[:80]!r}")
    try:
        table = pl.read_csv(io.BytesIO(text), separator="\t", schema=DEPTH_CURVE, quote_char=None)
    except pl.exceptions.PolarsError as error:
        raise ResiduumError(f"{want}; {error}") from None
    once = pl.struct("run", "depth", "query_id", "measure").is_first_distinct()
    finite = pl.col("value").is_finite().fill_null(False)
    bad = table.with_row_index("line", 2).filter(~(once & finite))
    if bad.height:
        line, *found = bad.row(0)
        raise ResiduumError(f"{path}, line {line}: no finite number, or twice; found {found}")
    return table


def curve(table: pl.DataFrame, runs: list[str], measure: str) -> Curve:
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
    lengths = (
        own.filter(pl.col("measure") == DOCS_RERANKED).group_by("depth").agg(pl.col("value").mean())
    )
    values = {depth: part.select(runs).to_numpy() for depth, part in parts.items()}
    return Curve(ids, values, dict(lengths.iter_rows()))

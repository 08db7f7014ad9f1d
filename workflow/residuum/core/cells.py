"""What stands behind a table's cells and a figure's points: values aligned by query_id.

Usage: `cells = load(job, metrics_root)`. Read by significance and tables alike, so that both
see the same values. Must not know tests or rendering.
"""

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from residuum.core import files, indexes, schema, trec
from residuum.core.errors import NotRun, ResiduumError
from residuum.wiring.bound import BoundTable

SWEEP = {
    "run": pl.String,
    "depth": pl.Int64,
    "query_id": pl.String,
    "measure": pl.String,
    "value": pl.Float64,
}
RECALL, PAIRS = "recall", "pairs"  # a sweep's names of the ceiling and of the docs reranked


class Cell(NamedTuple):
    """Values of one system for one column: a row per query_id, a column per run (seed)."""

    query_ids: list[str]
    runs: list[str]
    values: Any  # numpy float64 of shape (queries, runs)

    @property
    def per_query(self) -> Any:
        """Mean over seeds, shape (queries,): what the paired tests compare."""
        return self.values.mean(axis=1)


class Tuned(NamedTuple):
    """What was chosen for a run, on the queries of a place: the content of a tuning JSON."""

    run: str
    place: str
    record: dict[str, Any]


def refused(job: BoundTable, root: Path) -> BoundTable:
    """Return the job with the cells absent whose metrics hold the reason why there are none."""
    absent = {row: dict(reasons) for row, reasons in job.absent.items()}
    for row, column in job.cells():
        for name in job.metrics_of(row, column):
            try:
                trec.read_metrics(root / name)
            except NotRun as reason:
                absent.setdefault(row.id, {})[column.id] = str(reason)
    return job.model_copy(update={"absent": absent})


def searched(job: BoundTable, root: Path) -> dict[tuple[str, str], list[indexes.Record | None]]:
    """Return what the runs of each cell searched, for a table that states its index; else {}."""
    found = job.cells() if job.table.index else ()
    return {
        (row.id, column.id): [indexes.recorded(root / name) for name in job.metrics_of(row, column)]
        for row, column in found
    }


def load(job: BoundTable, root: Path) -> dict[tuple[str, str], Cell]:
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
    job: BoundTable,
    root: Path,
    row: schema.Row,
    column: schema.Column,
    read: dict[Path, pl.DataFrame],
) -> Cell:
    tables = []
    for run, name in zip(job.runs[row.id], job.metrics_of(row, column), strict=True):
        path = root / name
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


def _same_queries(
    job: BoundTable, column: schema.Column, cells: dict[tuple[str, str], Cell]
) -> None:
    sets = {row: cell.query_ids for (row, name), cell in cells.items() if name == column.id}
    first = next(iter(sets), None)
    for row, ids in sets.items():
        if first is not None and ids != sets[first]:
            odd = sorted(set(ids) ^ set(sets[first]))
            raise ResiduumError(
                f"{job.id}, column {column.id}: rows {first} and {row} hold different queries "
                f"({len(odd)} of them, such as {odd[0]})"
            )


def read_tuned(path: Path) -> Tuned:
    """Read a tuning JSON; its path, <dataset>/<split>/<run>.json, tells the place and the run."""
    return Tuned(path.stem, "/".join(path.parts[-3:-1]), json.loads(files.read_bytes(path)))


def depths(
    job: BoundTable, row: schema.Row, column: schema.Column, tuned: list[Tuned]
) -> list[Tuned]:
    """Return the depth record of each of a row's runs; none for a row that reranks nothing.

    A run that reranks but has no record, or only some of a row's runs, is an error.
    """
    if job.not_run(row, column) is not None:
        return []
    place = str(job.places[column.id])
    found = [_depth(run, place, tuned) for run in job.runs[row.id]]
    chosen = [record for record in found if record]
    if len(chosen) < len(found) and (chosen or job.systems.get(row.id, {}).get("kind") == "rerank"):
        run = job.runs[row.id][found.index(None)]
        raise ResiduumError(
            f"{job.id}, row {row.id}: no tuning record gives the depth of {run} on {place}; "
            f"name it with --tuning {place}/{run}.json"
        )
    return chosen


def _depth(run: str, place: str, tuned: list[Tuned]) -> Tuned | None:
    """Find a run's depth record: that of the place, or the only one."""
    records = [t for t in tuned if t.run == run and "depth" in t.record]
    there = [t for t in records if t.place == place] or records
    return there[0] if len(there) == 1 else None


class Curve(NamedTuple):
    """A series of a figure: {depth: values of shape (queries, runs)}, rows ordered by query_id."""

    query_ids: list[str]
    values: dict[int, Any]
    pairs: dict[int, float]  # depth: docs reranked per query, where the sweep tells


def read_sweep(path: Path) -> pl.DataFrame:
    """Read the values of runs cut at several depths; depth 0 is the first stage as it was."""
    text = files.read_bytes(path)
    want = f"{path}: expected a header and lines of `{' TAB '.join(SWEEP)}`"
    if text.partition(b"\n")[0].decode(errors="replace").split("\t") != list(SWEEP):
        raise ResiduumError(f"{want}; found {text[:80]!r}")
    try:
        table = pl.read_csv(io.BytesIO(text), separator="\t", schema=SWEEP, quote_char=None)
    except pl.exceptions.PolarsError as error:
        raise ResiduumError(f"{want}; {error}") from None
    once = pl.struct("run", "depth", "query_id", "measure").is_first_distinct()
    finite = pl.col("value").is_finite().fill_null(False)
    bad = table.with_row_index("line", 2).filter(~(once & finite))
    if bad.height:
        line, *found = bad.row(0)
        raise ResiduumError(f"{path}, line {line}: no finite number, or twice; found {found}")
    return table


def curve(sweep: pl.DataFrame, runs: list[str], measure: str) -> Curve:
    """Return a measure of a series over the depths, a column per run; recall starts at depth 1."""
    own = sweep.filter(pl.col("run").is_in(runs))
    rows = own.filter((pl.col("measure") == measure) & (pl.col("depth") >= int(measure == RECALL)))
    missing = sorted(set(runs) - set(rows["run"]))
    if missing:
        known = ", ".join(sorted(set(sweep["run"])))
        raise ResiduumError(f"the sweep holds no {measure} of {missing[0]}; its runs: {known}")
    wide = rows.pivot("run", index=["depth", "query_id"], values="value").sort("depth", "query_id")
    parts = {part["depth"][0]: part for part in wide.partition_by("depth")}
    ids = parts[min(parts)]["query_id"].to_list()
    whole = all(part["query_id"].to_list() == ids for part in parts.values())
    if not whole or wide.null_count().sum_horizontal().item():
        raise ResiduumError(f"the sweep's runs {', '.join(runs)} differ in depths or queries")
    lengths = own.filter(pl.col("measure") == PAIRS).group_by("depth").agg(pl.col("value").mean())
    values = {depth: part.select(runs).to_numpy() for depth, part in parts.items()}
    return Curve(ids, values, dict(lengths.iter_rows()))

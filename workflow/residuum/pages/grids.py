"""Pages of rows and columns: the values behind their cells, and TSVs of cells, tests and verdicts.

Usage: `load(job, metrics, verdicts)`, so that significance and tables see the same values;
`write(path, cells, GridCell)` and `rows(path, GridCell)`. Must not know tests, nor how values are
rounded.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from types import NoneType
from typing import TypeVar, get_args

import numpy as np
import polars as pl

from residuum.artefacts import files, intact, trec
from residuum.cli.errors import NotRun, ResiduumError
from residuum.config.schema.papers import PrintedCell, Reported
from residuum.pages.layout import span
from residuum.paired import ScoreMatrix, same_queries
from residuum.tuning.learned import Learned
from residuum.wiring.bound import (
    Bound,
    BoundCharacteristics,
    BoundFigure,
    BoundTable,
    BoundVenn,
)

Grid = BoundTable | BoundCharacteristics
Judged = Grid | BoundFigure | BoundVenn  # whose numbers the ledger judges
Key = tuple[str, str]  # (row id, column id)
AGAIN = "make it again: delete it, then snakemake --cores all"
TYPES = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
Row = TypeVar("Row")
INDEX = ("index", "other_index")  # columns of tables measured on runs alone


def load(
    job: BoundTable, metrics: Path, verdicts: Mapping[str, Learned]
) -> tuple[BoundTable, dict[Key, ScoreMatrix]]:
    """Read the cells that have runs; cells whose metrics hold a refusal are absent from the job.

    So are those behind which a model stands that did not learn, as its one of the `verdicts` says:
    one seed is enough, since a row without it would be chosen by its outcome. Different queries in
    a column are a ResiduumError: a paired test over them means nothing.
    """
    job = job.model_copy(update={"unlearned": _unlearned(job, verdicts)})
    read = cache(trec.read_metrics)
    absent = {row: dict(reasons) for row, reasons in job.absent.items()}
    scores: dict[Key, ScoreMatrix] = {}
    for row, column in job.cells():
        try:
            tables = {name: read(metrics / name) for name in job.metrics_of(row, column)}
        except NotRun as reason:
            absent.setdefault(row.id, {})[column.id] = str(reason)
        else:
            where = f"{job.id}, row {row.id}: "
            scores[row.id, column.id] = matrix(tables, column.measure, where)
    for column in job.table.columns:
        rows = {row: own.query_ids for (row, name), own in scores.items() if name == column.id}
        same_queries(rows, f"{job.id}, column {column.id}: rows ")
    return job.model_copy(update={"absent": absent}), scores


def _unlearned(job: BoundTable, verdicts: Mapping[str, Learned]) -> dict[str, dict[str, str]]:
    """Return why cells are not results, by row and column: what did not learn."""
    reasons: dict[str, dict[str, str]] = {}
    for row, column in job.available():
        if why := why_not_learned(job, job.runs[row.id], job.places[column.id], verdicts):
            reasons.setdefault(row.id, {})[column.id] = why
    return reasons


def why_not_learned(
    job: Bound, runs: Iterable[str], place: str | None, verdicts: Mapping[str, Learned]
) -> str | None:
    """Return which models behind runs on a split did not learn, and why not; None if all did."""
    names = [name for name in job.models_of(runs, place) if not verdicts[name].learned]
    reasons = [f"{name.replace('/', ' ')}: {verdicts[name].reason}" for name in names]
    return "; ".join(reasons) or None


def matrix(tables: Mapping[str, pl.DataFrame], measure: str, where: str) -> ScoreMatrix:
    """Return a measure's values, a column for the table of each run; all hold the same queries."""
    runs = {name: table.filter(measure=measure).sort("query_id") for name, table in tables.items()}
    if lacking := [name for name, rows in runs.items() if rows.is_empty()]:
        known = ", ".join(tables[lacking[0]]["measure"].unique().sort()) or "nothing"
        raise ResiduumError(f"{where}{lacking[0]}: no values of {measure}; it holds {known}")
    ids = {run: rows["query_id"].to_list() for run, rows in runs.items()}
    same_queries(ids, where)
    values = np.array([rows["value"].to_numpy() for rows in runs.values()])
    return ScoreMatrix(next(iter(ids.values())), values.T)


@dataclass(frozen=True)
class GridCell:
    """A cell: its value (mean and spread over seeds), its markers, and what the paper prints."""

    table: str
    row: str
    column: str
    measure: str
    split_ref: str | None
    n: int | None = None
    measured: float | None = None
    seeds: int | None = None
    per_seed: str | None = None
    lowest: float | None = None
    highest: float | None = None
    std: float | None = None
    beats: str = ""
    below: bool = False
    reported: float | None = None
    reported_beats: str | None = None
    reported_below: bool | None = None
    not_run: str | None = None
    not_learned: bool = False  # so that `not_run` says which model did not, and why
    index: str | None = None
    other_index: str | None = None  # how `index`, the one searched, differs from the page's own

    @property
    def absence(self) -> str:
        """Name what a cell without a value is, for pages and verdicts."""
        return "not learned" if self.not_learned else "not run"

    def measured_as(self, per_seed: Sequence[float], n: int) -> "GridCell":
        """Return the cell with its value per seed, measured on `n` queries."""
        values = np.array(per_seed)
        return replace(
            self,
            n=n,
            measured=float(values.mean()),
            seeds=len(values),
            per_seed=" ".join(map(str, per_seed)),
            lowest=float(values.min()),
            highest=float(values.max()),
            std=float(values.std(ddof=1)) if len(values) > 1 else None,
        )


def blank(job: Grid, row: str, column: str, measure: str, not_run: str | None) -> GridCell:
    """Return a cell without a value, with what the paper prints in it."""
    cell = GridCell(job.id, row, column, measure, job.places[column], not_run=not_run)
    return with_reported(cell, job.table)


def with_reported(cell: GridCell, page: Reported) -> GridCell:
    """Return a cell with what the paper prints in it, if it prints anything."""
    text = {**page.reported.get(cell.row, {})}.get(cell.column)
    if text is None:
        return cell
    printed = PrintedCell.parse(text)
    beats, below = span(printed.beats), printed.below
    return replace(cell, reported=printed.value, reported_beats=beats, reported_below=below)


def by_place(cells: Iterable[GridCell]) -> dict[Key, GridCell]:
    """Return cells by their row and column."""
    return {(cell.row, cell.column): cell for cell in cells}


def columns(form: type) -> dict[str, type[pl.DataType]]:
    """Return the columns of a dataclass of texts, numbers and flags, any of which may be None."""
    types = {field.name: get_args(field.type) or (field.type,) for field in fields(form)}
    return {name: TYPES[next(t for t in types[name] if t is not NoneType)] for name in types}


def write(path: Path, rows: Sequence[Row], form: type[Row]) -> None:
    """Write rows as a TSV that `rows` reads."""
    files.write_text(path, frame(rows, form).write_csv(separator="\t"))


def frame(rows: Sequence[Row], form: type[Row]) -> pl.DataFrame:
    """Return rows as a table with a column per field."""
    schema = columns(form)
    data = [[getattr(row, name) for name in schema] for row in rows]
    return pl.DataFrame(data, schema=schema, orient="row")


def rows(path: Path, form: type[Row], optional: Sequence[str] = ()) -> list[Row]:
    """Read a TSV as rows; columns that are optional may be absent, and others are not read.

    A file that is absent, is cut short or lacks a column is a ResiduumError.
    """
    data, schema = files.read_bytes(intact.checked(path)), columns(form)
    if not data.endswith(b"\n"):
        what = "its last line is cut short" if data else "it is empty"
        raise ResiduumError(f"{path}: {what}; {AGAIN}")
    try:
        table = pl.read_csv(data, separator="\t", schema_overrides=schema, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        why = " ".join(str(error).split())
        raise ResiduumError(f"{path}: cannot be read as a TSV ({why}); {AGAIN}") from None
    if missing := [name for name in schema if name not in (*table.columns, *optional)]:
        raise ResiduumError(f"{path}: it lacks the column {missing[0]}; {AGAIN}")
    known = table.select(name for name in schema if name in table.columns)
    return [form(**row) for row in known.iter_rows(named=True)]

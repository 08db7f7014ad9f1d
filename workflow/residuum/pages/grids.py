"""Pages of rows and columns: the values of their cells, and TSVs of cells, tests and verdicts.

Usage: `load(job, metrics, verdicts, groups)` for both significance and tables, so that they use the
same values; `write(path, cells, GridCell)` and `rows(path, GridCell)`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from types import NoneType
from typing import NamedTuple, TypeVar, get_args

import numpy as np
import polars as pl

from residuum.artefacts import files, groupings, intact, trec
from residuum.artefacts.groupings import Groups
from residuum.cli.errors import NotRun, ResiduumError
from residuum.pages import derived
from residuum.pages.cells import PrintedCell
from residuum.pages.characteristics.job import BoundCharacteristics
from residuum.pages.entries import Reported
from residuum.pages.jobs import Bound
from residuum.pages.layout import span
from residuum.pages.table.entry import Column
from residuum.pages.table.job import BoundTable
from residuum.paired import ScoreMatrix, same_queries
from residuum.paired.coverage import Coverage
from residuum.tuning.learned import Learned
from residuum.wiring.paths import Paths, below_metrics

Grid = BoundTable | BoundCharacteristics
Key = tuple[str, str]  # (row id, column id)
Read = Callable[[Path], pl.DataFrame]
Parted = Mapping[tuple[str, str], Groups]  # (<dataset>/<split>, grouping): its groups
GROUPS = Paths().groups
AGAIN = "make it again: delete it, then snakemake --cores all"
TYPES = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
Row = TypeVar("Row")
INDEX = ("index", "other_index")  # columns for tables that are measured on runs
DERIVED = ("ci_low", "ci_high", "tick", "reported_tick")  # columns left out if all cells are empty
OPTIONAL = (*INDEX, *DERIVED)


class Loaded(NamedTuple):
    """A table with the reasons for cells without a value, and the values of its other cells.

    A cell has values per query, which are tested, or is a ratio of sums over queries.
    """

    job: BoundTable
    scores: dict[Key, ScoreMatrix]
    ratios: dict[Key, Coverage]

    def by_seed(self, row: str, column: Column) -> list[float] | None:
        """Return the value of a cell for each seed, or None if the cell has no value.

        For a change, the other row's seeds are subtracted in order. If their number differs, their
        mean is subtracted.
        """
        values = self.values(row, column.id)
        if values is None or not column.is_change(row):
            return values
        other = self.values(str(column.change_from), column.id) or []
        other = other if len(other) == len(values) else [float(np.mean(other))] * len(values)
        return [a - b for a, b in zip(values, other, strict=True)]

    def values(self, row: str, column: str) -> list[float] | None:
        """Return what a cell, or an average, shows before a change is subtracted, by seed."""
        if ratio := self.ratios.get((row, column)):
            return list(ratio.by_seed)
        matrix = self.scores.get((row, column))
        return None if matrix is None else matrix.means()

    def interval(self, row: str, column: Column) -> tuple[float | None, float | None]:
        """Return the 95% interval of a ratio; (None, None) for changes and other cells."""
        ratio = None if column.is_change(row) else self.ratios.get((row, column.id))
        return (ratio.low, ratio.high) if ratio else (None, None)

    def queries(self, key: Key) -> int:
        """Return the number of queries that a cell with a value is measured on."""
        return self.ratios[key].queries if key in self.ratios else len(self.scores[key].query_ids)


def load(job: BoundTable, metrics: Path, verdicts: Mapping[str, Learned], groups: Parted) -> Loaded:
    """Read the values of a table's cells.

    A cell is absent if its metrics hold a refusal, or if it is a change from a row without a value.
    It is not learned if one seed of a model behind it did not learn: leaving out only this seed
    would choose seeds by their outcome. Raises ResiduumError if rows of a column have different
    queries, because a paired test needs the same queries.
    """
    job = job.model_copy(update={"unlearned": _unlearned(job, verdicts)})
    read = cache(trec.read_metrics)
    absent = {row: dict(reasons) for row, reasons in job.absent.items()}
    values: dict[Key, derived.Value] = {}
    for row, column in job.cells():
        try:
            values[row.id, column.id] = cell_value(job, row.id, column, metrics, groups, read)
        except NotRun as reason:
            absent.setdefault(row.id, {})[column.id] = str(reason)
    job = job.model_copy(update={"absent": absent})
    for (row_id, name), why in _without_other(job, values).items():
        absent.setdefault(row_id, {})[name] = why
        del values[row_id, name]
    scores = {key: value for key, value in values.items() if isinstance(value, ScoreMatrix)}
    for column in job.entry.columns:
        ids = {row: shown.query_ids for (row, name), shown in scores.items() if name == column.id}
        same_queries(ids, f"{job.id}, column {column.id}: rows ")
    ratios = {key: value for key, value in values.items() if isinstance(value, Coverage)}
    job = job.model_copy(update={"absent": absent})
    return Loaded(job, scores | _averages(job, scores), ratios)


def _averages(job: BoundTable, scores: Mapping[Key, ScoreMatrix]) -> dict[Key, ScoreMatrix]:
    """Return the values behind averages: the queries of all their columns, which count alike.

    A column without seeds has its value for each seed of the others. If columns have several
    seeds, but unequally many, each query counts by its mean over them.
    """
    made: dict[Key, ScoreMatrix] = {}
    for row, mean in product(job.entry.rows, job.entry.means):
        if job.not_run(row, mean) is not None:
            continue
        parts = {name: scores[row.id, name] for name in mean.of}
        runs = {part.values.shape[1] for part in parts.values()}
        most = max(runs) if runs <= {1, max(runs)} else 1
        values = [
            part.values if part.values.shape[1] == most else _repeated(part.values, most)
            for part in parts.values()
        ]
        ids = [f"{name}/{query_id}" for name, part in parts.items() for query_id in part.query_ids]
        collections = [name for name, part in parts.items() for _ in part.query_ids]
        made[row.id, mean.id] = ScoreMatrix(ids, np.concatenate(values), collections)
    return made


def _repeated(values: np.ndarray, runs: int) -> np.ndarray:
    """Return the mean of each query over runs, shape (queries, runs)."""
    return np.repeat(values.mean(axis=1, keepdims=True), runs, axis=1)


def read_groups(paths: Iterable[Path]) -> Parted:
    """Read groups of queries. A path names the split and the grouping of its file."""
    named = ((path, GROUPS.parse(path) or {}) for path in paths)
    return {
        (f"{parts['dataset']}/{parts['split']}", parts["grouping"]): groupings.read(path)
        for path, parts in named
    }


def cell_value(
    job: BoundTable,
    row: str,
    column: Column,
    metrics: Path,
    groups: Parted,
    read: Read = trec.read_metrics,
) -> derived.Value:
    """Return the value of a cell before a change is subtracted; NotRun if it has no value."""
    sides = job.sides(row, column)
    files = {run: job.metrics(column, run) for side in sides for run in side}
    tables = {name: read(metrics / name) for name in files.values()}
    if within := column.within:
        members = groups[str(job.splits[column.id]), within.grouping].members.get(within.group)
        if members is None:
            raise NotRun(f"no query is in the group {within.group} of {within.grouping}")
        tables = {n: table.filter(pl.col("query_id").is_in(members)) for n, table in tables.items()}
    whole, names = matrix(tables, column.measure, f"{job.id}, row {row}: "), list(tables)
    numbers = [[names.index(files[run]) for run in side] for side in sides]
    shown = (ScoreMatrix(whole.query_ids, whole.values[:, chosen]) for chosen in numbers)
    return derived.value(column, *shown)


def _without_other(job: BoundTable, values: Collection[Key]) -> dict[Key, str]:
    """Return why cells with a value show no change: the other row has no value there."""
    rows, reasons = {row.id: row for row in job.entry.rows}, {}
    for row, name in values:
        column = job.column(name)
        other = column.change_from
        if other and (other, name) not in values:
            why = job.not_run(rows[other], column)
            reasons[row, name] = f"{other}, from which it is a change: {why}"
    return reasons


def _unlearned(job: BoundTable, verdicts: Mapping[str, Learned]) -> dict[str, dict[str, str]]:
    reasons: dict[str, dict[str, str]] = {}
    for row, column in job.available():
        runs, place = job.judged_runs(row.id, column), job.splits[column.id]
        if why := why_not_learned(job, runs, place, verdicts):
            reasons.setdefault(row.id, {})[column.id] = why
    return reasons


def why_not_learned(
    job: Bound, runs: Iterable[str], place: str | None, verdicts: Mapping[str, Learned]
) -> str | None:
    """Return which models behind runs on a split did not learn, and why; None if all learned."""
    names = [name for name in job.models_of(runs, place) if not verdicts[name].learned]
    reasons = [f"{name.replace('/', ' ')}: {verdicts[name].reason}" for name in names]
    return "; ".join(reasons) or None


def matrix(tables: Mapping[str, pl.DataFrame], measure: str, where: str) -> ScoreMatrix:
    """Return a measure's values of shape (queries, runs). All tables have the same queries."""
    runs = {name: table.filter(measure=measure).sort("query_id") for name, table in tables.items()}
    if lacking := [name for name, rows in runs.items() if rows.is_empty()]:
        known = ", ".join(tables[lacking[0]]["measure"].unique().sort()) or "nothing"
        raise ResiduumError(f"{where}{lacking[0]}: no values of {measure}; it holds {known}")
    ids = {run: rows["query_id"].to_list() for run, rows in runs.items()}
    same_queries(ids, where)
    values = np.array([rows["value"].to_numpy() for rows in runs.values()])
    return ScoreMatrix(next(iter(ids.values())), values.T)


def read_matrix(
    metrics: Path, split_ref: str, runs: Sequence[str], measure: str, where: str, read: Read
) -> ScoreMatrix:
    """Return a measure's values of runs on a split, shape (queries, runs)."""
    names = [below_metrics(split_ref, run) for run in runs]
    return matrix({name: read(metrics / name) for name in names}, measure, where)


@dataclass(frozen=True)
class GridCell:
    """A cell: its value (mean and spread over seeds), its markers, and the paper's number."""

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
    not_learned: bool = False  # if True, `not_run` says which model did not learn, and why
    index: str | None = None  # the index searched
    other_index: str | None = None  # how `index` differs from the page's stated index
    ci_low: float | None = None  # 95% interval of a ratio
    ci_high: float | None = None
    tick: bool | None = None  # None in columns without ticks
    reported_tick: bool | None = None

    @property
    def absence(self) -> str:
        """The text of a cell without a value, for pages and verdicts."""
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
    """Return a cell without a value, with the paper's number."""
    cell = GridCell(job.id, row, column, measure, job.splits.get(column), not_run=not_run)
    return with_reported(cell, job.entry)


def with_reported(cell: GridCell, page: Reported) -> GridCell:
    """Return a cell with the paper's number or tick added, if the paper fills the cell."""
    text = {**page.reported.get(cell.row, {})}.get(cell.column)
    if text is None:
        return cell
    printed = PrintedCell.parse(text)
    beats, below = span(printed.beats), printed.below
    if printed.tick:
        return replace(cell, reported_tick=True)
    return replace(cell, reported=printed.value, reported_beats=beats, reported_below=below)


def by_place(cells: Iterable[GridCell]) -> dict[Key, GridCell]:
    """Return cells by row and column."""
    return {(cell.row, cell.column): cell for cell in cells}


def columns(form: type) -> dict[str, type[pl.DataType]]:
    """Return the columns of a dataclass of texts, numbers and flags, any of which may be None."""
    types = {field.name: get_args(field.type) or (field.type,) for field in fields(form)}
    return {name: TYPES[next(t for t in types[name] if t is not NoneType)] for name in types}


def tidied(cells: Sequence[GridCell]) -> pl.DataFrame:
    """Return cells as a table, without the columns in DERIVED that no cell fills."""
    table = frame(cells, GridCell)
    return table.drop(name for name in DERIVED if table[name].null_count() == table.height)


def write(path: Path, rows: Sequence[Row], form: type[Row]) -> None:
    """Write rows as a TSV that `rows` reads."""
    files.write_text(path, frame(rows, form).write_csv(separator="\t"))


def frame(rows: Sequence[Row], form: type[Row]) -> pl.DataFrame:
    """Return rows as a table with a column per field."""
    schema = columns(form)
    data = [[getattr(row, name) for name in schema] for row in rows]
    return pl.DataFrame(data, schema=schema, orient="row")


def read_cells(path: Path) -> list[GridCell]:
    """Read the TSV of a page whose lines are cells, as `rows` does."""
    return rows(path, GridCell, optional=OPTIONAL)


def rows(path: Path, form: type[Row], optional: Sequence[str] = ()) -> list[Row]:
    """Read a TSV as rows. `optional` columns may be missing; unknown columns are ignored.

    Raises ResiduumError for a file that is missing, cut short or lacks a column.
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

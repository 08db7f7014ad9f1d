"""A paper's page bound to one scale: the `--spec` of the stages that test, count or draw it.

Made by `residuum.wiring.pages`. Must not know the registry, nor files but metrics.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import Field

from residuum.cli.errors import not_bound
from residuum.config.schema.base import Id, Strict, dangling, repeated
from residuum.config.schema.cases import Cases
from residuum.config.schema.papers import (
    Characteristics,
    Column,
    Printed,
    QuerySet,
    Row,
    Table,
    Tests,
)
from residuum.config.specs import OrderId
from residuum.wiring.paths import MANIFEST, below_metrics

# Parts of paths, so that a foreign manifest's lead nowhere else.
SplitRef = Annotated[str, Field(pattern=r"^[a-z0-9_-]+/[a-z0-9_-]+$")]
# Why a cell has nothing to show that could be run: a dash on the page, no gap of a scale.
NO_DEPTH = "no depth: not a rerank system"
NO_PARTS = "no D and S: not a fusion of a dense and a lexical part"
ITSELF = "the row that the others are compared with"
NO_SYSTEM = "no system of this row has this column"
NOTHING = (NO_DEPTH, NO_PARTS, ITSELF, NO_SYSTEM)
OF_CORPUS = ("docs", "doc_words")
TRAINED, PAIRS = "train_queries", "train_pairs"
NOT_TRAINED = "its collection names no training split (own.train)"
BY_FOLDS = "it is trained on by folds, whose pairs are not counted"
RunName = Annotated[str, Field(pattern=r"^[a-z0-9@_-]+(\.[a-z0-9@_-]+)*$")]


class Bound(Strict):
    """What every bound page says: its id, the scale, why its numbers compare, residual splits."""

    id: str
    scale: Id
    reason: str
    residual: dict[SplitRef, list[SplitRef]] = Field(default={})  # split: what was judged before
    by_folds: dict[str, list[str]] = Field(
        default={}, description="model: folds, for each of which it is trained on the others"
    )
    models: dict[str, dict[str, list[str]]] = Field(
        default={},
        description="dataset: run: models behind it that are judged, whether they learned",
    )

    def check(self) -> None:
        """Refuse a page that names a part twice, or one that is not there, as config/ does.

        A foreign manifest may.
        """
        for page in (page for _, page in self if isinstance(page, Printed)):
            for key, fault in itertools.chain(repeated(page), dangling(page)):
                raise ValueError(f"{key}: {fault}")

    def models_of(self, runs: Iterable[str], place: str | None) -> list[str]:
        """Return the models behind runs on a split, each once, as `<model>/seed<n>`."""
        of = self.models.get(str(place).partition("/")[0], {})
        return list(
            dict.fromkeys(name for run in runs for name in of.get(OrderId.parse(run).run, []))
        )

    def runs_of(self, row: str, column: str) -> list[str] | None:
        """Return the runs that a cell's number is of, none where they are counted of a split.

        None of a row that has no runs at this scale.
        """
        return []


class Sides(Strict):
    """The runs of both sides of a derived cell, as many or one: D and S, or a row and another."""

    first: list[RunName]
    second: list[RunName]


class BoundTable(Bound):
    """A table, where its columns are measured and which runs make its rows."""

    table: Table
    tests: Tests
    places: dict[str, SplitRef | None]
    runs: dict[str, list[RunName]]  # by what a row's systems go by: the row, or row/column
    systems: dict[str, dict[str, Any]]  # by the same
    absent: dict[str, dict[str, str]] = Field(default={})  # row id: column id: why
    unlearned: dict[str, dict[str, str]] = Field(default={})  # the same, once models are trained
    rerankers: dict[str, str] = Field(default={})  # id: what plays it
    derived: dict[str, dict[str, Sides]] = Field(default={})  # row id: column id: what is read
    comparable: bool

    def column(self, name: str) -> Column:
        """Return the column of an id."""
        return next(column for column in self.table.columns if column.id == name)

    def runs_of(self, row: str, column: str) -> list[str] | None:
        made = self.table.part(row, column) in self.runs
        return self.reads(row, self.column(column)) if made else None

    def not_run(self, row: Row, column: Column) -> str | None:
        """Return why a cell has no value at this scale, or None if it has one."""
        if row.not_run is not None:
            return row.not_run
        if row.part(column.id) not in row.parts:
            return NO_SYSTEM
        if self.places[column.id] is None:
            return not_bound(self.scale, column.role)
        return self.absent.get(row.id, {}).get(column.id) or self.not_learned(row.id, column.id)

    def not_learned(self, row: str, column: str) -> str | None:
        """Return which model behind a cell did not learn, and why not; None if all of them did."""
        return self.unlearned.get(row, {}).get(column)

    def available(self) -> Iterator[tuple[Row, Column]]:
        """Yield the row and column of every cell whose runs can be made at this scale."""
        for column in self.table.columns:
            for row in self.table.rows:
                if self.not_run(row, column) is None:
                    yield row, column

    def cells(self) -> Iterator[tuple[Row, Column]]:
        """Yield the row and column of every cell that runs are measured for."""
        return (cell for cell in self.available() if cell[1].shows != "chosen")

    def compared(self) -> Iterator[tuple[str, str, str]]:
        """Yield (column, a, b) of every comparison to test: two measured rows, a above b."""
        baselines = self.table.baselines
        every = self.tests.compare == "all_pairs"
        for column in (column for column in self.table.columns if column.tested):
            cells = (row for row, other in self.cells() if other.id == column.id)
            rows = [row.id for row in cells if not row.control]
            for a, b in itertools.combinations(rows, 2):
                if every or a in baselines or b in baselines:
                    yield column.id, a, b

    def sides(self, row: str, column: Column) -> list[list[str]]:
        """Return the runs that a cell's values are of: a row's own, or both sides of a derived."""
        if sides := self.derived.get(row, {}).get(column.id):
            return [sides.first, sides.second]
        return [self.runs_at(row, column)]

    def runs_at(self, row: str, column: Column) -> list[str]:
        """Return the runs of a row's own system in a column, or its orders of given candidates."""
        part = self.table.part(row, column.id)
        if (runs := self.runs.get(part)) is None:
            return []
        own = column.over is None or self.systems[part]["kind"] == "rerank"
        return runs if own else [str(OrderId(run, str(column.over))) for run in runs]

    def reads(self, row: str, column: Column) -> list[str]:
        """Return all runs that a cell's value comes from, with those that it is a change from."""
        rows = [row, *([str(column.change_from)] if column.is_change(row) else [])]
        return list(dict.fromkeys(r for name in rows for s in self.sides(name, column) for r in s))

    def judged_runs(self, row: str, column: Column) -> list[str]:
        """Return the runs whose models must have learned for a cell to be a result."""
        return [run for name in (row, *column.beside) for run in self.runs_at(name, column)]

    def metrics(self, column: Column, run: str) -> str:
        """Return the metrics file of a run in a column, relative to the metrics folder."""
        return below_metrics(str(self.places[column.id]), run)

    def metrics_of(self, row: Row, column: Column) -> list[str]:
        """Return the metrics files of a cell's runs, relative to the metrics folder."""
        runs = dict.fromkeys(run for side in self.sides(row.id, column) for run in side)
        return [self.metrics(column, run) for run in runs]

    def metrics_files(self) -> list[str]:
        """Return the metrics files of all cells, each once, sorted."""
        return sorted({name for cell in self.cells() for name in self.metrics_of(*cell)})

    def groups(self) -> list[tuple[str, str]]:
        """Return the split and the grouping of all cells of groups of queries, each once."""
        within = [(self.places[c.id], c.within.grouping) for _, c in self.cells() if c.within]
        return [(str(place), grouping) for place, grouping in dict.fromkeys(within)]

    def metrics_records(self) -> list[str]:
        """Return the manifests of those that say what the table does: an index, docs removed.

        Of fusions too, how often the union of their lists is provably exact.
        """
        stated, split_of = self.table.index is not None, self.places
        cells = [cell for cell in self.cells() if stated or split_of[cell[1].id] in self.residual]
        names = {name for cell in cells for name in self.metrics_of(*cell)}
        return sorted(name + MANIFEST for name in names | {name for _, name in self.fused()})

    def fused(self) -> Iterator[tuple[str, str]]:
        """Yield the metrics files of fusions, each with what its row's system goes by."""
        cells = ((self.table.part(row.id, column.id), row, column) for row, column in self.cells())
        for part, row, column in cells:
            if self.systems.get(part, {}).get("kind") == "fusion":
                yield from ((part, self.metrics(column, r)) for r in self.runs_at(row.id, column))


class BoundCharacteristics(Bound):
    """A table of dataset characteristics, and the splits that it counts."""

    table: Characteristics
    places: dict[str, SplitRef | None]
    absent: dict[str, str] = Field(default={})  # column id: why
    trained: dict[str, SplitRef] = Field(default={})  # column id: its collection's training split
    folds: dict[str, int] = Field(default={})  # column id: how many its split has, if any
    comparable: bool

    def not_counted(self, column: QuerySet, quantity: str = "") -> str | None:
        """Return why a split, or a quantity of it, is not counted at this scale, None if it is."""
        if self.places[column.id] is None:
            return not_bound(self.scale, column.role)
        of_folds = self.folds if quantity == TRAINED else {}
        if quantity in (TRAINED, PAIRS) and column.id not in {**self.trained, **of_folds}:
            why = BY_FOLDS if column.id in self.folds else NOT_TRAINED
            return self.absent.get(column.id, f"{self.places[column.id]}: {why}")
        return self.absent.get(column.id)

    def counted_of(self, column: str, quantity: str) -> str | None:
        """Return the split or the corpus that a quantity is counted of, as in <dataset>/<split>."""
        split_ref = self.places[column]
        if quantity in OF_CORPUS:
            return f"{str(split_ref).partition('/')[0]}/corpus"
        of_training = quantity in (TRAINED, PAIRS)
        return self.trained.get(column, split_ref) if of_training else split_ref


class BoundCases(Bound):
    """A case study: the split and the run that makes each list."""

    cases: Cases
    place: SplitRef
    runs: dict[str, RunName]
    depths: dict[str, int] = Field(default={})  # list: how deep it is reranked, if that is fixed


def metrics_files(tables: Iterable[BoundTable]) -> list[str]:
    """Return the metrics files of all cells of tables, each once, sorted."""
    return sorted({name for table in tables for name in table.metrics_files()})

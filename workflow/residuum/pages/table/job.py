"""A table bound to one scale: the `--spec` of the stages that test and render it."""

import itertools
from collections.abc import Iterable, Iterator

from pydantic import Field

from residuum.cli.errors import not_bound
from residuum.config.schema.analyses import IndexStatistics
from residuum.config.schema.base import Strict
from residuum.config.schema.tests import Tests
from residuum.config.specs import OrderId
from residuum.pages.cells import PrintedCell
from residuum.pages.jobs import Basis, Gap, Judged, RunName, Search, SplitRef
from residuum.pages.table.entry import Average, Column, Row, Table
from residuum.wiring.paths import MANIFEST, below_metrics

# Reasons why no run could fill a cell. Such a cell is a dash on the page and no gap of a scale.
NO_DEPTH = "no depth: not a rerank system"
NO_PARTS = "no D and S: not a fusion of a dense and a lexical part"
ITSELF = "the row that the others are compared with"
NO_SYSTEM = "no system of this row has this column"
NOTHING = (NO_DEPTH, NO_PARTS, ITSELF, NO_SYSTEM)


class Sides(Strict):
    """The runs of both sides of a derived cell: D and S, or two rows.

    Both sides have as many runs, or a side has one.
    """

    first: list[RunName]
    second: list[RunName]


class BoundTable(Judged):
    """A bound table: the splits of its columns and the runs of its rows."""

    entry: Table
    tests: Tests
    splits: dict[str, SplitRef | None]
    runs: dict[str, list[RunName]]  # by ROW, or by ROW/COLUMN if columns have own systems
    systems: dict[str, dict[str, object]]  # by ROW or ROW/COLUMN too
    absent: dict[str, dict[str, str]] = Field(default={})  # row id: column id: why
    unlearned: dict[str, dict[str, str]] = Field(default={})  # as `absent`: what did not learn
    rerankers: dict[str, str] = Field(default={})  # reranker: its description
    derived: dict[str, dict[str, Sides]] = Field(default={})  # row id: column id: its sides
    left_out: list[str] = Field(default=[], exclude_if=lambda rows: not rows)  # rows, by the scale
    # By ROW or ROW/COLUMN: the vectors of a text, of dense systems with several.
    vectors: dict[str, int] = Field(default={}, exclude_if=lambda vectors: not vectors)

    def column(self, name: str) -> Column:
        """Return the column with an id."""
        return next(column for column in self.entry.columns if column.id == name)

    def shown(self) -> list[Column | Average]:
        """Return the columns in the order of the page: averages stand last."""
        return [*self.entry.columns, *self.entry.means]

    def columns_of_grid(self) -> list[Column | Average]:
        """Return the columns that the grid shows: those whose splits the scale binds.

        If the scale binds no split, all are shown.
        """
        bound = [
            one for one in self.shown() if all(self.splits[c.id] for c in self.parts_of(one.id))
        ]
        return bound or self.shown()

    def rows_of_grid(self) -> list[Row]:
        """Return the rows that the grid shows: all but those that the scale leaves out."""
        kept = [row for row in self.entry.rows if row.id not in self.left_out]
        return kept or self.entry.rows

    def parts_of(self, column: str) -> list[Column]:
        """Return the columns that a column is the mean of; a plain column is itself."""
        return [self.column(name) for name in self.entry.averaged(column)]

    def not_comparable(self, row: str, column: str) -> str | None:
        """Return why a number does not compare; an average, if one of its columns does not."""
        names = dict.fromkeys([column, *self.entry.averaged(column)])
        whys = (super(BoundTable, self).not_comparable(row, name) for name in names)
        return next(filter(None, whys), None)

    def runs_of(self, row: str, column: str) -> list[str] | None:
        made = all(self.entry.part(row, one.id) in self.runs for one in self.parts_of(column))
        return self.runs_behind(row, column)[0] if made else None

    def runs_behind(self, row: str, column: str) -> tuple[list[str], list[str]]:
        parts = self.parts_of(column)
        read = dict.fromkeys(run for one in parts for run in self.reads(row, one))
        judged = dict.fromkeys(run for one in parts for run in self.judged_runs(row, one))
        return list(read), list(judged)

    def grouping(self, column: str) -> str | None:
        first, *others = self.parts_of(column)
        return first.within.grouping if first.within and not others else None

    def header(self, column: str) -> str:
        return next(shown.header for shown in self.shown() if shown.id == column)

    def short_header(self, column: Column | Average) -> str:
        """Return a short header: split and ir_measures name, or the header of an average.

        The dataset is added if the table shows splits of this name from several datasets.
        """
        if isinstance(column, Average):
            return column.header
        if column.shows == "chosen":
            return "Rerank depth K"
        split_ref = self.splits[column.id]
        if split_ref is None:
            return f"{column.role} {column.named()}"
        split = split_ref.partition("/")[2]
        others = filter(None, self.splits.values())
        alike = {other for other in others if other.partition("/")[2] == split}
        return f"{split_ref if len(alike) > 1 else split} {column.named()}"

    def of_one_search(self, row: str, column: str) -> Search | None:
        shown = next(one for one in self.shown() if one.id == column)
        if isinstance(shown, Average) or shown.shows != "measured" or shown.over:
            return None
        if shown.is_change(row):
            return None
        own = self.entry.row(row)
        groups = [one.group for one in self.entry.rows if one.label == own.label]
        apart = own.group if own.group and groups.count(own.group) == 1 else own.id
        label = f"{own.label} ({apart})" if len(groups) > 1 else own.label
        return Search(label, self.short_header(shown))

    def change_from(self, row: str, column: str) -> str | None:
        first, *_ = self.parts_of(column)  # those of a mean are no changes
        return first.change_from if first.is_change(row) else None

    def between_rows(self) -> Tests | None:
        return self.tests

    def stated_index(self) -> IndexStatistics | None:
        return self.entry.index

    def marked(self, row: str, column: str, printed: PrintedCell) -> Iterator[tuple[str, str]]:
        for index in printed.beats:
            yield next(other.id for other in self.entry.rows if other.index == index), "above"
        below = self.entry.row(row).below
        if printed.below and below:
            yield below, "below"
        shown, *_ = self.parts_of(column)
        if printed.tick and shown.change_from and shown.tick:
            yield shown.change_from, shown.tick

    def gaps(self) -> Iterator[Gap]:
        for row in self.entry.rows:
            for column in self.entry.columns:
                if (why := self.not_run(row, column)) and why not in NOTHING:
                    yield Gap(why, row.id, self.splits[column.id] is None)

    def not_run(self, row: Row, column: Column | Average) -> str | None:
        """Return why a cell has no value at this scale, or None if it has a value."""
        if isinstance(column, Average):
            whys = ((one.id, self.not_run(row, one)) for one in self.parts_of(column.id))
            return next((f"{name}: {why}" for name, why in whys if why), None)
        if row.not_run is not None:
            return row.not_run
        if row.part(column.id) not in row.parts:
            return NO_SYSTEM
        if self.splits[column.id] is None:
            return not_bound(self.scale, column.role)
        return self.absent.get(row.id, {}).get(column.id) or self.not_learned(row.id, column.id)

    def not_learned(self, row: str, column: str) -> str | None:
        """Return which model behind a cell did not learn, and why; None if all learned."""
        known = self.unlearned.get(row, {})
        return next((known[one] for one in self.entry.averaged(column) if one in known), None)

    def available(self) -> Iterator[tuple[Row, Column]]:
        """Yield the row and column of every cell whose runs can be made at this scale."""
        for column in self.entry.columns:
            for row in self.entry.rows:
                if self.not_run(row, column) is None:
                    yield row, column

    def cells(self) -> Iterator[tuple[Row, Column]]:
        """Yield the row and column of every cell that is measured on runs."""
        return (cell for cell in self.available() if cell[1].shows != "chosen")

    def compared(self) -> Iterator[tuple[str, str, str]]:
        """Yield (column, a, b) of every comparison to test; row a is above row b on the page."""
        baselines = self.entry.baselines
        every = self.tests.compare == "all_pairs"
        for column in (column for column in self.shown() if column.tested):
            made = (row for row in self.entry.rows if self.not_run(row, column) is None)
            rows = [row.id for row in made if not row.control]
            for a, b in itertools.combinations(rows, 2):
                if every or a in baselines or b in baselines:
                    yield column.id, a, b

    def sides(self, row: str, column: Column) -> list[list[str]]:
        """Return the runs behind a cell: the row's runs, or both sides of a derived cell."""
        if sides := self.derived.get(row, {}).get(column.id):
            return [sides.first, sides.second]
        return [self.runs_at(row, column)]

    def runs_at(self, row: str, column: Column) -> list[str]:
        """Return the runs of a row's system in a column, or its scores of the candidates."""
        part = self.entry.part(row, column.id)
        if (runs := self.runs.get(part)) is None:
            return []
        if column.over is None or self.systems[part]["kind"] == "rerank":
            return runs
        return [str(OrderId(run, column.over)) for run in runs]

    def reads(self, row: str, column: Column) -> list[str]:
        """Return all runs behind a cell's value, including those of the row it is a change from."""
        rows = [row, *([str(column.change_from)] if column.is_change(row) else [])]
        return list(dict.fromkeys(r for name in rows for s in self.sides(name, column) for r in s))

    def judged_runs(self, row: str, column: Column) -> list[str]:
        """Return the runs whose models must have learned for a cell to be a result."""
        return [run for name in (row, *column.beside) for run in self.runs_at(name, column)]

    def basis(self, row: str, column: str) -> Basis | None:
        if column not in self.splits:
            return self._basis_of_average(row, column)
        shown, split_ref = self.column(column), self.splits[column]
        if split_ref is None or shown.shows == "chosen":
            return None
        whole = shown.derived is None and shown.within is None
        runs = self.runs_at(row, shown)
        return self.basis_of(runs, split_ref, shown.measure, shown.over, whole)

    def _basis_of_average(self, row: str, column: str) -> Basis | None:
        """Return the basis of an average: its models alone, since no bound is known of it."""
        found = [self.basis(row, part.id) for part in self.parts_of(column)]
        bases = [basis for basis in found if basis]
        models = tuple(dict.fromkeys(model for basis in bases for model in basis.models))
        return bases[0]._replace(alone=(), models=models, whole=False) if bases else None

    def bases_compared(self) -> Iterator[Basis]:
        """Yield where the values of both rows of each comparison come from."""
        pairs = ((row, column) for column, a, b in self.compared() for row in (a, b))
        yield from filter(None, (self.basis(*place) for place in dict.fromkeys(pairs)))

    def metrics(self, column: Column, run: str) -> str:
        """Return the metrics file of a run in a column, relative to the metrics folder."""
        return below_metrics(str(self.splits[column.id]), run)

    def metrics_of(self, row: Row, column: Column) -> list[str]:
        """Return the metrics files of a cell's runs, relative to the metrics folder."""
        runs = dict.fromkeys(run for side in self.sides(row.id, column) for run in side)
        return [self.metrics(column, run) for run in runs]

    def groups(self) -> list[tuple[str, str]]:
        """Return (split, grouping) for all columns of groups of queries, without duplicates."""
        within = [(self.splits[c.id], c.within.grouping) for _, c in self.cells() if c.within]
        return [(str(split_ref), grouping) for split_ref, grouping in dict.fromkeys(within)]

    def metrics_records(self) -> list[str]:
        """Return the manifests of metrics files that the table's notes read.

        They record the searched index, the docs removed from external runs, how often a fusion's
        union is provably exact, and how many hits other vectors than the first win.
        """
        stated, split_of = self.entry.index is not None, self.splits
        cells = [cell for cell in self.cells() if stated or split_of[cell[1].id] in self.residual]
        names = {name for cell in cells for name in self.metrics_of(*cell)}
        names |= {name for _, name in (*self.fused(), *self.of_several_vectors())}
        return sorted(name + MANIFEST for name in names)

    def fused(self) -> Iterator[tuple[str, str]]:
        """Yield (ROW or ROW/COLUMN, metrics file) for each run of a fusion."""
        for part, row, column in self._parts():
            if self.systems.get(part, {}).get("kind") == "fusion":
                yield from ((part, self.metrics(column, r)) for r in self.runs_at(row.id, column))

    def of_several_vectors(self) -> Iterator[tuple[str, str]]:
        """Yield (ROW or ROW/COLUMN, metrics file) for each dense run with several vectors a text.

        Orders of another system's candidates are left out: no search made them.
        """
        for part, row, column in self._parts():
            if part in self.vectors and column.over is None:
                yield from ((part, self.metrics(column, r)) for r in self.runs_at(row.id, column))

    def _parts(self) -> Iterator[tuple[str, Row, Column]]:
        return ((self.entry.part(row.id, column.id), row, column) for row, column in self.cells())


def metrics_files(tables: Iterable[BoundTable]) -> list[str]:
    """Return the metrics files of all cells of tables, sorted and without duplicates."""
    return sorted(
        {
            name
            for table in tables
            for row, column in table.cells()
            for name in table.metrics_of(row, column)
        }
    )

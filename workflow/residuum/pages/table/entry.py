"""Tables of config/papers: systems by measures, with tests between the systems."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.analyses import IndexStatistics
from residuum.config.schema.base import Id, Name, Positive, Ref, Strict
from residuum.config.schema.tests import TestsId
from residuum.pages.entries import ColumnId, QuerySet, Reported, RowId, SystemId

DEPTH = "depth"
RATIO = "RoC"
# Derived from a row and the row `than`; other values are derived from the D and S of a row.
OF_TWO_ROWS = ("better",)
ColumnMeasure = Annotated[str, Ref("measure", kinds=("judgements", "answers"), besides=(DEPTH,))]


class Within(Strict):
    """A group of the queries of a column's split."""

    grouping: Annotated[Id, Ref("grouping")]
    group: str


class Column(QuerySet):
    """A column: a role and a measure, or a quantity that is derived from the measure.

    residual, overlap and RoC (Lee et al., ACL 2023, Eq. 1) are derived from a row's dense part D
    and lexical part S alone, by a measure that is 1 or 0 for a query. better is the share of
    queries won.
    """

    measure: ColumnMeasure = Field(description="ir_measures name; or depth: that of the reranking")
    over: Annotated[Id, Ref("system", kinds=("candidates",))] | None = Field(
        None, description="whose docs all rows put into order; absent: each row retrieves its own"
    )
    within: Within | None = Field(
        None, description="group of the queries that the column is of; absent: all of them"
    )
    derived: Literal["residual", "overlap", "RoC", "better"] | None = Field(
        None, description="what is made of the measure; nothing: its mean is shown"
    )
    than: RowId | None = Field(None, description="for better: the row whose value is to be beaten")
    change_from: RowId | None = Field(None, description="row of which differences are shown")
    tick: Literal["above", "below"] | None = Field(
        None, description="a tick marks rows that are significantly so beside change_from"
    )
    compared: bool = Field(
        True, description="false: no value is better than another, as of Holes@k"
    )

    @property
    def shows(self) -> Literal["measured", "chosen", "derived"]:
        """Say what is shown: a measure of runs, a tuned choice, or a derived value."""
        if self.measure == DEPTH:
            return "chosen"
        return "derived" if self.derived else "measured"

    @property
    def tested(self) -> bool:
        """Say whether rows are tested, which needs a value per query: not for choices and RoC."""
        return self.compared and self.measure != DEPTH and self.derived != RATIO

    @property
    def of_parts(self) -> bool:
        """Say whether the column is derived from each row's dense and lexical parts."""
        return self.derived is not None and self.than is None

    @property
    def beside(self) -> list[str]:
        """Return the other rows that each cell depends on."""
        return [row for row in (self.than, self.change_from) if row]

    def is_change(self, row: str) -> bool:
        """Say whether a row's cell shows a change. The row `change_from` shows its value."""
        return self.change_from not in (None, row)

    def named(self, row: str = "") -> str:
        """Name the value of the column, or of a row's cell: `change of RoC(Success@10)`."""
        name = ", ".join(filter(None, (self.measure, self.than)))
        name = f"{self.derived}({name})" if self.derived else name
        name += f" over {self.over}" if self.over else ""
        name += f" in {self.within.group}" if self.within else ""
        return f"change of {name}" if self.is_change(row) else name

    def check(self) -> None:
        derived = self.derived or self.change_from or self.tick
        if self.over and (self.measure == DEPTH or self.derived):
            raise ValueError("over: each row's order is measured; leave out depth and derived")
        if self.measure == DEPTH and (derived or self.within):
            raise ValueError("depth is chosen: leave out derived, change_from, tick and within")
        if (self.derived in OF_TWO_ROWS) != (self.than is not None):
            raise ValueError(
                f"give than for derived: {', '.join(OF_TWO_ROWS)}, and for nothing else"
            )
        if self.tick and not (self.change_from and self.tested):
            raise ValueError("a tick needs change_from, and a column that is tested: not RoC")


class Average(Strict):
    """A column of averages: of each row, the mean of its numbers in other columns.

    Rows are compared over the queries of all these columns. Each column counts alike, however many
    queries it has, as in BEIR's averages.
    """

    id: Annotated[Id, Name("column")]
    header: str = Field(description="as the paper prints it")
    of: list[ColumnId] = Field(min_length=2, description="columns of one measure, on other splits")
    ranks_as: ColumnId | None = Field(
        None,
        exclude_if=lambda name: name is None,
        description="another average, such as of whole collections where this one is of samples: "
        "a note says by Kendall's tau whether both order the rows alike",
    )

    def check(self) -> None:
        if len({*self.of}) < len(self.of):
            raise ValueError(f"of: column {max(self.of, key=self.of.count)} is given twice")

    @property
    def tested(self) -> bool:
        """Say whether rows are tested: always, over the queries of all columns."""
        return True

    def named(self) -> str:
        """Name the value of the column."""
        return f"mean of {', '.join(self.of)}"


class Row(Strict):
    """A row of a table: a system for all columns, or a system for each column."""

    id: Annotated[Id, Name("row")]
    label: str
    group: str = ""
    index: Positive | None = Field(None, description="the number by which others claim to beat it")
    system: SystemId | dict[ColumnId, SystemId] | None = Field(
        None, description="or column: its system; where a column has none, a dash stands"
    )
    not_run: str | None = Field(None, description="reason why no system makes this row yet")
    below: RowId | None = Field(None, description="an arrow marks cells below this row")
    control: bool = Field(False, description="shown beside the paper's rows, compared with none")

    def check(self) -> None:
        if (self.system is None) == (self.not_run is None):
            raise ValueError("give exactly one of system and not_run")
        if self.system == {}:
            raise ValueError("system: name a system, or one for each of some columns")
        if self.control and (self.index or self.below):
            raise ValueError("a control is compared with no row: leave out index and below")

    def part(self, column: str) -> str:
        """Return the name of a cell's system: ROW, or ROW/COLUMN if columns have own systems."""
        return f"{self.id}/{column}" if isinstance(self.system, dict) else self.id

    @property
    def parts(self) -> dict[str, str]:
        """The row's systems by name: ROW, or ROW/COLUMN."""
        if isinstance(self.system, dict):
            return {self.part(column): system for column, system in self.system.items()}
        return {self.id: self.system} if self.system else {}


class Table(Reported):
    """A table of systems by measures, with tests between the systems."""

    kind: Literal["table"]
    columns: list[Column] = Field(min_length=1)
    means: list[Average] = Field(
        [],
        exclude_if=lambda means: not means,
        description="averages over columns, behind them: a suite of collections",
    )
    rows: list[Row] = Field(min_length=1)
    tests: TestsId = Field(description="how the rows are compared: an entry of config/tests")
    baselines: list[RowId] = Field([], description="rows for `compare: with_baselines`")
    index: IndexStatistics | None = Field(None, description="numbers compare if this is equal")

    def labels(self) -> dict[str, str]:
        return {row.id: row.label for row in self.rows}

    def systems(self) -> dict[str, str]:
        return {part: system for row in self.rows for part, system in row.parts.items()}

    def shown(self) -> Iterator[tuple[str, str]]:
        for row, column in product(self.rows, self.columns):
            if row.part(column.id) in row.parts:
                yield row.part(column.id), column.role

    def grouped_by(self) -> Iterator[tuple[str, str]]:
        return ((c.within.grouping, c.role) for c in self.columns if c.within)

    @property
    def ticks(self) -> bool:
        return True

    def change_of(self, column: str) -> str | None:
        return next((c.change_from for c in self.columns if c.id == column), None)

    def averaged(self, name: str) -> list[str]:
        """Return the columns that a column is the mean of; a plain column is itself."""
        return next((mean.of for mean in self.means if mean.id == name), [name])

    def row(self, name: str) -> Row:
        """Return the row with an id."""
        return next(row for row in self.rows if row.id == name)

    def part(self, row: str, column: str) -> str:
        """Return the name of a cell's system: ROW, or ROW/COLUMN."""
        return self.row(row).part(column)

    def measured(self) -> Iterator[tuple[str, str]]:
        return (
            (column.role, column.measure) for column in self.columns if column.shows != "chosen"
        )

"""config/papers/<paper>/*.yaml: tables, dataset characteristics and claims."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Id, Name, Positive, Ref, Role, Strict, references
from residuum.config.schema.cells import PrintedCell, PrintedText
from residuum.config.schema.claims import Claim

DEPTH = "depth"
RATIO = "RoC"
ColumnMeasure = Annotated[str, Ref("measure", kinds=("judgements", "answers"), besides=(DEPTH,))]
RowId = Annotated[Id, Ref("row")]
SystemId = Annotated[Id, Ref("system")]
ColumnId = Annotated[Id, Ref("column")]
AnyColumn = Annotated[str, Ref("column", besides=("default",))]
TestsId = Annotated[Id, Ref("tests")]


def parts_of(page: str) -> tuple[str, str]:
    """Return paper and name of a page: `lexical-baselines-cacm` is cacm of lexical-baselines."""
    paper, _, name = page.rpartition("-")
    return paper, name


class QuerySet(Strict):
    """A column of dataset characteristics: a split and its label."""

    id: Annotated[Id, Name("column")]
    role: Role
    header: str = Field(description="as the paper prints it")


class Within(Strict):
    """A group of the queries of a column's split."""

    grouping: Annotated[Id, Ref("grouping")]
    group: str


class Column(QuerySet):
    """One column: role and measure give everything the header prints, and what is derived of them.

    residual, overlap and RoC (Lee et al., ACL 2023, Eq. 1) are of a row's dense part D and lexical
    part S alone, by a measure that is 1 or 0 for a query; better is the share of queries won.
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
        """Say what is shown: a measure of runs, what tuning chose, or what two runs make of it."""
        if self.measure == DEPTH:
            return "chosen"
        return "derived" if self.derived else "measured"

    @property
    def tested(self) -> bool:
        """Say whether rows are compared by each query's value; a choice and a ratio have none."""
        return self.compared and self.measure != DEPTH and self.derived != RATIO

    @property
    def of_parts(self) -> bool:
        """Say whether the column is derived from the dense and the lexical part of each row."""
        return self.derived is not None and self.than is None

    @property
    def beside(self) -> list[str]:
        """Return the other rows that each cell rests on."""
        return [row for row in (self.than, self.change_from) if row]

    def is_change(self, row: str) -> bool:
        """Say whether a row's cell shows a difference; change_from's own shows its value."""
        return self.change_from not in (None, row)

    def named(self, row: str = "") -> str:
        """Name what the column, or a row's cell in it, shows: `change of RoC(Success@10)`."""
        of = ", ".join(filter(None, (self.measure, self.than)))
        name = f"{self.derived}({of})" if self.derived else of
        name += f" over {self.over}" if self.over else ""
        name += f" in {self.within.group}" if self.within else ""
        return f"change of {name}" if self.is_change(row) else name

    def check(self) -> None:
        derived = self.derived or self.change_from or self.tick
        if self.over and (self.measure == DEPTH or self.derived):
            raise ValueError("over: each row's order is measured; leave out depth and derived")
        if self.measure == DEPTH and (derived or self.within):
            raise ValueError("depth is chosen: leave out derived, change_from, tick and within")
        if (self.derived == "better") != (self.than is not None):
            raise ValueError("give than for derived: better, and for nothing else")
        if self.tick and not (self.change_from and self.tested):
            raise ValueError("a tick needs change_from, and a column that is tested: not RoC")


class Row(Strict):
    """One system of a table, or one for each of some columns."""

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
        """Return what a cell's system goes by: the row, or row and column if each has its own."""
        return f"{self.id}/{column}" if isinstance(self.system, dict) else self.id

    @property
    def parts(self) -> dict[str, str]:
        """The row's systems by what they go by."""
        if isinstance(self.system, dict):
            return {self.part(column): system for column, system in self.system.items()}
        return {self.id: self.system} if self.system else {}


Draws = Annotated[int, Field(gt=0, le=10_000_000)]


class Tests(Strict):
    """How the comparisons of a page are tested: an entry of config/tests, named by pages."""

    test: Literal["permutation", "t-test", "wilcoxon"]
    alpha: float = Field(gt=0, lt=1)
    resamples: Draws = Field(9999, description="sign flips, for the permutation test")
    bootstrap: Draws = Field(9999, description="draws of the queries, for bootstrap intervals")
    seed: int = 1
    compare: Literal["all_pairs", "with_baselines"] = "all_pairs"
    correction: Literal["none", "bonferroni", "holm"]
    family: Literal["column", "table", "paper"] = Field(description="what is corrected together")


class Printed(Strict):
    """What every page of a paper has: a title, where the paper prints it."""

    title: str
    printed_in: str = Field(description="where the paper prints it")

    def systems(self) -> dict[str, str]:
        """Return the system named for each part: a row, a series, a list."""
        return {}

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield each system, by the part it stands for, with each role that shows it."""
        yield from product(self.systems(), [role for _, role in references(self, "role")])

    def measured(self) -> Iterator[tuple[str, str]]:
        """Yield role and measure of what is shown, where runs must be evaluated for it."""
        yield from ()

    def grouped_by(self) -> Iterator[tuple[str, str]]:
        """Yield each grouping whose groups are shown, with the role of the queries."""
        yield from ()


class Reported(Printed):
    """A page with numbers that the paper printed."""

    tolerance: dict[AnyColumn, Annotated[float, Field(ge=0)]] = Field(
        {}, description="column, or default: largest |delta|; absent: 0"
    )
    last_digits: bool = Field(False, description="tolerance counts last digits: of 6.9K, hundreds")
    reported: dict[RowId, dict[ColumnId, PrintedText]] = Field(
        {},
        description="row id: column id: '0.243 ^1,2,4' (rows it beats), '0.241 ↓', '+0.05', '✓'",
    )

    def tolerated(self, column: str, printed: PrintedCell) -> float:
        """Return the largest |delta| at which a number that a column prints is reproduced."""
        most = self.tolerance.get(column, self.tolerance.get("default", 0.0))
        return most * printed.digit if self.last_digits else most

    def cells(self) -> Iterator[tuple[str, str, PrintedCell]]:
        """Yield the row, the column and the content of every reported cell."""
        for row, cells in self.reported.items():
            yield from ((row, column, PrintedCell.parse(text)) for column, text in cells.items())


class IndexStatistics(Strict):
    """What a published index counts; a number compares only with one of an index that counts so."""

    documents: Positive
    non_empty_documents: Positive | None = None
    unique_terms: Positive | None = None
    total_terms: Positive | None = None


class Table(Reported):
    """Systems x measures, with tests between the systems."""

    kind: Literal["table"]
    columns: list[Column] = Field(min_length=1)
    rows: list[Row] = Field(min_length=1)
    tests: TestsId = Field(description="how the rows are compared: an entry of config/tests")
    baselines: list[RowId] = Field([], description="rows for `compare: with_baselines`")
    index: IndexStatistics | None = Field(None, description="numbers compare if this is equal")
    notes: list[str] = Field([], description="printed under the table: what no cell can say")

    def systems(self) -> dict[str, str]:
        return {part: system for row in self.rows for part, system in row.parts.items()}

    def shown(self) -> Iterator[tuple[str, str]]:
        for row, column in product(self.rows, self.columns):
            if row.part(column.id) in row.parts:
                yield row.part(column.id), column.role

    def grouped_by(self) -> Iterator[tuple[str, str]]:
        return ((c.within.grouping, c.role) for c in self.columns if c.within)

    def row(self, name: str) -> Row:
        """Return the row of an id."""
        return next(row for row in self.rows if row.id == name)

    def part(self, row: str, column: str) -> str:
        """Return what the system of a cell goes by."""
        return self.row(row).part(column)

    def measured(self) -> Iterator[tuple[str, str]]:
        return (
            (column.role, column.measure) for column in self.columns if column.shows != "chosen"
        )


class Characteristic(Strict):
    """A row of dataset characteristics.

    queries, relevant_per_query and grades (2 if binary) are of judged queries, test_queries and
    query_words of all; train_queries, and train_pairs of a query and a relevant doc, are of the
    collection's training split. Of folds one is for testing and all others are for training; pairs
    are not counted. Words lie between white space.
    """

    id: Annotated[Id, Name("row")]
    label: str
    quantity: Literal[
        "queries",
        "relevant_per_query",
        "grades",
        "train_queries",
        "train_pairs",
        "test_queries",
        "query_words",
        "docs",
        "doc_words",
    ]


class Characteristics(Reported):
    """What query sets and collections are like."""

    kind: Literal["characteristics"]
    columns: list[QuerySet] = Field(min_length=1)
    rows: list[Characteristic] = Field(min_length=1)

    def asks(self, *quantities: str) -> bool:
        """Say whether a row shows one of some quantities."""
        return any(row.quantity in quantities for row in self.rows)


class Claims(Printed):
    """What a paper says of its results in words, each claim a family of comparisons of its own."""

    kind: Literal["claims"]
    tests: TestsId = Field(description="an entry of config/tests; its family `column` is a claim")
    claims: list[Claim] = Field(min_length=1)

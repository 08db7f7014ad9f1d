"""config/papers/<paper>/*.yaml: tables, dataset characteristics, cases and claims."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from residuum.config.schema.base import Id, Name, Positive, Ref, Role, Strict
from residuum.config.schema.claims import Claim

DEPTH = "depth"
ColumnMeasure = Annotated[str, Ref("measure", kinds=("judgements", "answers"), besides=(DEPTH,))]
RowId = Annotated[Id, Ref("row")]
ColumnId = Annotated[Id, Ref("column")]
AnyColumn = Annotated[str, Ref("column", besides=("default",))]
ListId = Annotated[Id, Ref("list")]
TestsId = Annotated[Id, Ref("tests")]


class PrintedCell(Strict):
    """A reported cell: the number, the row indices it beats, whether an arrow marks it."""

    value: float
    beats: list[int]
    below: bool

    @classmethod
    def parse(cls, text: str) -> "PrintedCell":
        """Read `0.308 ^1-4`, `0.241 ↓` or `0.307`; any other form raises ValueError."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(?: \^([0-9,-]+))?( ↓)?", text)
        if not match:
            raise ValueError(f"cannot read the cell '{text}'")
        ranges = [part.partition("-") for part in (match[2] or "").split(",") if part]
        beats = [i for first, _, last in ranges for i in range(int(first), int(last or first) + 1)]
        return cls(value=float(match[1]), beats=beats, below=bool(match[3]))


def readable(text: str) -> str:
    """Return the text of a reported cell; one that cannot be read raises ValueError."""
    PrintedCell.parse(text)
    return text


def parts_of(page: str) -> tuple[str, str]:
    """Return paper and name of a page: `lexical-baselines-cacm` is cacm of lexical-baselines."""
    paper, _, name = page.rpartition("-")
    return paper, name


class QuerySet(Strict):
    """A column of dataset characteristics: a split and its label."""

    id: Annotated[Id, Name("column")]
    role: Role
    header: str = Field(description="as the paper prints it")


class Column(QuerySet):
    """One measured column: role and measure give everything the header prints."""

    measure: ColumnMeasure = Field(description="ir_measures name; or depth: that of the reranking")

    @property
    def is_depth(self) -> bool:
        """Say whether the column shows what was chosen in tuning, not a measure of runs."""
        return self.measure == DEPTH


class Row(Strict):
    """One system of a table."""

    id: Annotated[Id, Name("row")]
    label: str
    group: str = ""
    index: Positive | None = Field(None, description="the number by which others claim to beat it")
    system: Annotated[Id, Ref("system")] | None = None
    not_run: str | None = Field(None, description="reason why no system makes this row yet")
    below: RowId | None = Field(None, description="an arrow marks cells below this row")
    control: bool = Field(False, description="shown beside the paper's rows, compared with none")

    def check(self) -> None:
        if (self.system is None) == (self.not_run is None):
            raise ValueError("give exactly one of system and not_run")
        if self.control and (self.index or self.below):
            raise ValueError("a control is compared with no row: leave out index and below")


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

    def measured(self) -> Iterator[tuple[str, str]]:
        """Yield role and measure of what is shown, where runs must be evaluated for it."""
        yield from ()


class Reported(Printed):
    """A page with numbers that the paper printed."""

    tolerance: dict[AnyColumn, float] = Field(description="column, or default: largest |delta|")
    reported: dict[RowId, dict[ColumnId, Annotated[str, AfterValidator(readable)]]] = Field(
        description="row id: column id: '0.243 ^1,2,4' (rows it beats) or '0.241 ↓'"
    )

    def tolerated(self, column: str) -> float:
        """Return the largest |delta| at which a number of a column is reproduced."""
        return self.tolerance[column if column in self.tolerance else "default"]

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
        return {row.id: row.system for row in self.rows if row.system}

    def measured(self) -> Iterator[tuple[str, str]]:
        return ((column.role, column.measure) for column in self.columns if not column.is_depth)


class Characteristic(Strict):
    """A row of dataset characteristics."""

    id: Annotated[Id, Name("row")]
    label: str
    quantity: Literal["queries", "relevant_per_query", "grades"]  # grades: 2 if binary


class Characteristics(Reported):
    """What query sets are like, counted from their queries and qrels."""

    kind: Literal["characteristics"]
    columns: list[QuerySet] = Field(min_length=1)
    rows: list[Characteristic] = Field(min_length=1)


class Condition(Strict):
    """What must hold of a case's doc in one of the lists: bounds of its rank, or its absence."""

    list: ListId
    at_least: Positive | None = Field(None, description="the doc's rank is this or a later one")
    at_most: Positive | None = Field(None, description="the doc's rank is this or an earlier one")
    or_absent: bool = Field(False, description="a doc that the list lacks fits too")
    absent: bool = Field(False, description="the list must lack the doc")


class Cases(Printed):
    """Example docs found by a rule: (query, doc) pairs that meet all conditions."""

    kind: Literal["cases"]
    role: Role
    lists: dict[Annotated[Id, Name("list")], Annotated[Id, Ref("system", but=("external",))]] = (
        Field(min_length=2, description="name of a list: system that makes it")
    )
    relevant: bool = Field(description="true: relevant docs only; false: docs not judged relevant")
    where: list[Condition] = Field(min_length=1)
    before: ListId = Field(description="list whose rank is shown first")
    after: ListId = Field(description="list whose rank is shown second; most gained first")
    limit: Positive = Field(3, description="cases shown, one per query")

    def systems(self) -> dict[str, str]:
        return self.lists


class Claims(Printed):
    """What a paper says of its results in words, each claim a family of comparisons of its own."""

    kind: Literal["claims"]
    tests: TestsId = Field(description="an entry of config/tests; its family `column` is a claim")
    claims: list[Claim] = Field(min_length=1)

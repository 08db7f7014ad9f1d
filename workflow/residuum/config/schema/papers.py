"""config/papers/<paper>/*.yaml: tables, dataset characteristics, case studies and figures."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from residuum.config.schema.base import Id, JudgedMeasure, Name, Positive, Ref, Role, Strict

CELL = re.compile(r"^(?P<value>\d+(?:\.\d+)?)(?: \^(?P<beats>[0-9,-]+))?(?P<below> ↓)?$")
DEPTH = "depth"
ColumnMeasure = Annotated[str, Ref("measure", kinds=("judgements", "answers"), besides=(DEPTH,))]
RowId = Annotated[Id, Ref("row")]
ListId = Annotated[Id, Ref("list")]


def parts_of(page: str) -> tuple[str, str]:
    """Return the paper and the name of a page: a paper's name may have hyphens, a page's has none.

    `lexical-baselines-cacm` is `cacm` of `lexical-baselines`.
    """
    paper, _, name = page.rpartition("-")
    return paper, name


class Column(Strict):
    """One measured column: role and measure give everything the header prints."""

    id: Annotated[Id, Name("column")]
    role: Role
    measure: ColumnMeasure = Field(
        description="ir_measures name; or depth: the rerank depth of the runs on the role's split"
    )
    header: str = Field(description="the measure as the paper prints it")

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
    below: RowId | None = Field(
        None, description="row of reference: an arrow marks cells significantly below it"
    )

    @model_validator(mode="after")
    def made_or_excused(self) -> "Row":
        """A row has a system or the reason why it has none."""
        if (self.system is None) == (self.not_run is None):
            raise ValueError("give exactly one of system and not_run")
        return self


class Tests(Strict):
    """How the comparisons of a page are tested: an entry of config/tests, named by pages."""

    test: Literal["permutation", "t-test", "wilcoxon"]
    alpha: float = Field(gt=0, lt=1)
    resamples: Positive = Field(9999, description="sign flips, for the permutation test")
    bootstrap: Positive = Field(9999, description="draws of the queries, for bootstrap intervals")
    seed: int = 1
    compare: Literal["all_pairs", "with_baselines"] = Field(
        "all_pairs", description="with_baselines: pairs with one of the rows the table names"
    )
    correction: Literal["none", "bonferroni", "holm"]
    family: Literal["column", "table", "paper"] = Field(
        description="which comparisons are corrected together; paper: of all its tables whose "
        "tests are these"
    )


class Printed(Strict):
    """What every page of a paper has: a title, where the paper prints it."""

    title: str
    printed_in: str = Field(description="where the paper prints it")


class Reported(Printed):
    """A page with numbers that the paper printed."""

    tolerance: dict[Annotated[str, Ref("column", besides=("default",))], float] = Field(
        description="column id (or 'default'): largest |measured - reported| that reproduces"
    )
    reported: dict[RowId, dict[Annotated[Id, Ref("column")], str]] = Field(
        description="row id: column id: '0.243 ^1,2,4' (rows it beats) or '0.241 ↓'"
    )

    @field_validator("reported")
    @classmethod
    def cells_parse(cls, reported: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """Every reported cell follows the small grammar of `PrintedCell`."""
        for row, cells in reported.items():
            for column, text in cells.items():
                if not CELL.match(text):
                    raise ValueError(f"{row}.{column}: cannot read the cell '{text}'")
        return reported

    def cells(self) -> Iterator[tuple[str, str, "PrintedCell"]]:
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
    tests: Annotated[Id, Ref("tests")] = Field(
        description="how the rows are compared: an entry of config/tests"
    )
    baselines: list[RowId] = Field(
        [], description="rows that the others are compared with, for `compare: with_baselines`"
    )
    index: IndexStatistics | None = Field(
        None,
        description="the index that the numbers are of: they compare with those of the same one, "
        "whatever the scale, and with no others",
    )


class QuerySet(Strict):
    """A column of dataset characteristics: a split and its label."""

    id: Annotated[Id, Name("column")]
    role: Role
    header: str


class Characteristic(Strict):
    """A row of dataset characteristics."""

    id: Annotated[Id, Name("row")]
    label: str
    quantity: Literal["queries", "relevant_per_query", "grades"] = Field(
        description="grades: levels of relevance, 2 for binary judgements"
    )


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


class Series(Strict):
    """A line of a figure: a rerank system, measured at each depth."""

    id: Annotated[Id, Name("series")]
    label: str
    system: Annotated[Id, Ref("system", kinds=("rerank",))]


class Panel(Strict):
    """A plot of a figure: the candidates' recall, or a measure after reranking, at each depth."""

    id: Annotated[Id, Name("panel")]
    shows: Literal["recall", "reranked"]
    measure: JudgedMeasure | None = Field(None, description="ir_measures name, for reranked")
    header: str = Field(description="the axis as the paper prints it")

    @model_validator(mode="after")
    def measured(self) -> "Panel":
        """Recall needs no measure, what is reranked does."""
        if (self.measure is None) != (self.shows == "recall"):
            raise ValueError("give measure for reranked, and none for recall")
        return self


class Figure(Printed):
    """Recall and accuracy at every rerank depth, with a paired test between the first series (the
    baseline) and each other one at every depth."""

    kind: Literal["figure"]
    role: Role
    series: list[Series] = Field(min_length=1)
    panels: list[Panel] = Field(min_length=1)
    tests: Annotated[Id, Ref("tests")] = Field(
        description="an entry of config/tests that compares with_baselines"
    )


Page = Annotated[Table | Characteristics | Cases | Figure, Field(discriminator="kind")]


class PrintedCell(Strict):
    """A reported cell: the number, the row indices it beats, whether an arrow marks it."""

    value: float
    beats: list[int]
    below: bool

    @classmethod
    def parse(cls, text: str) -> "PrintedCell":
        """Read `0.308 ^1-4`, `0.241 ↓` or `0.307`."""
        match = CELL.match(text)
        if not match:
            raise ValueError(f"cannot read the cell '{text}'")
        beats = _indices(match["beats"] or "")
        return cls(value=float(match["value"]), beats=beats, below=bool(match["below"]))


def _indices(text: str) -> list[int]:
    indices: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        indices.extend(range(int(first), int(last or first) + 1))
    return indices

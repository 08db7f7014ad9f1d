"""The keys that entries of pages share: title, place in the paper, reported numbers.

Usage: a kind of page is a subclass of `Printed`, or of `Reported` if the paper prints numbers.
"""

from abc import abstractmethod
from collections.abc import Iterator
from itertools import product
from typing import Annotated

from pydantic import Field

from residuum.config.schema.base import Id, Name, Ref, Role, Strict, references
from residuum.pages.cells import PrintedCell, PrintedText

RowId = Annotated[Id, Ref("row")]
SystemId = Annotated[Id, Ref("system")]
ColumnId = Annotated[Id, Ref("column")]
AnyColumn = Annotated[str, Ref("column", besides=("default",))]

Delta = Annotated[float, Field(ge=0)]


def parts_of(page: str) -> tuple[str, str]:
    """Return paper and name of a page: `lexical-baselines-cacm` is cacm of lexical-baselines."""
    paper, _, name = page.rpartition("-")
    return paper, name


def page_id(paper: str, name: str) -> str:
    """Return the id of a paper's page, of which `parts_of` returns the parts."""
    return f"{paper}-{name}"


UNPRINTED = "not printed in a paper"


def prefix_of(printed_in: str) -> str:
    """Return where a page is printed, to put before a title; "" for a page of one's own."""
    return "" if printed_in == UNPRINTED else f"{printed_in}: "


class QuerySet(Strict):
    """A column of dataset characteristics: a split and its label."""

    id: Annotated[Id, Name("column")]
    role: Role
    header: str = Field(description="as the paper prints it")


class Printed(Strict):
    """The keys of every page of a paper: its kind, its title, its place in the paper."""

    kind: str
    title: str
    printed_in: str = Field(
        UNPRINTED, description="where the paper prints it; absent: a page of your own"
    )
    notes: list[str] = Field([], description="printed below the page: what no cell can say")

    @property
    def unprinted(self) -> bool:
        """Say whether this is a page of one's own, which no paper prints."""
        return self.printed_in == UNPRINTED

    def papers_name(self, header: str) -> str:
        """Return the paper's name of a column, for a note; "" for a page of one's own."""
        return "" if self.unprinted else f" (the paper's {header})"

    def systems(self) -> dict[str, str]:
        """Return the system of each part: a row, a series, a list."""
        return {}

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield each part that has a system, with each role that it is shown on."""
        yield from product(self.systems(), [role for _, role in references(self, "role")])

    @property
    def judged(self) -> bool:
        """Say whether the ledger judges the page's numbers."""
        return False

    def searched_for(self) -> Iterator[str]:
        """Yield the roles of splits that are searched for the page without a measure."""
        yield from ()

    def measured(self) -> Iterator[tuple[str, str]]:
        """Yield role and measure of each number that needs evaluated runs."""
        yield from ()

    def grouped_by(self) -> Iterator[tuple[str, str]]:
        """Yield each grouping that the page shows, with the role of the queries."""
        yield from ()


class Reported(Printed):
    """A page with rows of numbers that the paper prints."""

    tolerance: dict[AnyColumn, Delta] = Field(
        {}, description="column, or default: largest |delta|; absent: 0"
    )
    last_digits: bool = Field(False, description="tolerance counts last digits: of 6.9K, hundreds")
    reported: dict[RowId, dict[ColumnId, PrintedText]] = Field(
        {},
        description="row id: column id: '0.243 ^1,2,4' (rows it beats), '0.241 ↓', '+0.05', '✓'",
    )

    @abstractmethod
    def labels(self) -> dict[str, str]:
        """Return the label of each row that `reported` may name, in the page's order."""

    @property
    def judged(self) -> bool:
        return True

    @property
    def ticks(self) -> bool:
        """Say whether a cell may print a tick."""
        return False

    def change_of(self, column: str) -> str | None:
        """Return the row that a column's numbers are changes from, or None."""
        return None

    def tolerated(self, column: str, printed: PrintedCell) -> float:
        """Return the largest |delta| at which a printed number counts as reproduced."""
        most = self.tolerance.get(column, self.tolerance.get("default", 0.0))
        return most * printed.digit if self.last_digits else most

    def cells(self) -> Iterator[tuple[str, str, PrintedCell]]:
        """Yield the row, the column and the content of every reported cell."""
        for row, cells in self.reported.items():
            yield from ((row, column, PrintedCell.parse(text)) for column, text in cells.items())

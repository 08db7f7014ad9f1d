"""Claims of config/papers: sentences of a paper, and what must hold on its pages for them.

Usage: `claim.holds.compared(points)` yields the comparisons that decide a claim. A point is a row
and a column of a table, a series and `panel/x` of a figure, or a row and `quantity/length` of a
page of dimensions.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from residuum.config.schema.base import Id, Name, Strict
from residuum.config.schema.tests import TestsId
from residuum.pages.entries import Printed

Point = tuple[str, str]  # row, column
Says = Literal["above", "below", "apart", "at least", "not below", "not apart"]
K = "K"  # the name of a rerank depth
# How the gap at the last point compares with that at the first.
LEADS: dict[str, Says] = {
    "narrows": "below", "widens": "above", "widest": "above", "stays": "not apart",
}  # fmt: skip
Axes = Iterator[tuple[str, list[str]]]  # the name of an axis, its points in order


class Compared(NamedTuple):
    """A comparison that decides a claim: its two sides, their points, and the relation."""

    a: str
    b: str
    column: str
    sides: tuple[Point, Point]
    says: Says
    less: tuple[Point, Point] | None = None  # the points subtracted from each side, for a gap


class Between(Strict):
    """The claim that rows lie above, below or apart from other rows in each column or point."""

    relation: Literal["above", "below", "apart"]
    page: Id = Field(description="table or figure of the same paper, such as table1")
    rows: dict[Id, Annotated[list[Id], Field(min_length=1)]] = Field(
        min_length=1, description="row or series: the others"
    )
    columns: list[Id] = Field(min_length=1, description="columns, or panels of a figure")
    but: list[str] = Field([], description="depths or groups of a figure that are left out")

    def named(self) -> list[str]:
        """Return the rows that the claim is about."""
        return _with_others(self.rows)

    def compared(self, points: Collection[Point], axis: str = K) -> Iterator[Compared]:
        """Yield a comparison per column (or depth of a panel), row and other row."""
        for column in self.columns:
            for row, others in self.rows.items():
                for other in others:
                    every = along(points, row, column)
                    for at in (at for at in every if at.partition("/")[2] not in self.but):
                        yield Compared(row, other, at, ((row, at), (other, at)), self.relation)


class Along(Strict):
    """The claim that a row changes along an axis.

    An axis is the depths, snapshots or cutoffs of a figure's panel, the columns of a table in the
    order of `columns`, or the lengths of a quantity of a page of dimensions.

    rises: the last point lies above the first, and no point lies below the one before it. falls:
    the reverse. keeps: the last point lies above the first; numbers that are computed and not
    tested may be equal. needs_largest: the last point lies above every other point.
    """

    relation: Literal["rises", "falls", "keeps", "needs_largest"]
    page: Id = Field(description="figure, table or page of dimensions of the same paper")
    rows: list[Id] = Field(min_length=1, description="its rows or series")
    columns: list[str] = Field(
        min_length=1, description="panels; two or more columns of a table, in order; quantities"
    )

    def named(self) -> list[str]:
        """Return the rows that the claim is about."""
        return self.rows

    def compared(self, points: Collection[Point], axis: str = K) -> Iterator[Compared]:
        """Yield the comparisons of a row with itself at other points; none for one point."""
        for row in self.rows:
            for name, every in axes(points, row, self):
                if self.relation == "falls":
                    every.reverse()
                ends = every[:-1]
                says: Says = "at least" if self.relation == "keeps" else "above"
                for earlier in ends if self.relation == "needs_largest" else ends[:1]:
                    yield _within(row, name, every[-1], earlier, says, axis)
                # Of two points the ends are the one step, which is tested once.
                if self.relation in ("rises", "falls") and len(every) > 2:
                    for earlier, later in pairwise(every):
                        yield _within(row, name, later, earlier, "not below", axis)


class Narrows(Strict):
    """The claim on a row's lead over others, from the first to the last point of an axis.

    narrows: the lead is smaller at the last. widens: it is larger there. widest: it is larger at
    the last than at every other point. stays: it is neither smaller nor larger at the last.
    """

    relation: Literal["narrows", "widens", "widest", "stays"]
    page: Id = Field(description="figure or table of the same paper")
    rows: dict[Id, Annotated[list[Id], Field(min_length=1)]] = Field(
        min_length=1, description="row or series: those that it leads"
    )
    columns: list[Id] = Field(
        min_length=1, description="panels, or two or more columns of a table, in order"
    )

    def named(self) -> list[str]:
        """Return the rows that the claim is about."""
        return _with_others(self.rows)

    def compared(self, points: Collection[Point], axis: str = K) -> Iterator[Compared]:
        """Yield the comparisons of the gaps of each pair of rows; none for one point."""
        says = LEADS[self.relation]
        for row, other in ((row, other) for row, others in self.rows.items() for other in others):
            for name, every in axes(points, row, self):
                ends = every[:-1]
                for earlier in ends if self.relation == "widest" else ends[:1]:
                    both = (every[-1], earlier)
                    names = [f"{row} - {other} {_at(point, axis)}" for point in both]
                    sides, less = (((part, both[0]), (part, both[1])) for part in (row, other))
                    yield Compared(names[0], names[1], name, sides, says, less)


class Factor(Strict):
    """The claim that a row's number is a multiple of another row's number in a column."""

    relation: Literal["factor"]
    page: Id = Field(description="table of the same paper")
    rows: dict[Id, Id] = Field(min_length=1, description="row: the row that it is a multiple of")
    columns: list[Id] = Field(min_length=1, max_length=1)
    between: tuple[float, float] = Field(description="least and largest factor")

    def named(self) -> list[str]:
        """Return the rows that the claim is about."""
        return list(dict.fromkeys(chain.from_iterable(self.rows.items())))

    def compared(self, points: Collection[Point], axis: str = K) -> Iterator[Compared]:
        """Yield nothing: a factor is computed, not tested."""
        yield from ()


class Inside(Strict):
    """The claim that numbers of a page of dimensions lie between two numbers."""

    relation: Literal["within"]
    page: Id = Field(description="page of dimensions of the same paper")
    rows: list[Id] = Field(min_length=1, description="its rows")
    columns: list[Id] = Field(min_length=1, description="quantities, such as exponent")
    between: tuple[float, float] = Field(description="least and largest number")

    def named(self) -> list[str]:
        """Return the rows that the claim is about."""
        return self.rows

    def compared(self, points: Collection[Point], axis: str = K) -> Iterator[Compared]:
        """Yield nothing: the numbers are computed, not tested."""
        yield from ()


Holding = Annotated[Between | Along | Narrows | Factor | Inside, Field(discriminator="relation")]


class Claim(Strict):
    """A sentence of a paper on its results, with the relation to test or why nothing is tested."""

    id: Annotated[Id, Name("claim")]
    section: str = Field(description="where the sentence stands, such as 5.2 or 5.2, Fig. 1a")
    says: str = Field(description="the sentence, in the paper's words")
    holds: Holding | None = Field(None, description="what it means for rows of a page")
    no_test: str | None = Field(None, description="why nothing definite can be tested")
    remark: str = Field("", description="what of the sentence is left out, or how it is read")

    def check(self) -> None:
        if (self.holds is None) == (self.no_test is None):
            raise ValueError("give exactly one of holds and no_test")


def along(points: Collection[Point], row: str, column: str) -> Iterator[str]:
    """Yield a row's points in a column or panel, in the order of `points`."""
    return (at for name, at in points if name == row and at.partition("/")[0] == column)


def axes(points: Collection[Point], row: str, holds: Along | Narrows) -> Axes:
    """Yield each axis of a claim: a panel and its points, or a table and its columns."""
    columns = [column for column in holds.columns if (row, column) in points]
    if columns:
        yield holds.page, columns
    else:
        yield from ((name, list(along(points, row, name))) for name in holds.columns)


def _with_others(rows: Mapping[str, Sequence[str]]) -> list[str]:
    pairs = ((row, *others) for row, others in rows.items())
    return list(dict.fromkeys(chain.from_iterable(pairs)))


def _at(point: str, axis: str) -> str:
    """Write where on an axis a point lies: `at K 50`, or `in COLUMN` of a table."""
    _, drawn, x = point.partition("/")
    return f"at {axis} {x}" if drawn else f"in {point}"


def _within(row: str, name: str, later: str, earlier: str, says: Says, axis: str) -> Compared:
    names = [f"{row} {_at(point, axis)}" for point in (later, earlier)]
    return Compared(names[0], names[1], name, ((row, later), (row, earlier)), says)


class Claims(Printed):
    """A paper's claims about its results in words. Each claim is a family of comparisons."""

    kind: Literal["claims"]
    tests: TestsId = Field(description="an entry of config/tests; its family `column` is a claim")
    claims: list[Claim] = Field(min_length=1)

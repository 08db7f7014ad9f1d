"""Claims of config/papers: sentences of a paper, and what must hold on its pages for them.

Usage: `claim.holds.compared(points)` yields the comparisons that decide a claim. A point is a row
and a column of a table, or a series and `panel/x` of a figure.
"""

from collections.abc import Collection, Iterator
from itertools import chain, pairwise
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from residuum.config.schema.base import Id, Name, Strict
from residuum.config.schema.tests import TestsId
from residuum.pages.entries import Printed

Point = tuple[str, str]  # row, column
Says = Literal["above", "below", "apart", "not below", "not apart"]
K = "K"  # the name of a rerank depth


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
        pairs = ((row, *others) for row, others in self.rows.items())
        return list(dict.fromkeys(chain.from_iterable(pairs)))

    def compared(self, points: Collection[Point], axis: str = K) -> Iterator[Compared]:
        """Yield a comparison per column (or depth of a panel), row and other row."""
        for column in self.columns:
            for row, others in self.rows.items():
                for other in others:
                    every = along(points, row, column)
                    for at in (at for at in every if at.partition("/")[2] not in self.but):
                        yield Compared(row, other, at, ((row, at), (other, at)), self.relation)


class Along(Strict):
    """The claim that a series changes over the depths, or the snapshots, of a figure.

    rises: the largest depth lies above the smallest, and no depth lies below the previous depth.
    needs_largest: the largest depth lies above every smaller depth.
    """

    relation: Literal["rises", "needs_largest"]
    page: Id = Field(description="figure of the same paper")
    rows: list[Id] = Field(min_length=1, description="its series")
    columns: list[Id] = Field(min_length=1, description="its panels")

    def named(self) -> list[str]:
        """Return the series that the claim is about."""
        return self.rows

    def compared(self, points: Collection[Point], axis: str = K) -> Iterator[Compared]:
        """Yield the comparisons of a series with itself at other depths; none for one depth."""
        for column in self.columns:
            for row in self.rows:
                depths = list(along(points, row, column))
                ends = depths[:-1]
                for smaller in ends if self.relation == "needs_largest" else ends[:1]:
                    yield _within(row, column, depths[-1], smaller, "above", axis)
                if self.relation == "rises":
                    for smaller, larger in pairwise(depths):
                        yield _within(row, column, larger, smaller, "not below", axis)


class Narrows(Strict):
    """The claim on a series' lead over another: from the first depth or snapshot to the last.

    narrows: the lead is smaller at the last. stays: it is neither smaller nor larger there.
    """

    relation: Literal["narrows", "stays"]
    page: Id = Field(description="figure of the same paper")
    rows: dict[Id, Id] = Field(min_length=1, description="series: the one that it leads")
    columns: list[Id] = Field(min_length=1, description="its panels")

    def named(self) -> list[str]:
        """Return the series that the claim is about."""
        return list(dict.fromkeys(chain.from_iterable(self.rows.items())))

    def compared(self, points: Collection[Point], axis: str = K) -> Iterator[Compared]:
        """Yield the comparison of both gaps for each pair of series; none for one depth."""
        says: Says = "below" if self.relation == "narrows" else "not apart"
        for column in self.columns:
            for row, other in self.rows.items():
                every = list(along(points, row, column))
                for first, last in [(every[0], every[-1])] if len(every) > 1 else ():
                    at = [f"{axis} {end.partition('/')[2]}" for end in (last, first)]
                    names = [f"{row} - {other} at {where}" for where in at]
                    sides, less = ((row, last), (row, first)), ((other, last), (other, first))
                    yield Compared(names[0], names[1], column, sides, says, less)


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


Holding = Annotated[Between | Along | Narrows | Factor, Field(discriminator="relation")]


class Claim(Strict):
    """A sentence of a paper on its results, with the relation to test or why nothing is tested."""

    id: Annotated[Id, Name("claim")]
    section: str = Field(description="where the sentence stands, such as 5.2 or 5.2, Fig. 1a")
    says: str = Field(description="the sentence, in the paper's words")
    holds: Holding | None = Field(None, description="what it means for rows of a page")
    not_judged: str | None = Field(None, description="why nothing definite can be tested")
    remark: str = Field("", description="what of the sentence is left out, or how it is read")

    def check(self) -> None:
        if (self.holds is None) == (self.not_judged is None):
            raise ValueError("give exactly one of holds and not_judged")


def along(points: Collection[Point], row: str, column: str) -> Iterator[str]:
    """Yield a row's points in a column or panel, in the order of `points`."""
    return (at for name, at in points if name == row and at.partition("/")[0] == column)


def _within(row: str, column: str, larger: str, smaller: str, says: Says, axis: str) -> Compared:
    names = [f"{row} at {axis} {at.partition('/')[2]}" for at in (larger, smaller)]
    return Compared(names[0], names[1], column, ((row, larger), (row, smaller)), says)


class Claims(Printed):
    """A paper's claims about its results in words. Each claim is a family of comparisons."""

    kind: Literal["claims"]
    tests: TestsId = Field(description="an entry of config/tests; its family `column` is a claim")
    claims: list[Claim] = Field(min_length=1)

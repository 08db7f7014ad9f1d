"""Pages of lines of config/papers, which draw the numbers of a table."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Id, Name, Strict
from residuum.pages.entries import Printed


class LinePoint(Strict):
    """A column of a table, and the name of its place on an axis."""

    column: str
    at: Annotated[str, Field(min_length=1)]


class LinePanel(Strict):
    """A plot of a table's numbers: the columns along the axis, and their names."""

    id: Annotated[Id, Name("panel")]
    header: str = Field(description="the plot as the paper names it")
    points: list[LinePoint] = Field(min_length=2, description="from left to right")


class Lines(Printed):
    """A table's numbers as lines: each plot shows several columns, with a line for each row.

    Measures, tests and reported numbers are those of the table.
    """

    kind: Literal["lines"]
    table: Id = Field(description="page of the same paper")
    axis: str = Field(description="what lies along the axis")
    measure: str = Field(description="what the table's columns measure, as the paper names it")
    panels: list[LinePanel] = Field(min_length=1)
    rows: list[Id] = Field([], description="rows of the table; none: all that have a number")

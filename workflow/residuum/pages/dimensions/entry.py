"""Pages of config/papers on the dimensions that keep a ranking."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from residuum.cli.errors import unknown
from residuum.config.schema.base import Id, Name, Ref, Role, Strict
from residuum.pages.cells import PrintedText
from residuum.pages.entries import Delta, Reported, RowId

RECALLS = [0.5, 0.75, 0.9, 0.95]
LEAST_MARGIN, CONSTANT, SLOPE, EXACT = "least-margin", "constant", "slope", "exact-slope"
MOST_SHARE, SHARE_RATIO, EXPONENT = "most-share", "share-ratio", "exponent"
SLOPES = {"slope-least": min, "slope-most": max}  # of the slopes of single draws
OF_PAIRS = (CONSTANT, SLOPE, *SLOPES, EXACT, MOST_SHARE, SHARE_RATIO, EXPONENT)


class Projection(Strict):
    """A plot of a measurement of fidelity.

    pairs: least dimensions over x = 1/(eps^2/2 - eps^3/3), with Lemma 1's line. margins: small
    margins by the length of docs. recall: least dimensions by the length of docs. bounds: the
    dimensions that theory requires at the median margin, and those that were enough.
    """

    id: Annotated[Id, Name("row")]
    label: str
    fidelity: Annotated[Id, Ref("fidelity")]
    shows: Literal["pairs", "margins", "recall", "bounds"]


class Dimensions(Reported):
    """How many dimensions of a random projection keep a lexical ranking (ME-BERT, section 2)."""

    kind: Literal["dimensions"]
    role: Role
    rows: list[Projection] = Field(min_length=1)
    recalls: list[Annotated[float, Field(gt=0, le=1)]] = Field(
        RECALLS,
        max_length=5,
        description="shares of queries whose least dimensions are shown",
    )
    tolerance: dict[str, Delta] = Field({}, description="quantity, or default: largest |delta|")
    reported: dict[RowId, dict[str, PrintedText]] = Field(
        {}, description="row: quantity, such as least-margin or constant"
    )

    def labels(self) -> dict[str, str]:
        return {row.id: row.label for row in self.rows}

    def searched_for(self) -> Iterator[str]:
        yield self.role

    def check(self) -> None:
        plots = {row.id: row.shows for row in self.rows}
        for row, column, _ in self.cells():
            named = {LEAST_MARGIN, *(OF_PAIRS * (plots.get(row) == "pairs"))}
            grouped = plots.get(row) in ("margins", "recall", "bounds") and "/" in column
            if column not in named and not grouped:
                raise ValueError(unknown("quantity", column, sorted(named)))

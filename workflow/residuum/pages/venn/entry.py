"""Circles of config/papers: the queries that two parts of a hybrid answer."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from residuum.cli.errors import unknown
from residuum.config.schema.base import Id, Measure, Name, Ref, Role, Strict
from residuum.pages.cells import PrintedText
from residuum.pages.entries import Delta, Reported, RowId

QUANTITIES = ("dense", "lexical", "residual", "overlap", "failure", "RoC")


class Diagram(Strict):
    """Two circles: the queries that a dense and a lexical part answer."""

    id: Annotated[Id, Name("row")]
    label: str
    dense: Annotated[Id, Ref("system", kinds=("dense", "external"))] = Field(
        description="D: the dense part alone, no hybrid"
    )
    lexical: Annotated[Id, Ref("system", kinds=("lexical", "external"))] = Field(description="S")
    disjoint: bool = Field(False, description="hypothetical: as large, and without an overlap")


class Venn(Reported):
    """Circles of the queries that two systems answer: shares of queries, and RoC."""

    kind: Literal["venn"]
    role: Role
    measure: Measure = Field(description="of hits, 0 or 1 for a query, such as Success@10")
    rows: list[Diagram] = Field(min_length=1)
    tolerance: dict[str, Delta] = Field({}, description="quantity, or default: largest |delta|")
    reported: dict[RowId, dict[str, PrintedText]] = Field(
        {}, description="diagram: quantity: share of the queries, or RoC"
    )

    def labels(self) -> dict[str, str]:
        return {row.id: row.label for row in self.rows}

    def check(self) -> None:
        named = [*self.tolerance, *(column for _, column, _ in self.cells())]
        if odd := [name for name in named if name not in (*QUANTITIES, "default")]:
            raise ValueError(unknown("quantity", odd[0], QUANTITIES))

    def systems(self) -> dict[str, str]:
        sides = ((row, side) for row in self.rows for side in ("dense", "lexical"))
        return {f"{row.id}/{side}": getattr(row, side) for row, side in sides}

    def measured(self) -> Iterator[tuple[str, str]]:
        yield self.role, self.measure

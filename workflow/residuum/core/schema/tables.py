"""config/papers/<paper>/*.yaml: rows x columns, reported cells, tests."""

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from residuum.core.schema.base import Id, Positive, Strict

CELL = re.compile(r"^(?P<value>\d+(?:\.\d+)?)(?: \^(?P<beats>[0-9,-]+))?(?P<below> ↓)?$")


class Column(Strict):
    """One measured column: role and measure give everything the header prints."""

    id: Id
    role: Id
    measure: str
    header: str = Field(description="the measure as the paper prints it")


class Row(Strict):
    """One system of a table."""

    id: Id
    label: str
    group: str = ""
    index: Positive | None = Field(None, description="the number by which others claim to beat it")
    system: Id | None = None
    not_run: str | None = Field(None, description="reason why no system makes this row yet")
    below: Id | None = Field(
        None, description="row of reference: an arrow marks cells significantly below it"
    )

    @model_validator(mode="after")
    def made_or_excused(self) -> "Row":
        """A row has a system or the reason why it has none."""
        if (self.system is None) == (self.not_run is None):
            raise ValueError("give exactly one of system and not_run")
        return self


class Tests(Strict):
    """How the comparisons of a table are tested."""

    test: Literal["permutation", "t-test", "wilcoxon"]
    alpha: float = Field(gt=0, lt=1)
    resamples: Positive = Field(9999, description="sign flips, for the permutation test")
    seed: int = 1
    correction: Literal["none", "bonferroni", "holm"]
    family: Literal["column", "table"] = Field(
        description="which comparisons are corrected together"
    )


class Table(Strict):
    """config/papers/<paper>/<table>.yaml: rows x columns, reported cells and tests."""

    title: str
    place: str = Field(description="where the paper prints it")
    columns: list[Column] = Field(min_length=1)
    rows: list[Row] = Field(min_length=1)
    tests: Tests
    tolerance: dict[str, float] = Field(
        description="column id (or 'default'): largest |measured - reported| that reproduces"
    )
    reported: dict[Id, dict[Id, str]] = Field(
        description="row id: column id: '0.243 ^1,2,4' (rows it beats) or '0.241 ↓'"
    )

    @field_validator("reported")
    @classmethod
    def cells_parse(cls, reported: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """Every reported cell follows the small grammar of `Cell`."""
        for row, cells in reported.items():
            for column, text in cells.items():
                if not CELL.match(text):
                    raise ValueError(f"{row}.{column}: cannot read the cell '{text}'")
        return reported


class Cell(Strict):
    """A reported cell: the number, the row indices it beats, whether an arrow marks it."""

    value: float
    beats: list[int]
    below: bool

    @classmethod
    def parse(cls, text: str) -> "Cell":
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

"""config/fidelities/*.yaml: measurements of how far random projections keep a lexical ranking.

Source: Luan et al. 2021 (ME-BERT), section 2.1. `residuum.fidelity` measures; pages show it.
"""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Entry, Id, Positive, Ref, Strict

Rising = Annotated[list[Positive], Field(min_length=1)]


class Tried(Strict):
    """The numbers of dimensions to try: those in `few`, then the multiples of a step."""

    few: list[Positive] = Field([])
    step: Positive
    most: Annotated[int, Field(ge=2)]

    def check(self) -> None:
        if not _rise([*self.few, self.step]) or self.step > self.most:
            raise ValueError("few must rise and end below step; step must be at most most")

    def values(self) -> list[int]:
        """Return the numbers of dimensions in rising order."""
        return [*self.few, *range(self.step, self.most + 1, self.step)]


class Fidelity(Entry):
    """A measurement on all queries and docs of a split, projected at random.

    A pair is a query's first doc and another doc. It is turned if the projection scores the other
    doc as high or higher. A length is a number of different terms.
    """

    model: Annotated[Id, Ref("model", kinds=("lexical-vectors",))] = Field(
        description="model whose vectors are projected; they have a dimension for each term"
    )
    present: bool = Field(False, description="1 for each term that is there: Boolean vectors")
    distribution: Literal["rademacher", "gaussian"] = Field(description="of the matrix's entries")
    dimensions: Tried
    draws: Positive = Field(description="matrices that are drawn")
    seed: int = Field(1, ge=0, description="seed of the first draw; the others follow")
    error: float = Field(0.05, gt=0, lt=0.5, description="share of pairs that may be turned")
    bins: Positive = Field(description="equally wide bins of pairs, by 1/(eps^2/2 - eps^3/3)")
    fewest: Positive = Field(description="pairs of a bin that is shown: fewer say little")
    groups: Positive = Field(
        4,
        description="groups of docs by length, of equally many docs: a query's r-th smallest "
        "margin depends on their number",
    )
    nearest: Rising = Field(description="ranks of a query's smallest margins that are kept")
    depth: Positive = Field(10, description="the first doc is recalled among so many")

    def check(self) -> None:
        if not _rise(self.nearest):
            raise ValueError("nearest: write each number once, the smallest first")
        if self.depth not in self.nearest:
            raise ValueError(f"nearest has to hold depth, {self.depth}, whose margin bounds recall")


def nth(number: int) -> str:
    """Write a rank: 1st, 2nd, 3rd, 10th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def _rise(values: list[int]) -> bool:
    return all(a < b for a, b in pairwise(values))

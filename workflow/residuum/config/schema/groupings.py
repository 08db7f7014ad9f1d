"""config/groupings/*.yaml: how the queries of a split are parted into groups.

A grouping is named by figures and by columns of tables; `residuum.groups` makes it.
"""

import re
from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import ID, Budgets, Id, JudgedMeasure, Positive, Ref, Strict

HARD, EASY = "hard", "easy"
NO_DOC = "no relevant doc"


class Lengths(Strict):
    """By the length of a query's relevant docs: their words, the mean of several."""

    kind: Literal["lengths"]
    width: Positive = Field(description="words between the bounds of a group")
    description: str = ""
    budgets: Budgets = Field([])

    def lacks(self, group: str) -> str | None:
        """Return what a group would be called that has a name which none can have; else None.

        A scale may set another width, so that any two bounds will do.
        """
        bounds = re.fullmatch(r"(\d+)-(\d+)", group)
        known = group == NO_DOC or (bounds and int(bounds[1]) < int(bounds[2]))
        return None if known else f"two bounds, such as 0-{self.width}, or {NO_DOC!r}"


class Halves(Strict):
    """By a measure of a system: the queries of the lower half are hard, the others easy."""

    kind: Literal["halves"]
    system: Annotated[Id, Ref("system", kinds=("lexical",))]
    measure: JudgedMeasure
    description: str = ""
    budgets: Budgets = Field([])

    def lacks(self, group: str) -> str | None:
        """Return what the groups are called if a group has another name; else None."""
        return None if group in (HARD, EASY) else f"{HARD} or {EASY}"


class Folds(Strict):
    """By the folds that the split names, such as the batches of an evaluation."""

    kind: Literal["folds"]
    description: str = ""
    budgets: Budgets = Field([])

    def lacks(self, group: str) -> str | None:
        """Return what the groups are called if a group has a name that none can have; else None."""
        return None if re.fullmatch(ID, group) else "the id of a split"


Grouping = Annotated[Lengths | Halves | Folds, Field(discriminator="kind")]

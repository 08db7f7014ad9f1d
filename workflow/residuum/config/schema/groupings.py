"""config/groupings/*.yaml: how the queries of a split are divided into groups.

Figures and columns of tables name groupings; `residuum.groups` makes them.
"""

import re
from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import ID, Entry, Id, JudgedMeasure, Positive, Ref

HARD, EASY = "hard", "easy"
NO_DOC = "no relevant doc"


class Lengths(Entry):
    """Groups by the length of a query's relevant docs: the mean of their numbers of words."""

    kind: Literal["lengths"]
    width: Positive = Field(description="words between the bounds of a group")

    def lacks(self, group: str) -> str | None:
        """Return a description of valid names if no group can have this name, else None.

        Any two bounds are valid, since a scale may set another width.
        """
        bounds = re.fullmatch(r"(\d+)-(\d+)", group)
        known = group == NO_DOC or (bounds and int(bounds[1]) < int(bounds[2]))
        return None if known else f"two bounds, such as 0-{self.width}, or {NO_DOC!r}"


class Halves(Entry):
    """Groups by a measure of a system: the lower half of the queries is hard, the rest easy."""

    kind: Literal["halves"]
    system: Annotated[Id, Ref("system", kinds=("lexical",))]
    measure: JudgedMeasure

    def lacks(self, group: str) -> str | None:
        """Return the names of the groups if no group has this name, else None."""
        return None if group in (HARD, EASY) else f"{HARD} or {EASY}"


class Folds(Entry):
    """Groups by the folds that the split names, such as the batches of an evaluation."""

    kind: Literal["folds"]

    def lacks(self, group: str) -> str | None:
        """Return a description of valid names if no group can have this name, else None."""
        return None if re.fullmatch(ID, group) else "the id of a split"


Grouping = Annotated[Lengths | Halves | Folds, Field(discriminator="kind")]

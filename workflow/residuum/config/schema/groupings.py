"""config/groupings/*.yaml: how the queries of a split are parted into groups.

A grouping is named by figures; `residuum.groups` makes it. Must not know pages or files.
"""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Budgets, Id, JudgedMeasure, Positive, Ref, Strict


class Lengths(Strict):
    """By the length of a query's relevant docs: their words, the mean of several."""

    kind: Literal["lengths"]
    width: Positive = Field(description="words between the bounds of a group")
    description: str = ""
    budgets: Budgets = Field([])


class Halves(Strict):
    """By a measure of a system: the queries of the lower half are hard, the others easy."""

    kind: Literal["halves"]
    system: Annotated[Id, Ref("system", kinds=("lexical",))]
    measure: JudgedMeasure
    description: str = ""
    budgets: Budgets = Field([])


Grouping = Annotated[Lengths | Halves, Field(discriminator="kind")]

"""Case studies of config/papers: the rule that finds example docs."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Id, Name, Positive, Ref, Role, Strict
from residuum.pages.entries import Printed

ListId = Annotated[Id, Ref("list")]


class Condition(Strict):
    """A condition on a case's doc in one of the lists: bounds of its rank, or its absence."""

    list: ListId
    at_least: Positive | None = Field(None, description="the doc's rank is this or a later one")
    at_most: Positive | None = Field(None, description="the doc's rank is this or an earlier one")
    or_absent: bool = Field(False, description="a doc that the list lacks fits too")
    absent: bool = Field(False, description="the list must lack the doc")


class Cases(Printed):
    """A case study: example (query, doc) pairs that meet all conditions of a rule."""

    kind: Literal["cases"]
    role: Role
    lists: dict[Annotated[Id, Name("list")], Annotated[Id, Ref("system")]] = Field(
        min_length=2, description="name of a list: system that makes it"
    )
    relevant: bool = Field(description="true: relevant docs only; false: docs not judged relevant")
    where: list[Condition] = Field(min_length=1)
    before: ListId = Field(description="list whose rank is shown first")
    after: ListId = Field(description="list whose rank is shown second; most gained first")
    limit: Positive = Field(3, description="cases shown, one per query")

    def systems(self) -> dict[str, str]:
        return self.lists

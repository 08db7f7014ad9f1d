"""What all entries share: strictness, ids, small number types, and how a key says what it names."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

ID = r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$"
Id = Annotated[str, Field(pattern=ID)]
Probability = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]


class Strict(BaseModel):
    """Base of all entries: unknown keys are faults, values do not change after loading."""

    # Deferred, because the classes of an open table import the modules that name the table.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


@dataclass(frozen=True)
class Ref:
    """Stands in the annotation of a key whose value names something, and says what.

    `to` is a folder's entry (dataset, model, system, tests), a paper, a name that scales bind
    (role, backbone, reranker, budget), a `dataset/split`, a measure, or a `Name` of the same file.
    `residuum.config.references` walks an entry by it.
    """

    to: str
    kinds: tuple[str, ...] = ()  # which kinds of it fit; none: all
    but: tuple[str, ...] = ()  # kinds that do not fit
    besides: tuple[str, ...] = ()  # words that may stand in its place
    use: Literal["", "tuning", "tuples", "released"] = ""  # what it is named for, where that counts


@dataclass(frozen=True)
class Name:
    """Stands in the annotation of a key that names a part of its file (a row, a split), once."""

    of: str


Role = Annotated[Id, Ref("role")]
Budgets = Annotated[
    list[Annotated[Id, Ref("budget")]],
    Field(description="scale budgets laid over this file, in order"),
]
BackboneRole = Annotated[Id, Ref("backbone")]
OWN = "own"  # in place of a role: the split that the searched collection names for it
TrainRole = Annotated[Id, Ref("role", besides=(OWN,))]
TuningRole = Annotated[Id, Ref("role", besides=(OWN,), use="tuning")]
TunedMeasure = Annotated[str, Ref("measure", kinds=("judgements",), use="tuning")]
JudgedMeasure = Annotated[str, Ref("measure", kinds=("judgements",))]
Measure = Annotated[str, Ref("measure", kinds=("judgements", "answers"))]


def _distinct(seeds: list[int]) -> list[int]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("a seed is given twice")
    return seeds


Seeds = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1), AfterValidator(_distinct)]

"""What all entries share: strictness, ids, small number types, and how a key says what it names."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from residuum.cli.errors import hint


class Strict(BaseModel):
    """Base of all entries: unknown keys are faults, values do not change after loading."""

    # Deferred, because the classes of an open table import the modules that name the table.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    def check(self) -> None:
        """Raise ValueError if keys contradict one another; called when each of them is valid."""

    @model_validator(mode="wrap")
    @classmethod
    def _checked(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            entry = handler(data)
        except ValidationError as error:
            faults = [_with_valid_keys(fault, [*cls.model_fields]) for fault in error.errors()]
            raise ValidationError.from_exception_data(cls.__name__, faults) from None
        entry.check()
        return entry


def _with_valid_keys(fault: ErrorDetails, keys: list[str]) -> InitErrorDetails:
    """Say beside an unknown key which ones are valid; those of deeper entries say it already."""
    kind, text = fault["type"], fault["msg"]
    if kind == "extra_forbidden":
        known = hint(str(fault["loc"][-1]), keys)
        kind, text = "unknown_key", f"unknown key; valid: {', '.join(sorted(keys))}.{known}"
    custom = PydanticCustomError(kind, text) if kind == "unknown_key" else kind
    location, given = fault["loc"], fault["input"]
    return InitErrorDetails(type=custom, loc=location, input=given, ctx=fault.get("ctx", {}))


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


ID = r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$"
OWN = "own"  # in place of a role: the split that the searched collection names for it
Id = Annotated[str, Field(pattern=ID)]
Probability = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]
SplitId = Annotated[Id, Ref("split")]
Role = Annotated[Id, Ref("role")]
TrainRole = Annotated[Id, Ref("role", besides=(OWN,))]
TuningRole = Annotated[Id, Ref("role", besides=(OWN,), use="tuning")]
JudgedMeasure = Annotated[str, Ref("measure", kinds=("judgements",))]
TunedMeasure = Annotated[str, Ref("measure", kinds=("judgements",), use="tuning")]
Measure = Annotated[str, Ref("measure", kinds=("judgements", "answers"))]
Seeds = Annotated[list[Annotated[int, Field(ge=0), Name("seed")]], Field(min_length=1)]
Budgets = Annotated[
    list[Annotated[Id, Ref("budget")]],
    Field(description="scale budgets laid over this file, in order"),
]

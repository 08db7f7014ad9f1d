"""What all entries share: strictness, ids, number types, and how a key says what it names.

Usage: `walk(system)` yields `Named("model", Ref("model"), "clear")`, so that faults, parts and what
is unavailable follow from annotations.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Literal, NamedTuple, Self, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from residuum.cli import scalars
from residuum.cli.errors import hint, unknown


class Strict(BaseModel):
    """Base of all entries: unknown keys are faults, values do not change after loading."""

    # Deferred, because the classes of an open table import the modules that name the table.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False)

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
        for key, given in data.items() if isinstance(data, dict) else ():
            if wrong := _misread(given, getattr(entry, key, None)):
                raise ValueError(f"{key}: {wrong}")
        entry.check()
        return entry


def _misread(given: object, value: object) -> str:
    """Say what is wrong where a truth, or a text that is none, became a number or a truth.

    Snakemake hands values of `--config docs={mine: 10}` on as texts, which are read as in YAML.
    """
    if isinstance(given, list) and isinstance(value, list | tuple):
        return next(filter(None, map(_misread, given, value)), "")
    if isinstance(given, dict) and isinstance(value, dict):
        parts = zip((*given, *given.values()), (*value, *value.values()), strict=True)
        return next((wrong for pair in parts if (wrong := _misread(*pair))), "")
    if not isinstance(value, int | float) or given is value:
        return ""
    if isinstance(given, bool):
        return "true and false are no numbers"
    if isinstance(given, str) and isinstance(scalars.of(given.strip()), str):
        valid = "true or false" if isinstance(value, bool) else "a number"
        return f"{given!r} is a text; write {valid}"
    return ""


def _with_valid_keys(fault: ErrorDetails, keys: list[str]) -> InitErrorDetails:
    """Say beside an unknown key which ones are valid; those of deeper entries say it already."""
    kind, text = fault["type"], fault["msg"]
    if kind == "extra_forbidden":
        known = hint(str(fault["loc"][-1]), keys)
        kind, text = "unknown_key", f"unknown key; valid: {', '.join(sorted(keys))}.{known}"
    custom = PydanticCustomError(kind, text) if kind in OWN_FAULTS else kind
    location, given = fault["loc"], fault["input"]
    return InitErrorDetails(type=custom, loc=location, input=given, ctx=fault.get("ctx", {}))


class Ref(NamedTuple):
    """Stands in the annotation of a key whose value names something, and says what.

    `to` is a folder's entry (dataset, model, system, tests), a paper, a name that scales bind
    (role, backbone, reranker, budget), a `dataset/split`, a measure, or a `Name` of the same file.
    `walk` finds it.
    """

    to: str
    kinds: tuple[str, ...] = ()  # which kinds of it fit; none: all
    but: tuple[str, ...] = ()  # kinds that do not fit
    besides: tuple[str, ...] = ()  # words that may stand in its place
    # What it is named for, where that counts.
    use: Literal["", "tuning", "tuples", "released", "rate", "fixed", "gate", "generator"] = ""


class Name(NamedTuple):
    """Stands in the annotation of a key that names a part of its file (a row, a split), once."""

    of: str


OWN_FAULTS = ("unknown_key", "start")  # kinds of fault that pydantic does not have
ID = r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$"
OWN = "own"  # in place of a role: the split that the searched collection names for it
Id = Annotated[str, Field(pattern=ID)]
Probability = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]
K = Annotated[int, Field(gt=0, le=1_000_000)]  # hits requested; Lucene and FAISS make room for all
SplitId = Annotated[Id, Ref("split")]
Role = Annotated[Id, Ref("role")]
TrainRole = Annotated[Id, Ref("role", besides=(OWN,))]
TuningRole = Annotated[Id, Ref("role", besides=(OWN,), use="tuning")]
JudgedMeasure = Annotated[str, Ref("measure", kinds=("judgements",))]
Measure = Annotated[str, Ref("measure", kinds=("judgements", "answers"))]
Seeds = Annotated[list[Annotated[int, Field(ge=0), Name("seed")]], Field(min_length=1)]
Budgets = Annotated[
    list[Annotated[Id, Ref("budget")]],
    Field(description="scale budgets laid over this file, in order"),
]


Member = tuple[object, tuple[object, ...]]  # of a union: a type, and what annotates it


class Named(NamedTuple):
    """A value that names something else (`Ref`) or a part of its own file (`Name`)."""

    key: str
    mark: Ref | Name
    value: str


def walk(entry: BaseModel, key: str = "") -> Iterator[Named]:
    """Yield all that an entry names, in the order of its keys.

    An item of a list goes by its id, or by its number where it has none; a plain one by no name.
    """
    for name, members in _fields(type(entry)):
        yield from _walk(getattr(entry, name), members, _join(key, name))


@cache
def _fields(form: type[BaseModel]) -> list[tuple[str, list[Member]]]:
    """Return the fields of a schema class with their members: a graph asks thousands of times."""
    fields = form.model_fields.items()
    return [(name, list(_members(field.annotation, *field.metadata))) for name, field in fields]


def references(entry: BaseModel, *to: str) -> Iterator[tuple[Ref, str]]:
    """Yield what an entry refers to among these, such as systems: the reference and the name."""
    for _, mark, value in walk(entry):
        if isinstance(mark, Ref) and mark.to in to:
            yield mark, value


def repeated(entry: BaseModel) -> Iterator[tuple[str, str]]:
    """Yield the key and the fault of each name of a part that an entry gives twice."""
    seen: set[tuple[str, str]] = set()
    told: set[tuple[str, str]] = set()
    for key, mark, value in walk(entry):
        if isinstance(mark, Name):
            own = (mark.of, value)
            if own in seen and own not in told:
                told.add(own)
                yield key.partition(".")[0], f"'{value}' is given twice"
            seen.add(own)


def dangling(entry: BaseModel) -> Iterator[tuple[str, str]]:
    """Yield the key and the fault of each part of an entry that it names and does not have.

    What names a kind of part of which the entry has none, as a panel's columns, may be anything.
    """
    named = list(walk(entry))
    parts: dict[str, list[str]] = {}
    for _, mark, value in named:
        if isinstance(mark, Name):
            parts.setdefault(mark.of, []).append(value)
    for key, mark, value in named:
        if isinstance(mark, Name):
            continue
        known = parts.get(mark.to, [value])
        if value not in (*known, *mark.besides):
            yield key, unknown(mark.to, value, known)


def named_for(entry: BaseModel, use: str) -> str | None:
    """Return the model that an entry names for a use, such as gate; None without one."""
    return next((name for ref, name in references(entry, "model") if ref.use == use), None)


def _walk(value: object, members: Iterable[Member], key: str) -> Iterator[Named]:
    if isinstance(value, BaseModel):
        yield from walk(value, key)
    for member, marks in members:
        if isinstance(value, str | int):
            yield from (Named(key, m, str(value)) for m in marks if isinstance(m, Ref | Name))
        elif isinstance(value, dict) and get_origin(member) is dict:
            names, parts = get_args(member)
            for name, part in value.items():
                yield from _walk(name, _members(names), _join(key, name))
                yield from _walk(part, _members(parts), _join(key, name))
        elif isinstance(value, list | tuple) and get_origin(member) is type(value):
            for number, part in enumerate(value):
                plain = not isinstance(part, BaseModel)
                below = key if plain else _join(key, getattr(part, "id", number))
                yield from _walk(part, _members(get_args(member)[0]), below)


def _join(key: str, part: object) -> str:
    return f"{key}.{part}" if key else str(part)


def _members(hint: object, *marks: object) -> Iterator[Member]:
    """Yield the members of a union, or the type itself, each with the metadata that it carries."""
    if get_origin(hint) is Annotated:
        member, *own = get_args(hint)
        yield from _members(member, *marks, *own)
    elif get_origin(hint) in (Union, UnionType):
        for member in get_args(hint):
            yield from _members(member, *marks)
    else:
        yield hint, marks

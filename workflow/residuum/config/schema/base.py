"""What all entries share: strictness, ids, number types, and references in annotations.

Usage: `walk(system)` yields `Named("model", Ref("model"), "clear")`. Faults, parts and missing data
are found by these references.
"""

from collections.abc import Iterable, Iterator
from functools import cache, partial
from types import UnionType
from typing import Annotated, Literal, NamedTuple, Self, Union, get_args, get_origin
from weakref import ref

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from residuum.cli import scalars
from residuum.cli.errors import hint


class Strict(BaseModel):
    """Base of all entries: unknown keys are faults, values do not change after loading."""

    # Deferred: the classes of an open table import the modules that name the table.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False)

    def check(self) -> None:
        """Raise ValueError if keys contradict one another. Called once each key is valid."""

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
    """Say what is wrong if pydantic read a boolean as a number, or a text as a number or boolean.

    Texts that YAML reads as numbers or booleans are valid: Snakemake passes the values of
    `--config docs={mine: 10}` as texts.
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
    if isinstance(given, str) and isinstance(scalars.parse(given.strip()), str):
        valid = "true or false" if isinstance(value, bool) else "a number"
        return f"{given!r} is a text; write {valid}"
    return ""


def _with_valid_keys(fault: ErrorDetails, keys: list[str]) -> InitErrorDetails:
    """Add the valid keys to the fault of an unknown key, or of what is no mapping.

    Nested entries add their own keys.
    """
    kind, text = fault["type"], fault["msg"]
    if kind == "model_type" and not fault["loc"]:
        kind, text = "no_mapping", f"a mapping is needed, with some of {', '.join(sorted(keys))}"
    if kind == "extra_forbidden":
        known = hint(str(fault["loc"][-1]), keys)
        kind, text = "unknown_key", f"unknown key; valid: {', '.join(sorted(keys))}.{known}"
    custom = PydanticCustomError(kind, text) if kind in OWN_FAULTS else kind
    location, given = fault["loc"], fault["input"]
    return InitErrorDetails(type=custom, loc=location, input=given, ctx=fault.get("ctx", {}))


class Ref(NamedTuple):
    """A reference: it annotates a key whose value names something, for `walk` to find.

    `to` is the kind of thing: a folder's entry (dataset, model, system, tests), a paper, a name
    that scales bind (role, backbone, reranker, budget), a `dataset/split`, a measure, or a `Name`
    of the same file.
    """

    to: str
    kinds: tuple[str, ...] = ()  # the kinds of entries that fit; empty: all kinds
    but: tuple[str, ...] = ()  # kinds that do not fit
    besides: tuple[str, ...] = ()  # words that may be written instead of a name
    # The use of the named thing, if code depends on it.
    use: Literal["", "tuning", "tuples", "released", "rate", "fixed", "gate", "generator"] = ""


class Name(NamedTuple):
    """A definition: it annotates a key that names a part of its file, such as a row or a split.

    No two parts may have the same name.
    """

    kind: str


OWN_FAULTS = ("unknown_key", "no_mapping", "start")  # kinds of fault that pydantic does not have
ID = r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$"
OWN = "own"  # instead of a role: the split that the searched collection names in `own`
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


def _rising(span: tuple[int, int]) -> tuple[int, int]:
    if span[0] > span[1]:
        raise ValueError(f"{list(span)}: the first number exceeds the second")
    return span


Span = Annotated[tuple[Positive, Positive], AfterValidator(_rising)]  # least and most


class Entry(Strict):
    """The keys of entries that scales may lay budgets over."""

    description: str = Field("", description="for readers; no part of any spec")
    budgets: Budgets = Field(default=[])


Member = tuple[object, tuple[object, ...]]  # a type of a union, with its annotations


class Named(NamedTuple):
    """A value that names another thing (`Ref`) or a part of its own file (`Name`)."""

    key: str
    mark: Ref | Name
    value: str


_walked: dict[int, tuple[ref[BaseModel], list[Named]]] = {}  # by id of the entry, while it lives


def walk(entry: BaseModel) -> Iterator[Named]:
    """Yield all names in an entry, in the order of its keys.

    In a key, an item of a list is named by its id, or by its number if it has no id. Plain values
    of a list have the key of the list. Names are kept with the entry, which does not change.
    """
    number = id(entry)
    if number not in _walked:
        _walked[number] = ref(entry, partial(_forget, number)), list(_within(entry))
    yield from _walked[number][1]


def _forget(number: int, _: object) -> None:
    _walked.pop(number, None)


def _within(entry: BaseModel, key: str = "") -> Iterator[Named]:
    for name, members in _fields(type(entry)):
        yield from _walk(getattr(entry, name), members, _join(key, name))


@cache
def _fields(form: type[BaseModel]) -> list[tuple[str, list[Member]]]:
    """Return the fields of a schema class that may hold names, with their members.

    Cached, and without fields of plain values such as numbers: a graph asks often.
    """
    fields = form.model_fields.items()
    every = [(name, list(_members(field.annotation, *field.metadata))) for name, field in fields]
    return [(name, members) for name, members in every if any(map(_may_name, members))]


@cache
def _inside(hint: object) -> list[Member]:
    """Return the members of the type of an item, a key or a value; none if no item has names."""
    members = list(_members(hint))
    return members if any(map(_may_name, members)) else []


def _may_name(member: Member) -> bool:
    """Say whether a member of a type has a mark, or may hold a value that has one."""
    form, marks = member
    if any(isinstance(mark, Ref | Name) for mark in marks):
        return True
    if get_origin(form) in (dict, list, tuple):
        return any(map(_inside, get_args(form)))
    return not (form in (str, int, float, bool, type(None), ...) or get_origin(form) is Literal)


def references(entry: BaseModel, *to: str) -> Iterator[tuple[Ref, str]]:
    """Yield the references of an entry to these kinds, such as systems, each with the name."""
    for _, mark, value in walk(entry):
        if isinstance(mark, Ref) and mark.to in to:
            yield mark, value


def repeated(names: Iterable[Named]) -> Iterator[tuple[str, str]]:
    """Yield the key and the fault of each part whose name an entry gives twice."""
    times: dict[tuple[str, str], int] = {}
    for key, mark, value in names:
        if isinstance(mark, Name):
            part = (mark.kind, value)
            times[part] = times.get(part, 0) + 1
            if times[part] == 2:
                yield key.partition(".")[0], f"'{value}' is given twice"


class Dangling(NamedTuple):
    """A key of an entry that names a part which the entry lacks; `known` are the parts it has.

    The words of the fault are its readers': no hash of code may depend on them.
    """

    key: str
    kind: str
    name: str
    known: list[str]


def dangling(names: Iterable[Named]) -> Iterator[Dangling]:
    """Yield each reference to a part that the entry lacks.

    A kind of part of which the entry has none, as a panel's columns, may have any name.
    """
    names = list(names)
    parts: dict[str, list[str]] = {}
    for _, mark, value in names:
        if isinstance(mark, Name):
            parts.setdefault(mark.kind, []).append(value)
    for key, mark, value in names:
        if isinstance(mark, Ref) and mark.to in parts:
            known = parts[mark.to]
            if value not in (*known, *mark.besides):
                yield Dangling(key, mark.to, value, known)


def named_for(entry: BaseModel, use: str) -> str | None:
    """Return the model that an entry names for a use, such as gate, or None."""
    return next((name for ref, name in references(entry, "model") if ref.use == use), None)


def _walk(value: object, members: Iterable[Member], key: str) -> Iterator[Named]:
    if isinstance(value, BaseModel):
        yield from _within(value, key)
    for member, marks in members:
        if isinstance(value, str | int):
            yield from (Named(key, m, str(value)) for m in marks if isinstance(m, Ref | Name))
        elif isinstance(value, dict) and get_origin(member) is dict:
            names, parts = map(_inside, get_args(member))
            for name, part in value.items() if names or parts else ():
                yield from _walk(name, names, _join(key, name))
                yield from _walk(part, parts, _join(key, name))
        elif isinstance(value, list | tuple) and get_origin(member) is type(value):
            items = _inside(get_args(member)[0])
            for number, part in enumerate(value) if items else ():
                plain = not isinstance(part, BaseModel)
                below = key if plain else _join(key, getattr(part, "id", number))
                yield from _walk(part, items, below)


def _join(key: str, part: object) -> str:
    return f"{key}.{part}" if key else str(part)


def _members(hint: object, *marks: object) -> Iterator[Member]:
    """Yield the members of a union, or the type itself, each with its metadata."""
    if get_origin(hint) is Annotated:
        member, *annotations = get_args(hint)
        yield from _members(member, *marks, *annotations)
    elif get_origin(hint) in (Union, UnionType):
        for member in get_args(hint):
            yield from _members(member, *marks)
    else:
        yield hint, marks

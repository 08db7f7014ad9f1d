"""One walk over an entry: every key that names something, and every name that it gives.

Usage: `walk(system)` yields `Named(key="lexical", mark=Ref("system"), value="bm25")`. What a key
names stands in its annotation, so that faults, parts, cycles and what is absent all follow from the
schema. Must not know the registry, nor any kind of entry.
"""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

from residuum.config.schema.base import Name, Ref


class Named(NamedTuple):
    """A value that names something else (`Ref`) or a part of its own file (`Name`)."""

    key: str
    mark: Ref | Name
    value: str


def walk(entry: BaseModel, key: str = "") -> Iterator[Named]:
    """Yield all that an entry names, in the order of its keys.

    An item of a list goes by its id, or by its number where it has none; a plain one by no name.
    """
    for name, field in type(entry).model_fields.items():
        marks = [mark for mark in field.metadata if isinstance(mark, Ref | Name)]
        yield from _walk(getattr(entry, name), field.annotation, marks, _join(key, name))


def references(entry: BaseModel, *to: str) -> Iterator[tuple[Ref, str]]:
    """Yield what an entry refers to among these, such as systems: the reference and the name."""
    for _, mark, value in walk(entry):
        if isinstance(mark, Ref) and mark.to in to:
            yield mark, value


def _walk(value: object, hint: object, marks: list[Ref | Name], key: str) -> Iterator[Named]:
    """Yield what a value names by the members of its annotation, which may be a union."""
    for member, own in _members(hint, marks):
        if isinstance(value, str | int):
            yield from (Named(key, mark, str(value)) for mark in own)
        elif get_origin(member) is not type(value):
            continue
        elif isinstance(value, dict):
            names, parts = get_args(member)
            for name, part in value.items():
                yield from _walk(name, names, [], _join(key, name))
                yield from _walk(part, parts, [], _join(key, name))
        elif isinstance(value, list | tuple):
            for number, part in enumerate(value):
                plain = not isinstance(part, BaseModel)
                below = key if plain else _join(key, getattr(part, "id", number))
                yield from _walk(part, get_args(member)[0], [], below)
    if isinstance(value, BaseModel):
        yield from walk(value, key)


def _join(key: str, part: object) -> str:
    return f"{key}.{part}" if key else str(part)


def _members(hint: object, marks: list[Ref | Name]) -> Iterator[tuple[object, list[Ref | Name]]]:
    """Yield the members of a union, or the type itself, each with the marks that it carries."""
    if get_origin(hint) is Annotated:
        hint, *metadata = get_args(hint)
        marks = marks + [mark for mark in metadata if isinstance(mark, Ref | Name)]
        yield from _members(hint, marks)
    elif get_origin(hint) in (Union, UnionType):
        for member in get_args(hint):
            yield from _members(member, marks)
    else:
        yield hint, marks

"""One walk over an entry: every key that names something, and every name that it gives.

Usage: `walk(system)` yields `Named(key="lexical", mark=Ref("system"), value="bm25")`. What a key
names stands in its annotation, so that faults, parts, cycles and what is absent all follow from the
schema. Must not know the registry, nor any kind of entry.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, NamedTuple, get_args, get_origin

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
        yield from _found(field.annotation, marks, getattr(entry, name), _join(key, name))


def references(entry: BaseModel, *to: str) -> Iterator[tuple[Ref, str]]:
    """Yield what an entry refers to among these, such as systems: the reference and the name."""
    for _, mark, value in walk(entry):
        if isinstance(mark, Ref) and mark.to in to:
            yield mark, value


def _found(hint: object, marks: list[Ref | Name], value: object, key: str) -> Iterator[Named]:
    if isinstance(value, str | int):
        yield from (Named(key, mark, str(value)) for mark in marks or _marks(hint))
    elif isinstance(value, BaseModel):
        yield from walk(value, key)
    elif isinstance(value, Mapping):
        keys, values = _arguments(hint, 2)
        for name, part in value.items():
            yield from _found(keys, [], name, _join(key, name))
            yield from _found(values, [], part, _join(key, name))
    elif isinstance(value, list | tuple):
        (items,) = _arguments(hint, 1)
        for number, part in enumerate(value):
            plain = not isinstance(part, BaseModel)
            yield from _found(
                items, [], part, key if plain else _join(key, getattr(part, "id", number))
            )


def _join(key: str, part: object) -> str:
    return f"{key}.{part}" if key else str(part)


def _marks(hint: object) -> list[Ref | Name]:
    """Return what stands in an annotation, or in those of a union's members."""
    if get_origin(hint) is Annotated:
        return [mark for mark in get_args(hint)[1:] if isinstance(mark, Ref | Name)]
    return [mark for member in get_args(hint) for mark in _marks(member)]


def _arguments(hint: object, count: int) -> tuple[object, ...]:
    """Return the types of a mapping's keys and values, or of a list's items."""
    for member in (hint, *get_args(hint)):
        if isinstance(origin := get_origin(member), type) and issubclass(
            origin, Mapping | list | tuple
        ):
            return get_args(member)[:count]
    return (object,) * count

"""Where the values of an entry come from: its file, its base, a budget, or a default of its class.

Usage: `nodes(registry.models["clear"], registry.given["models"]["clear"])` yields each key of an
entry with its value and its spot. The loading of config/ lays files over one another with the
functions here, so that every key keeps the spot that it has in its file.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from residuum.artefacts.yamls import Keys, Spot, spots_of


class Node(NamedTuple):
    """A key of an entry, such as `training.steps`, with its value and where that comes from.

    `spot` is None for a default. `removed` says that a file, or a budget, removed what stood there,
    so that the default holds. A leaf has no keys below it.
    """

    key: str
    value: object
    spot: Spot | None
    removed: bool
    leaf: bool


def without(settings: Mapping[str, Any], key: str) -> Keys:
    """Return settings without a key, and without its spot."""
    spots = {name: spot for name, spot in spots_of(settings).items() if name != key}
    return Keys({name: value for name, value in settings.items() if name != key}, spots)


def renamed(settings: Any, key: str, name: str) -> Keys:
    """Return settings of one key alone, under another name."""
    spots = spots_of(settings)
    return Keys({name: settings[key]}, {name: spots[key]} if key in spots else {})


def brought(settings: Any, by: str) -> Any:
    """Return nested settings that say of every key what brought it, such as `budget triplet`."""
    if isinstance(settings, list):
        return [brought(item, by) for item in settings]
    if not isinstance(settings, dict):
        return settings
    spots = {key: spot._replace(by=by) for key, spot in spots_of(settings).items()}
    return Keys({key: brought(value, by) for key, value in settings.items()}, spots)


def located(values: Any, given: object, spot: Spot | None = None) -> Any:
    """Return nested settings as a schema made them, with the spots that their keys were given at.

    The keys come in the order of what was given. What a schema made of a plain value, as a mapping
    of a kind alone, has the spot of that value.
    """
    if isinstance(values, list):
        return [located(v, _item(given, i), spot) for i, v in enumerate(values)]
    if not isinstance(values, dict):
        return values
    made = Keys(spots=spots_of(given))
    stated = [key for key in given if key in values] if isinstance(given, Mapping) else []
    for key in dict.fromkeys([*stated, *values]):
        own, at, _ = _below(given, key, spot)
        made[key] = located(values[key], own, at)
        if at:
            made.spots[key] = at
    return made


def nodes(value: object, given: object, key: str = "", spot: Spot | None = None) -> Iterator[Node]:
    """Yield all keys below an entry or a part of one, those that hold others before these.

    `given` is what the files say of it, with spots; what it states comes first, in its order, then
    the defaults. An item of a list goes by its id, or by its number where it has none; a list of
    plain values is one value.
    """
    for name, part, own, at, removed in _parts(value, given, spot):
        below = f"{key}.{name}" if key else str(name)
        leaf = not any(True for _ in _parts(part, own, at))
        yield Node(below, part, at, removed, leaf)
        if not leaf:
            yield from nodes(part, own, below, at)


Part = tuple[object, object, object, Spot | None, bool]  # name, value, given, spot, removed


def _parts(value: object, given: object, spot: Spot | None) -> Iterator[Part]:
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        stated = [name for name in given if name in fields] if isinstance(given, Mapping) else []
        value = {name: getattr(value, name) for name in dict.fromkeys([*stated, *fields])}
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield name, part, *_below(given, name, spot)
    elif isinstance(value, list | tuple) and any(isinstance(item, BaseModel) for item in value):
        for number, item in enumerate(value):
            yield getattr(item, "id", number), item, _item(given, number), spot, False


def _below(given: object, name: object, spot: Spot | None) -> tuple[object, Spot | None, bool]:
    """Return what was given of a key, at which spot, and whether it was removed."""
    if not isinstance(given, Mapping):
        return given, spot, False
    return given.get(name), spots_of(given).get(name), name in spots_of(given) and name not in given


def _item(given: object, number: int) -> object:
    return given[number] if isinstance(given, list) and number < len(given) else given

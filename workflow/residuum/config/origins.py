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


class _Given(NamedTuple):
    """What was given of a part of an entry, at which spot, and whether that removed it."""

    said: object
    spot: Spot | None
    removed: bool = False

    def key(self, name: object) -> "_Given":
        """Return what was given of a key; what a plain value stands for has its spot."""
        if not isinstance(self.said, Mapping):
            return self
        said, spot = self.said.get(name), spots_of(self.said).get(name)
        removed = spot is not None and name not in self.said
        # A key that is given as null leaves what is below it to the defaults.
        return _Given(Keys() if said is None and not removed else said, spot, removed)

    def item(self, number: int) -> "_Given":
        """Return what was given of an item of a list."""
        if isinstance(self.said, list) and number < len(self.said):
            return self._replace(said=self.said[number])
        return self


def located(values: Any, given: object, spot: Spot | None = None) -> Any:
    """Return nested settings as a schema made them, with the spots that their keys were given at.

    The keys come in the order of what was given. What a schema made of a plain value, as a mapping
    of a kind alone, has the spot of that value.
    """
    return _located(values, _Given(given, spot))


def _located(values: Any, given: _Given) -> Any:
    if isinstance(values, list):
        return [_located(value, given.item(number)) for number, value in enumerate(values)]
    if not isinstance(values, dict):
        return values
    stated = [key for key in given.said if key in values] if isinstance(given.said, dict) else []
    made = Keys(spots=spots_of(given.said))
    for key in dict.fromkeys([*stated, *values]):
        own = given.key(key)
        made[key] = _located(values[key], own)
        if own.spot:
            made.spots[key] = own.spot
    return made


def nodes(value: object, given: object, key: str = "", spot: Spot | None = None) -> Iterator[Node]:
    """Yield all keys below an entry or a part of one, those that hold others before these.

    `given` is what the files say of it, with spots; what it states comes first, in its order, then
    the defaults. An item of a list goes by its id, or by its number where it has none; a list of
    plain values is one value.
    """
    yield from _nodes(value, _Given(given, spot), key)


def _nodes(value: object, given: _Given, key: str) -> Iterator[Node]:
    for name, part, own in _parts(value, given):
        below = f"{key}.{name}" if key else str(name)
        leaf = not any(True for _ in _parts(part, own))
        yield Node(below, part, own.spot, own.removed, leaf)
        if not leaf:
            yield from _nodes(part, own, below)


def _parts(value: object, given: _Given) -> Iterator[tuple[object, object, _Given]]:
    """Yield name, value and what was given of each part of a value that has parts."""
    if isinstance(value, BaseModel):
        fields, said = type(value).model_fields, given.said
        stated = [name for name in said if name in fields] if isinstance(said, Mapping) else []
        value = {name: getattr(value, name) for name in dict.fromkeys([*stated, *fields])}
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield name, part, given.key(name)
    elif isinstance(value, list | tuple) and any(isinstance(item, BaseModel) for item in value):
        for number, item in enumerate(value):
            yield getattr(item, "id", number), item, given.item(number)

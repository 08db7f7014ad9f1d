"""The origins of an entry's values: its file, its base, a budget, or a default of its class.

Usage: `nodes(registry.models["clear"], registry.given["models"]["clear"])` yields each key of an
entry with its value and its spot. `config.loading` lays files over one another with these
functions, so every key keeps its spot in its file.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from residuum.artefacts.yamls import Keys, Spot, spots_of


class Node(NamedTuple):
    """A key of an entry, such as `training.steps`, with its value and the value's origin.

    `spot` is None for a default. `removed` says that a file or a budget removed the value, so the
    default holds. A leaf has no keys below it.
    """

    key: str
    value: object
    spot: Spot | None
    removed: bool
    leaf: bool


def without(settings: Mapping[str, object], key: str) -> Keys:
    """Return settings without a key, and without its spot."""
    spots = {name: spot for name, spot in spots_of(settings).items() if name != key}
    return Keys({name: value for name, value in settings.items() if name != key}, spots)


def renamed(settings: Mapping[str, object], key: str, name: str) -> Keys:
    """Return one key of settings under another name, with its spot."""
    spots = spots_of(settings)
    return Keys({name: settings[key]}, {name: spots[key]} if key in spots else {})


def brought(settings: Mapping[str, object], by: str) -> Keys:
    """Return nested settings whose spots name their origin `by`, such as `budget triplet`."""

    def nested(value: object) -> object:
        if isinstance(value, list):
            return [nested(item) for item in value]
        return brought(value, by) if isinstance(value, dict) else value

    spots = {key: spot._replace(by=by) for key, spot in spots_of(settings).items()}
    return Keys({key: nested(value) for key, value in settings.items()}, spots)


class _Given(NamedTuple):
    """The statement of a part of an entry, its spot, and whether it removed the part."""

    said: object
    spot: Spot | None
    removed: bool = False

    def key(self, name: object, value: Mapping[Any, object]) -> "_Given":
        """Return the statement of a key of a value.

        All keys of a plain value have the value's spot. But a plain value may be a kind alone: its
        other keys have their defaults.
        """
        if not isinstance(self.said, Mapping):
            alone = name != "kind" and "kind" in value and value["kind"] == self.said
            return _Given(Keys(), None) if alone else self
        said, spot = self.said.get(name), spots_of(self.said).get(name)
        removed = spot is not None and name not in self.said
        # If a key is null, the keys below it have their defaults.
        return _Given(Keys() if said is None and not removed else said, spot, removed)

    def item(self, number: int) -> "_Given":
        """Return the statement of an item of a list."""
        if isinstance(self.said, list) and number < len(self.said):
            return self._replace(said=self.said[number])
        return self


def located(values: Mapping[str, object], given: object, spot: Spot | None = None) -> Keys:
    """Return nested settings as a schema made them, with the spots of their keys in files.

    Keys come in the order of `given`. If a schema expanded a plain value to a mapping, all its keys
    have the spot of the value, but those beside a kind that stood alone.
    """
    return _located(values, _Given(given, spot))


def _located(values: Mapping[str, object], given: _Given) -> Keys:
    stated = [key for key in given.said if key in values] if isinstance(given.said, dict) else []
    made = Keys(spots=spots_of(given.said))
    for key in dict.fromkeys([*stated, *values]):
        statement = given.key(key, values)
        made[key] = _nested(values[key], statement)
        if statement.spot:
            made.spots[key] = statement.spot
    return made


def _nested(value: object, given: _Given) -> object:
    if isinstance(value, list):
        return [_nested(item, given.item(number)) for number, item in enumerate(value)]
    return _located(value, given) if isinstance(value, dict) else value


def nodes(value: object, given: object, key: str = "", spot: Spot | None = None) -> Iterator[Node]:
    """Yield all keys below an entry or a part of an entry, each key before the keys below it.

    `given` is the files' statement with spots. Its keys come first, in its order, then the
    defaults. An item of a list is named by its id, or else by its number. A list of plain values
    is one value.
    """
    yield from _nodes(value, _Given(given, spot), key)


def _nodes(value: object, given: _Given, key: str) -> Iterator[Node]:
    for name, part, statement in _parts(value, given):
        below = f"{key}.{name}" if key else str(name)
        leaf = not any(True for _ in _parts(part, statement))
        yield Node(below, part, statement.spot, statement.removed, leaf)
        if not leaf:
            yield from _nodes(part, statement, below)


def _parts(value: object, given: _Given) -> Iterator[tuple[object, object, _Given]]:
    """Yield the name, the value and the statement of each part of a value with parts."""
    if isinstance(value, BaseModel):
        fields, said = type(value).model_fields, given.said
        stated = [name for name in said if name in fields] if isinstance(said, Mapping) else []
        value = {name: getattr(value, name) for name in dict.fromkeys([*stated, *fields])}
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield name, part, given.key(name, value)
    elif isinstance(value, list | tuple) and any(isinstance(item, BaseModel) for item in value):
        for number, item in enumerate(value):
            yield getattr(item, "id", number), item, given.item(number)

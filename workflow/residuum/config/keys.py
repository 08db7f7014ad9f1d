"""What every key of config/ means: descriptions laid into the JSON schemas where classes have none.

Usage: `described(schema)`. `schema/keys.yaml` holds them, by class; what a class says of its own
key comes first.
"""

from collections.abc import Iterator
from typing import Any, get_args

from residuum.artefacts import yamls
from residuum.config.roots import packaged
from residuum.config.schema.base import Ref, Strict

Schema = dict[str, Any]
Words = dict[str, dict[str, str]]  # class: key: what it means
ANY = "any"
SCHEMAS = "residuum.config.schema."


def classes() -> dict[str, type[Strict]]:
    """Return all schema classes by their names, which JSON schemas have as titles."""

    def below(one: type[Strict]) -> Iterator[type[Strict]]:
        for sub in one.__subclasses__():
            yield sub
            yield from below(sub)

    # of two with one name that of an entry: the other is the form of a result, or of a test
    last = sorted(below(Strict), key=lambda one: one.__module__.startswith(SCHEMAS))
    return {one.__name__: one for one in last}


def words() -> Words:
    """Return what `schema/keys.yaml` says, by class and key."""
    return dict(yamls.read(packaged("config/schema/keys.yaml")))


def described(schema: Schema) -> Schema:
    """Return a JSON schema in which every property that something is said of has a description."""
    meanings, known = words(), classes()

    def visit(node: Any) -> Any:
        if isinstance(node, list):
            return [visit(item) for item in node]
        if not isinstance(node, dict):
            return node
        made = {key: visit(value) for key, value in node.items()}
        if isinstance(node.get("properties"), dict) and node.get("title") in known:
            of = known[node["title"]]
            made["properties"] = {
                key: {
                    **given,
                    "description": given.get("description") or meaning(meanings, of, key),
                }
                for key, given in made["properties"].items()
            }
        return made

    return dict(visit(schema))


def meaning(meanings: Words, of: type[Strict], key: str) -> str:
    """Return what a key means by its class, by one that this extends, or in any; else nothing."""
    names = [*(one.__name__ for one in of.__mro__), ANY]
    return next((meanings[name][key] for name in names if key in meanings.get(name, {})), "")


def named_by(of: type[Strict], key: str) -> list[Ref]:
    """Return what the values of a key name, such as a system: each reference once."""
    field = of.model_fields[key]
    return list(dict.fromkeys(_refs([field.annotation, *field.metadata])))


def _refs(hints: object) -> Iterator[Ref]:
    for hint in hints if isinstance(hints, list | tuple) else ():
        if isinstance(hint, Ref):
            yield hint
        elif not isinstance(hint, type) or get_args(hint):
            yield from _refs((*get_args(hint), *getattr(hint, "__metadata__", ())))

"""Add descriptions of keys to the JSON schemas, where the schema classes give none.

Usage: `described(schema)`. `schema/keys.yaml` holds the descriptions by class. A description in a
class has precedence.
"""

from collections.abc import Iterator
from typing import Any, get_args

from residuum.artefacts import yamls
from residuum.config.roots import packaged
from residuum.config.schema.base import Ref, Strict

Schema = dict[str, Any]
Words = dict[str, dict[str, str]]  # class: key: description
ANY = "any"
SCHEMAS = "residuum.config.schema."


def classes() -> dict[str, type[Strict]]:
    """Return all schema classes by their names, which are the titles in JSON schemas."""

    def below(parent: type[Strict]) -> Iterator[type[Strict]]:
        for child in parent.__subclasses__():
            yield child
            yield from below(child)

    # An entry's class comes last, so it wins over a result's or a test's class of the same name.
    last = sorted(below(Strict), key=lambda form: form.__module__.startswith(SCHEMAS))
    return {form.__name__: form for form in last}


def words() -> Words:
    """Return the descriptions in `schema/keys.yaml`, by class and key."""
    return dict(yamls.read(packaged("config/schema/keys.yaml")))


def described(schema: Schema) -> Schema:
    """Return a JSON schema with the known descriptions of its properties."""
    meanings, known = words(), classes()

    def visit(node: Any) -> Any:
        if isinstance(node, list):
            return [visit(item) for item in node]
        if not isinstance(node, dict):
            return node
        made = {key: visit(value) for key, value in node.items()}
        if isinstance(node.get("properties"), dict) and node.get("title") in known:
            form = known[node["title"]]
            made["properties"] = {
                key: {
                    **given,
                    "description": given.get("description") or meaning(meanings, form, key),
                }
                for key, given in made["properties"].items()
            }
        return made

    return dict(visit(schema))


def meaning(meanings: Words, form: type[Strict], key: str) -> str:
    """Return the description of a key in a class, its parents, or `any`; "" if there is none."""
    names = [*(parent.__name__ for parent in form.__mro__), ANY]
    return next((meanings[name][key] for name in names if key in meanings.get(name, {})), "")


def named_by(form: type[Strict], key: str) -> list[Ref]:
    """Return the references in the values of a key, such as one to a system, without duplicates."""
    field = form.model_fields[key]
    return list(dict.fromkeys(_refs([field.annotation, *field.metadata])))


def _refs(hints: object) -> Iterator[Ref]:
    for hint in hints if isinstance(hints, list | tuple) else ():
        if isinstance(hint, Ref):
            yield hint
        elif not isinstance(hint, type) or get_args(hint):
            yield from _refs((*get_args(hint), *getattr(hint, "__metadata__", ())))

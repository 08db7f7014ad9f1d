"""Reading the YAML files under config/ into their schema, collecting every fault.

Usage: `entries, faults = load_folder(Path("config/systems"), schema.System)`.
Must not know how entries refer to one another; the registry does.
"""

import re
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from residuum.core.command import sentence, where
from residuum.core.errors import hint
from residuum.core.schema.base import ID
from residuum.core.tables import Kinds


# libyaml reads several times as fast where it is built in; mypy cannot follow a chosen base.
class _UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML in which a key that stands twice is a fault, not a silent overwrite."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node)
        if not isinstance(key, str | int | float):
            line = key_node.start_mark.line + 1
            raise yaml.YAMLError(f"line {line}: a key must be plain text; quote what holds braces")
        if key in seen:
            raise yaml.YAMLError(f"line {key_node.start_mark.line + 1}: key '{key}' stands twice")
        seen.add(key)
    return dict(loader.construct_mapping(node, deep=True))


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load_folder(folder: Path, form: Any) -> tuple[dict[str, Any], list[str]]:
    """Load `<id>.yaml` files into {id: entry}; return the entries and the faults found."""
    entries: dict[str, Any] = {}
    faults: list[str] = []
    for path in sorted(folder.glob("*.yaml")):
        if not re.match(ID, path.stem):
            faults.append(f"{path}: a file's name is its id: small letters, digits, - and _ only")
            continue
        try:
            entries[path.stem] = parse(path, form)
        except ValueError as error:
            faults.append(str(error))
    return entries, faults


def parse(path: Path, form: Any) -> Any:
    """Load one file; raise ValueError with all its faults, each naming the file and the key."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    return validate(str(path), data, form)


def validate(name: str, data: Any, form: Any) -> Any:
    """Check `data` against a schema; `name` says in messages where it came from."""
    try:
        return TypeAdapter(form).validate_python(data)
    except ValidationError as error:
        lines = [f"{name}: {_place(f, form)}: {_word(f, form)}" for f in error.errors()]
        raise ValueError("\n".join(lines)) from None


def _place(fault: Any, form: Any) -> str:
    return where(tuple(part for part, tag in _walk(form, fault["loc"])[1] if not tag))


def _word(fault: Any, form: Any) -> str:
    text = sentence(fault)
    if fault["type"] != "extra_forbidden":
        return text
    keys = sorted(_keys(_walk(form, fault["loc"][:-1])[0]))
    return f"{text}; valid: {', '.join(keys)}.{hint(str(fault['loc'][-1]), keys)}"


def _walk(form: Any, location: tuple[Any, ...]) -> tuple[Any, list[tuple[Any, bool]]]:
    """Follow a pydantic location; return the type there and (part, is it a union's tag)."""
    parts: list[tuple[Any, bool]] = []
    for part in location:
        members = _members(form)
        tagged = [m for m in members if part in _tags(m)]
        parts.append((part, bool(tagged)))
        form = tagged[0] if tagged else _step(members, part)
    return form, parts


def _members(form: Any) -> list[Any]:
    if get_origin(form) is Annotated:
        open_kinds = [some for some in get_args(form) if isinstance(some, Kinds)]
        return [*open_kinds[0].classes().values()] if open_kinds else _members(get_args(form)[0])
    if get_origin(form) in (Union, types.UnionType):
        return [member for part in get_args(form) for member in _members(part)]
    return [form]


def _tags(member: Any) -> list[str]:
    """Names that pydantic puts into a location for this member of a union."""
    if not (isinstance(member, type) and issubclass(member, BaseModel)):
        return []
    kind = member.model_fields.get("kind")
    literal = kind and get_origin(kind.annotation) is Literal
    return [member.__name__, *(get_args(kind.annotation) if kind and literal else [])]


def _step(members: list[Any], part: Any) -> Any:
    for member in members:
        if isinstance(member, type) and issubclass(member, BaseModel):
            field = member.model_fields.get(str(part))
            if field:
                return field.annotation
        elif get_origin(member) in (dict, list, tuple):
            return get_args(member)[-1]
    return object


def _keys(form: Any) -> set[str]:
    models = [m for m in _members(form) if isinstance(m, type) and issubclass(m, BaseModel)]
    return {name for model in models for name in model.model_fields}

"""Reading the YAML files under config/ into their schema, collecting every fault.

Usage: `entries, faults = load_folder(Path("config/systems"), schema.System)`.
Must not know how entries refer to one another; the registry does.
"""

import re
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from residuum.core.command import sentence, where
from residuum.core.errors import hint, unknown
from residuum.core.schema.base import ID
from residuum.core.tables import Kinds


# libyaml reads several times as fast where it is built in; mypy cannot follow a chosen base.
class _UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML in which a key that is given twice is a fault, not a silent overwrite."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node)
        if not isinstance(key, str | int | float):
            line = key_node.start_mark.line + 1
            raise yaml.YAMLError(f"line {line}: a key must be plain text; quote what holds braces")
        if key in seen:
            raise yaml.YAMLError(f"line {key_node.start_mark.line + 1}: key '{key}' is given twice")
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
    """Load one file; raise ValueError with all its faults, each naming the file and the key.

    A file with `base:` is laid over the one beside it of that name, which has no base itself.
    """
    data = _read(path)
    if not isinstance(data, dict) or "base" not in data:
        return validate(str(path), data, form)
    name = str(data.pop("base"))
    base = path.with_name(f"{name}.yaml")
    under = _read(base) if base.is_file() else None
    if not isinstance(under, dict) or "base" in under:
        whole = [p.stem for p in path.parent.glob("*.yaml") if "base" not in (_read(p) or ())]
        text = unknown(f"entry of {path.parent} without a base", name, whole)
        raise ValueError(f"{path}: base: {text}")
    parse(base, form)  # its own faults are not those of what lies over it
    return validate(f"{path} over {base}", merge(under, data), form)


def _read(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one nested mapping over another; None removes a key.

    A mapping with another `kind`, or with another model to share with, replaces all.
    """
    merged = dict(base)
    for key, value in over.items():
        under = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(under, Mapping) and _same_kind(under, value):
            merged[key] = merge(under, value)
        else:
            merged[key] = value
    return merged


def _same_kind(base: Mapping[str, object], over: Mapping[str, object]) -> bool:
    return all(over[key] == base.get(key) for key in ("kind", "same_as") if key in over)


def validate(name: str, data: object, form: Any) -> Any:
    """Check `data` against a schema; `name` says in messages where it came from."""
    try:
        return TypeAdapter(form).validate_python(data)
    except ValidationError as error:
        lines = [f"{name}: {_place(f, form)}: {_word(f, form)}" for f in error.errors()]
        raise ValueError("\n".join(lines)) from None


def _place(fault: Any, form: object) -> str:
    return where(tuple(part for part, tag in _walk(form, fault["loc"])[1] if not tag))


def _word(fault: Any, form: object) -> str:
    text = sentence(fault)
    if fault["type"] != "extra_forbidden":
        return text
    keys = sorted(_keys(_walk(form, fault["loc"][:-1])[0]))
    return f"{text}; valid: {', '.join(keys)}.{hint(str(fault['loc'][-1]), keys)}"


def _walk(
    form: object, location: tuple[int | str, ...]
) -> tuple[object, list[tuple[int | str, bool]]]:
    """Follow a pydantic location; return the type there and (part, is it a union's tag)."""
    parts: list[tuple[int | str, bool]] = []
    for part in location:
        members = _members(form)
        tagged = [m for m in members if part in _tags(m)]
        parts.append((part, bool(tagged)))
        form = tagged[0] if tagged else _step(members, part)
    return form, parts


def _members(form: object) -> list[object]:
    if get_origin(form) is Annotated:
        open_kinds = [some for some in get_args(form) if isinstance(some, Kinds)]
        return [*open_kinds[0].classes().values()] if open_kinds else _members(get_args(form)[0])
    if get_origin(form) in (Union, types.UnionType):
        return [member for part in get_args(form) for member in _members(part)]
    return [form]


def _tags(member: object) -> list[str]:
    """Names that pydantic puts into a location for this member of a union."""
    if not (isinstance(member, type) and issubclass(member, BaseModel)):
        return []
    kind = member.model_fields.get("kind")
    literal = kind and get_origin(kind.annotation) is Literal
    return [member.__name__, *(get_args(kind.annotation) if kind and literal else [])]


def _step(members: list[object], part: object) -> object:
    for member in members:
        if isinstance(member, type) and issubclass(member, BaseModel):
            field = member.model_fields.get(str(part))
            if field:
                return field.annotation
        elif get_origin(member) in (dict, list, tuple):
            return get_args(member)[-1]
    return object


def _keys(form: object) -> set[str]:
    models = [m for m in _members(form) if isinstance(m, type) and issubclass(m, BaseModel)]
    return {name for model in models for name in model.model_fields}

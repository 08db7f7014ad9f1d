"""Reading the YAML files under config/ into their schema, collecting every fault.

Usage: `entries, faults = load_folder(Path("config/systems"), schema.System)`.
Must not know how entries refer to one another; the registry does.
"""

import re
import types
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from residuum.cli.command import sentence, where
from residuum.cli.errors import hint, unknown
from residuum.code.tables import Kinds
from residuum.config.schema.base import ID


# libyaml reads several times as fast where it is built in; mypy cannot follow a chosen base.
class _UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML in which a key that is given twice is a fault, not a silent overwrite."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict[object, object]:
    seen: set[object] = set()
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


def load_folder(folder: Path, form: object) -> tuple[dict[str, Any], list[str]]:
    """Load `<id>.yaml` files into {id: entry}; return the entries and the faults found."""
    entries: dict[str, Any] = {}
    faults: list[str] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            if not re.match(ID, path.stem):
                text = "a file's name is its id: small letters, digits, - and _ only"
                raise ValueError(f"{path}: {text}")
            entries[path.stem] = parse(path, form)
        except ValueError as error:
            faults.append(str(error))
    return entries, faults


def parse(path: Path, form: object) -> Any:
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
    merged = {**base, **over}
    for key, value in over.items():
        under = base.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping) and _same_kind(under, value):
            merged[key] = merge(under, value)
    return {key: value for key, value in merged.items() if over.get(key, key) is not None}


def _same_kind(base: Mapping[str, object], over: Mapping[str, object]) -> bool:
    return all(over[key] == base.get(key) for key in ("kind", "same_as") if key in over)


def validate(name: str, data: object, form: Any) -> Any:
    """Check `data` against a schema; `name` says in messages where it came from."""
    try:
        return TypeAdapter(form).validate_python(data)
    except ValidationError as error:
        lines = [f"{name}: {_place(f, form)}: {_word(f, form)}" for f in error.errors()]
        raise ValueError("\n".join(lines)) from None


def _place(fault: ErrorDetails, form: object) -> str:
    """Write where a fault is as the path of keys, without the tags of unions."""
    parts: list[int | str] = []
    for part in fault["loc"]:
        parts += [] if _tagged(form, part) else [part]
        form = _step(form, part)
    return where(tuple(parts))


def _word(fault: ErrorDetails, form: object) -> str:
    text = sentence(fault)
    if fault["type"] != "extra_forbidden":
        return text
    models = _models(reduce(_step, fault["loc"][:-1], form))
    keys = sorted({name for model in models for name in model.model_fields})
    return f"{text}; valid: {', '.join(keys)}.{hint(str(fault['loc'][-1]), keys)}"


def _step(form: object, part: int | str) -> object:
    """Return the type behind a part of a pydantic location: a member of a union, or a value."""
    if tagged := _tagged(form, part):
        return tagged[0]
    for member in _members(form):
        if get_origin(member) in (dict, list, tuple):
            return get_args(member)[-1]
    fields = [model.model_fields.get(str(part)) for model in _models(form)]
    return next((field.annotation for field in fields if field), object)


def _tagged(form: object, part: int | str) -> list[type[BaseModel]]:
    """Return the member of a union that a location names by its kind or its class."""
    return [m for m in _models(form) if part == m.__name__ or part in _kinds(m)]


def _kinds(model: type[BaseModel]) -> tuple[str, ...]:
    kind = model.model_fields.get("kind")
    return get_args(kind.annotation) if kind else ()


def _models(form: object) -> list[type[BaseModel]]:
    return [m for m in _members(form) if isinstance(m, type) and issubclass(m, BaseModel)]


def _members(form: object) -> list[object]:
    if get_origin(form) is Annotated:
        open_kinds = [some for some in get_args(form) if isinstance(some, Kinds)]
        return [*open_kinds[0].classes().values()] if open_kinds else _members(get_args(form)[0])
    if get_origin(form) in (Union, types.UnionType):
        return [member for part in get_args(form) for member in _members(part)]
    return [form]

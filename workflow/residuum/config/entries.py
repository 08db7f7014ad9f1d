"""Reading the YAML files under config/ into their schema, collecting every fault.

Must not know how entries refer to one another; the registry does.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from residuum.cli.command import describe
from residuum.cli.errors import unknown
from residuum.config.schema.base import ID

MOST_NESTED = 50  # levels of mappings and lists
WHOLE = ("train_on",)  # keys whose mapping is one value: shares that add up


# libyaml reads several times as fast where it is built in; mypy cannot follow a chosen base.
class _UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML in which a key that is given twice is a fault, not a silent overwrite."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key, line = self.construct_object(key_node), key_node.start_mark.line + 1
            if not isinstance(key, str | int | float):
                raise yaml.YAMLError(f"line {line}: a key must be plain text; quote any braces")
            if key in seen:
                raise yaml.YAMLError(f"line {line}: key '{key}' is given twice")
            seen.add(key)
        return dict(super().construct_mapping(node, deep=True))


def load_folder(folder: Path, form: object, faults: list[str]) -> dict[str, Any]:
    """Load `<id>.yaml` files into {id: entry}; add to the faults what is wrong with the others."""
    entries: dict[str, Any] = {}
    if not folder.is_dir():
        faults.append(f"{folder}: no such folder")
    faults += [f"{path}: name it {path.stem}.yaml" for path in sorted(folder.glob("*.yml"))]
    for path in sorted(folder.glob("*.yaml")):
        try:
            if not re.fullmatch(ID, path.stem):
                text = "a file's name is its id: small letters, digits, - and _ only"
                raise ValueError(f"{repr(str(path))[1:-1]}: {text}")
            entries[path.stem] = parse(path, form)
        except ValueError as error:
            faults.append(str(error))
    return entries


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
    if not path.is_file():
        raise ValueError(f"{path}: not a file that can be read")
    try:
        text = path.read_bytes().decode("utf-8-sig")
        made = _loaded(text)
        return dict(made) if isinstance(made, dict) else made
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 ({error})") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None


@cache
def _loaded(text: str) -> Any:
    """Read YAML once, however often a file is the base of others; nobody may change what it has."""
    _refuse_bombs(text)
    return yaml.load(text, Loader=_UniqueKeys)


def _refuse_bombs(text: str) -> None:
    """Refuse what grows without bound or end where it is built: aliases, and nesting too deep."""
    depth = 0
    for event in yaml.parse(text, Loader=_UniqueKeys):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError(f"line {line}: an alias (*{event.anchor}); write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_NESTED:
            raise yaml.YAMLError(f"line {line}: nested more than {MOST_NESTED} levels deep")


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one nested mapping over another; None removes a key.

    A mapping with another `kind`, or with another model to share with, replaces all; so do shares.
    """
    merged = {**base, **over}
    for key, value in over.items():
        under = base.get(key)
        if key in WHOLE or not isinstance(value, Mapping) or not isinstance(under, Mapping):
            continue
        if all(value[k] == under.get(k) for k in ("kind", "same_as") if k in value):
            merged[key] = merge(under, value)
    return {key: value for key, value in merged.items() if over.get(key, key) is not None}


def validate(name: str, data: object, form: Any) -> Any:
    """Check `data` against a schema; `name` says in messages where it came from."""
    try:
        return _adapter(form).validate_python(data)
    except ValidationError as error:
        raise ValueError(describe(name, error, data)) from None


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    """Build what checks a schema once: for a union that takes longer than to check an entry."""
    return TypeAdapter(form)

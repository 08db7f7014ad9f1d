"""Reading the YAML files under config/ into their schema, collecting every fault.

Must not know how entries refer to one another; the registry does.
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from residuum.artefacts import yamls
from residuum.cli.command import describe
from residuum.cli.errors import unknown
from residuum.config.origins import brought, without
from residuum.config.schema.base import ID

MOST_SHOWN = 200  # characters of a name that is none
WHOLE = ("train_on",)  # keys whose mapping is one value: shares that add up


def load_folder(
    folder: Path, form: object, faults: list[str], given: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Load `<id>.yaml` files into {id: entry}; add to the faults what is wrong with the others.

    What each file says, with the spots of its keys, is added to `given`.
    """
    entries: dict[str, Any] = {}
    given = {} if given is None else given
    if not folder.is_dir():
        faults.append(f"{folder}: no such folder")
    faults += [f"{path}: name it {path.stem}.yaml" for path in sorted(folder.glob("*.yml"))]
    for path in sorted(folder.glob("*.yaml")):
        try:
            if not re.fullmatch(ID, path.stem):
                text = "a file's name is its id: small letters, digits, - and _ only"
                raise ValueError(f"{repr(str(path))[1:-1]}: {text}")
            given[path.stem], named = stated(path, form)
            entries[path.stem] = validate(named, given[path.stem], form)
        except ValueError as error:
            faults.append(str(error))
    return entries


def parse(path: Path, form: object) -> Any:
    """Load one file; raise ValueError with all its faults, each naming the file and the key.

    A file with `base:` is laid over the one beside it of that name, which has no base itself.
    """
    data, named = stated(path, form)
    return validate(named, data, form)


def stated(path: Path, form: object) -> tuple[Any, str]:
    """Return what a file says, with spots and laid over its base, and what to call that."""
    data = yamls.read(path)
    if not isinstance(data, dict) or "base" not in data:
        return data, str(path)
    name, data = str(data["base"]), without(data, "base")
    base = path.parent / f"{name}.yaml"
    under = yamls.read(base) if re.fullmatch(ID, name) and os.path.isfile(base) else None
    if isinstance(under, dict) and "base" in under:
        text = f"'{name}' has a base itself, '{under['base']}'; name one that has none"
        raise ValueError(f"{path}: base: {text[:MOST_SHOWN]}")
    if not isinstance(under, dict):
        others = {p.stem: yamls.read(p) for p in path.parent.glob("*.yaml")}
        whole = [n for n, own in others.items() if isinstance(own, dict) and "base" not in own]
        text = unknown(f"entry of {path.parent} without a base", name[:MOST_SHOWN], whole)
        raise ValueError(f"{path}: base: {text}")
    parse(base, form)  # its own faults are not those of what lies over it
    return merge(brought(under, f"base {name}"), data), f"{path} over {base}"


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> yamls.Keys:
    """Lay one nested mapping over another; None removes a key, whose spot is kept.

    A mapping with another `kind`, or with another model to share with, replaces all; so do shares.
    """
    merged = {**base, **over}
    for key, value in over.items():
        under = base.get(key)
        if key in WHOLE or not isinstance(value, Mapping) or not isinstance(under, Mapping):
            continue
        if all(value[k] == under.get(k) for k in ("kind", "same_as") if k in value):
            merged[key] = merge(under, value)
    kept = {key: value for key, value in merged.items() if over.get(key, key) is not None}
    laid = {key: spot for key, spot in yamls.spots_of(over).items() if key in over}
    return yamls.Keys(kept, {**yamls.spots_of(base), **laid})


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

"""Reading and checking config/: every fault at once, each with file, key and what would be valid.

Usage: `registry = load(Path("config"), config)`. `python -m residuum.core.loading schema` writes
the editors' JSON schemas, `check` checks every scale. Must not know any stage.
"""

import json
import re
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from residuum.core import command, entries, files
from residuum.core.errors import ResiduumError, unknown
from residuum.core.faults import between
from residuum.core.registry import Registry
from residuum.core.roots import ROOT
from residuum.core.schema.base import ID
from residuum.core.schema.datasets import Dataset
from residuum.core.schema.models import Model
from residuum.core.schema.papers import Page, Tests
from residuum.core.schema.scales import Config, Scale
from residuum.core.schema.systems import System

FORMS: dict[str, Any] = {
    "datasets": Dataset,
    "models": Model,
    "systems": System,
    "tests": Tests,
    "scales": Scale,
    "papers": Page,
}


def load(folder: Path, config: Mapping[str, Any]) -> Registry:
    """Load and check all of config/; raise one ResiduumError that lists every fault."""
    found, faults = _load_entries(folder)
    chosen = _config(config, faults)
    scales: dict[str, Scale] = found.pop("scales")
    file = folder / "scales" / f"{chosen.scale}.yaml" if chosen else folder
    scale = scales.get(chosen.scale) if chosen else None
    if chosen and not scale and not file.exists():
        faults.append(f"config: {unknown('scale', chosen.scale, scales, str(file))}")
    if chosen and scale:
        faults += _lay_budgets(found, scale, folder, file)
        for name in found["datasets"].keys() & scale.editions.keys():
            pins = {"editions": scale.editions[name]}
            found["datasets"][name] = found["datasets"][name].model_copy(update=pins)
        registry = Registry(chosen, scale, **found)
        faults += between(registry, list(scales.values()), folder)
    faults = list(dict.fromkeys(line for fault in faults for line in fault.splitlines()))
    if faults:
        count = f"{len(faults)} faults" if len(faults) > 1 else "1 fault"
        raise ResiduumError(f"{count} in the configuration:\n- " + "\n- ".join(faults))
    return registry


def _load_entries(folder: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the entries of each folder, pages under `pages`, and the faults found."""
    found: dict[str, dict[str, Any]] = {}
    faults: list[str] = []
    for name, form in FORMS.items():
        if name != "papers":
            found[name], wrong = entries.load_folder(folder / name, form)
            faults += wrong
    found["pages"], wrong = _load_pages(folder / "papers")
    return found, faults + wrong


def _lay_budgets(
    found: Mapping[str, dict[str, Any]], scale: Scale, folder: Path, file: Path
) -> list[str]:
    """Lay the scale's budgets over the entries that name them, in that order; return faults."""
    faults = []
    for kind in ("datasets", "models", "systems"):
        for name, entry in found[kind].items():
            budgets = [scale.budgets.get(budget, {}) for budget in getattr(entry, "budgets", [])]
            if not any(budgets):
                continue
            merged = reduce(entries.merge, budgets, entry.model_dump(exclude_unset=True))
            try:
                label = f"{folder}/{kind}/{name}.yaml with budgets of {file}"
                found[kind][name] = entries.validate(label, merged, FORMS[kind])
            except ValueError as error:
                faults.append(str(error))
    return faults


def _config(config: Mapping[str, Any], faults: list[str]) -> Config | None:
    try:
        found: Config = entries.validate("config", dict(config), Config)
    except ValueError as error:
        faults.append(str(error))
        return None
    return found


def _load_pages(folder: Path) -> tuple[dict[str, Any], list[str]]:
    pages: dict[str, Any] = {}
    faults: list[str] = []
    for paper in sorted(p for p in folder.iterdir() if p.is_dir()):
        if not re.match(ID, paper.name):
            faults.append(f"{paper}: a paper's folder is named by small letters, digits, - and _")
            continue
        loaded, wrong = entries.load_folder(paper, Page)
        pages |= {f"{paper.name}-{name}": page for name, page in loaded.items()}
        faults += wrong
        hyphened = [paper / f"{name}.yaml" for name in loaded if "-" in name]
        faults += [f"{path}: a page's name has no hyphen; write _ for it" for path in hyphened]
    return pages, faults


def json_schemas() -> dict[str, str]:
    """Return {file name: JSON schema text} for editors, one per kind of entry."""
    schemas = {name: _over_base(TypeAdapter(form).json_schema()) for name, form in FORMS.items()}
    schemas["config"] = Config.model_json_schema()
    return {f"{n}.schema.json": json.dumps(s, indent=1) + "\n" for n, s in schemas.items()}


def _over_base(whole: dict[str, Any]) -> dict[str, Any]:
    """Let a file with `base:` give only what differs."""
    base = {"type": "string", "description": "entry beside this one: its keys hold if absent here"}
    partial = {"type": "object", "properties": {"base": base}}
    named = {"$defs": whole.pop("$defs", {})}
    return {**named, "if": {"required": ["base"]}, "then": partial, "else": whole}


app = command.app(__doc__)


@app.command("schema")
def write_schema(folder: Path = ROOT / "config" / "schema") -> None:
    """Write the JSON schemas that editors use to complete and check config/."""
    for name, text in json_schemas().items():
        files.write_text(folder / name, text)


@app.command("check")
def check(folder: Path = ROOT / "config") -> None:
    """Check every entry of config/ at every scale and print all faults."""
    base = entries.parse(folder / "config.yaml", dict[str, Any])
    for path in sorted((folder / "scales").glob("*.yaml")):
        load(folder, {**base, "scale": path.stem})
        print(f"{path.stem}: no fault")


if __name__ == "__main__":
    command.main(app)

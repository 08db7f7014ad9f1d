"""Reading and checking config/: every fault at once, each with file, key and what would be valid.

Usage: `registry = load(Path("config"), config)`. `python -m residuum.config.loading schema` writes
the editors' JSON schemas, `check` checks every scale. Must not know any stage.
"""

import json
import re
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any, NoReturn

from pydantic import TypeAdapter

from residuum.artefacts import files
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.config import entries
from residuum.config.faults import between
from residuum.config.registry import Registry
from residuum.config.roots import ROOT
from residuum.config.schema.base import ID
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.models import Model
from residuum.config.schema.papers import Page, Tests
from residuum.config.schema.scales import Config, Scale
from residuum.config.schema.systems import System

Entries = dict[str, dict[str, Any]]  # by folder and id
FORMS: dict[str, Any] = {
    "datasets": Dataset,
    "models": Model,
    "systems": System,
    "tests": Tests,
    "scales": Scale,
    "papers": Page,
}


def load(folder: Path, config: Mapping[str, object]) -> Registry:
    """Load and check all of config/; raise one ResiduumError that lists every fault."""
    loaded, faults = _load_entries(folder)
    try:
        chosen: Config = entries.validate("config", dict(config), Config)
    except ValueError as error:
        _refuse([*faults, str(error)])
    name, scales = chosen.scale, loaded["scales"]
    file = folder / "scales" / f"{name}.yaml"
    if name not in scales:
        missing = [f"config: {unknown('scale', name, scales, str(file))}"]
        _refuse(faults + ([] if file.exists() else missing))
    faults += _lay_budgets(loaded, scales[name], folder, file)
    for dataset, editions in scales[name].editions.items():
        if entry := loaded["datasets"].get(dataset):
            pinned = entry.model_copy(update={"editions": editions})
            loaded["datasets"][dataset] = pinned
    registry = Registry(chosen, folder=folder, **loaded)
    if faults := faults + between(registry):
        _refuse(faults)
    return registry


def _refuse(faults: list[str]) -> NoReturn:
    lines = list(dict.fromkeys(line for fault in faults for line in fault.splitlines()))
    count = f"{len(lines)} faults" if len(lines) > 1 else "1 fault"
    raise ResiduumError(f"{count} in the configuration:\n- " + "\n- ".join(lines))


def _load_entries(folder: Path) -> tuple[Entries, list[str]]:
    """Return the entries of each folder, pages under `pages`, and their faults."""
    loaded: Entries = {"pages": {}}
    faults: list[str] = []
    for name in ("datasets", "models", "systems", "tests", "scales"):
        loaded[name], wrong = entries.load_folder(folder / name, FORMS[name])
        faults += wrong
    for paper in sorted(p for p in (folder / "papers").iterdir() if p.is_dir()):
        if not re.match(ID, paper.name):
            faults.append(f"{paper}: a paper's folder is named by small letters, digits, - and _")
            continue
        pages, wrong = entries.load_folder(paper, Page)
        loaded["pages"] |= {f"{paper.name}-{name}": page for name, page in pages.items()}
        hyphened = [f"{paper}/{name}.yaml" for name in pages if "-" in name]
        faults += [f"{path}: a page's name has no hyphen; write _ for it" for path in hyphened]
        faults += wrong
    return loaded, faults


def _lay_budgets(loaded: Entries, scale: Scale, folder: Path, file: Path) -> list[str]:
    """Lay the scale's budgets over the entries that name them, in that order; return faults."""
    faults = []
    for kind in ("datasets", "models", "systems"):
        for name, entry in loaded[kind].items():
            budgets = [scale.budgets.get(budget, {}) for budget in getattr(entry, "budgets", [])]
            if any(budgets):
                merged = reduce(entries.merge, budgets, entry.model_dump(exclude_unset=True))
                label = f"{folder}/{kind}/{name}.yaml with budgets of {file}"
                try:
                    loaded[kind][name] = entries.validate(label, merged, FORMS[kind])
                except ValueError as error:
                    faults.append(str(error))
    return faults


def json_schemas() -> dict[str, str]:
    """Return {file name: JSON schema text} for editors, one per kind of entry."""
    base = {"type": "string", "description": "entry beside this one: its keys hold if absent here"}
    partial = {"type": "object", "properties": {"base": base}}
    texts = {"config": Config.model_json_schema()}
    for name, form in FORMS.items():
        whole = TypeAdapter(form).json_schema()
        named = {"$defs": whole.pop("$defs", {})}
        # A file with `base:` gives only what differs.
        texts[name] = {**named, "if": {"required": ["base"]}, "then": partial, "else": whole}
    return {f"{n}.schema.json": json.dumps(s, indent=1) + "\n" for n, s in texts.items()}


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

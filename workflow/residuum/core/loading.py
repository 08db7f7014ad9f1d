"""Reading and checking config/: every fault at once, each with file, key and what would be valid.

Usage: `registry = load(Path("config"), config)`. `python -m residuum.core.loading schema` writes
the editors' JSON schemas, `check` checks every scale. Must not know any stage.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from residuum.core import command, entries, files, schema
from residuum.core.errors import ResiduumError, unknown
from residuum.core.references import faults_between
from residuum.core.registry import Registry, merge
from residuum.core.roots import ROOT
from residuum.core.schema.base import ID

FORMS: dict[str, Any] = {
    "datasets": schema.Dataset,
    "models": schema.Model,
    "systems": schema.System,
    "tests": schema.Tests,
}


def load(folder: Path, config: Mapping[str, Any]) -> Registry:
    """Load and check all of config/; raise one ResiduumError that lists every fault."""
    faults: list[str] = []
    found: dict[str, dict[str, Any]] = {}
    for name, form in FORMS.items():
        found[name], wrong = entries.load_folder(folder / name, form)
        faults += wrong
    found["scales"], wrong = load_scales(folder / "scales")
    faults += wrong
    pages, wrong = _load_pages(folder / "papers")
    faults += wrong
    chosen = _config(config, faults)
    scale = found["scales"].get(chosen.scale) if chosen else None
    if chosen and not scale and not (folder / "scales" / f"{chosen.scale}.yaml").exists():
        add = f"config/scales/{chosen.scale}.yaml"
        faults.append(f"config: {unknown('scale', chosen.scale, found['scales'], add)}")
    if chosen and scale:
        del found["scales"][chosen.scale]
        others = list(found.pop("scales").values())
        faults += _pin_anew(found["datasets"], scale, folder / "scales" / f"{chosen.scale}.yaml")
        registry = Registry(chosen, scale, **found, pages=pages)
        faults += faults_between(registry, others, folder)
    faults = [line for fault in faults for line in fault.splitlines()]
    if faults:
        count = f"{len(faults)} faults" if len(faults) > 1 else "1 fault"
        raise ResiduumError(f"{count} in the configuration:\n- " + "\n- ".join(faults))
    return registry


def load_scales(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Load the scales, each laid over the one that it names as its base; return faults too."""
    raw, faults = entries.load_folder(folder, dict[str, Any])
    scales: dict[str, Any] = {}
    for name, data in raw.items():
        file, base = folder / f"{name}.yaml", data.get("base")
        whole = [other for other in raw if "base" not in raw[other]]
        if base is not None and base not in whole:
            faults.append(f"{file}: base: {unknown('scale without a base', str(base), whole)}")
            continue
        try:
            under = raw[base] if base else {}
            scales[name] = entries.validate(str(file), merge(under, data), schema.Scale)
        except ValueError as error:
            faults.append(str(error))
    return scales, faults


def _pin_anew(datasets: dict[str, Any], scale: schema.Scale, file: Path) -> list[str]:
    """Put the scale's editions in place of the datasets' own; return the faults found."""
    faults = []
    for name, editions in scale.editions.items():
        where = f"{file}: editions.{name}"
        if name not in datasets:
            faults.append(f"{where}: {unknown('dataset', name, datasets)}")
            continue
        faults += [
            f"{where}: {unknown('split', split, datasets[name].splits)}"
            for split in datasets[name].unknown_splits(s for e in editions for s in e.splits)
        ]
        datasets[name] = datasets[name].model_copy(update={"editions": editions})
    return faults


def _config(config: Mapping[str, Any], faults: list[str]) -> schema.Config | None:
    try:
        found: schema.Config = entries.validate("config", dict(config), schema.Config)
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
        loaded, wrong = entries.load_folder(paper, schema.Page)
        pages |= {f"{paper.name}-{name}": page for name, page in loaded.items()}
        faults += wrong
        hyphened = [paper / f"{name}.yaml" for name in loaded if "-" in name]
        faults += [f"{path}: a page's name has no hyphen; write _ for it" for path in hyphened]
    return pages, faults


def json_schemas() -> dict[str, str]:
    """Return {file name: JSON schema text} for editors, one per kind of entry."""
    forms = {**FORMS, "scales": schema.Scale, "papers": schema.Page, "config": schema.Config}
    return {
        f"{name}.schema.json": json.dumps(TypeAdapter(form).json_schema(), indent=1) + "\n"
        for name, form in forms.items()
    }


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

"""Reading and checking config/: every fault at once, each with file, key and what would be valid.

Usage: `registry = load(Path("config"), config)`. `python -m residuum.config.loading schema` writes
the editors' JSON schemas and config/README.md, `check` checks every scale.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, NoReturn

from pydantic import TypeAdapter

from residuum.artefacts import files, yamls
from residuum.artefacts.yamls import Keys, Spot
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.config import entries, handbook, keys, unwritten
from residuum.config.entries import SEVERAL, Folder
from residuum.config.faults import between
from residuum.config.keys import Schema
from residuum.config.origins import brought, located, renamed
from residuum.config.registry import Registry
from residuum.config.roots import ROOT
from residuum.config.schema import datasets, fidelities, groupings, models, sweeps, systems
from residuum.config.schema.base import ID
from residuum.config.schema.scales import Config, Scale
from residuum.config.schema.tests import Tests
from residuum.pages import kinds as pages

Entries = dict[str, Any]  # by id
FORMS: dict[str, Any] = {
    "datasets": datasets.Dataset,
    "models": models.Model,
    "systems": systems.System,
    "groupings": groupings.Grouping,
    "fidelities": fidelities.Fidelity,
    "sweeps": sweeps.Sweep,
    "tests": Tests,
    "scales": Scale,
    "papers": pages.Page,
}
OUTRIGHT = "digits without a leading 0, true or false, and what is a text in quotes"
SPARED = {"groupings", "fidelities", "sweeps"}  # folders that a user's configuration may lack


def load(folder: Path, config: Mapping[str, Any]) -> Registry:
    """Load and check all of config/; raise one ResiduumError that lists every fault."""
    missing = [kind for kind in FORMS if kind not in SPARED and not (folder / kind).is_dir()]
    faults = [f"{folder / kind}: no such folder" for kind in missing]
    folders = {kind: Folder(folder / kind) for kind in FORMS if kind != "papers"}
    given: dict[str, Entries] = {kind: {} for kind in [*folders, "pages"]}
    loaded: dict[str, Entries] = {
        kind: entries.load_folder(held, FORMS[kind], faults, given[kind])
        for kind, held in folders.items()
    }
    loaded["pages"] = _load_pages(folder / "papers", faults, given["pages"])
    try:
        if (folder / "config.yaml").is_file():
            _check_as_read(folder / "config.yaml")
        chosen: Config = entries.validate("config", dict(config), Config)
    except ValueError as error:
        _refuse([*faults, str(error)])
    given["config"] = {"config": config}
    name, scales = chosen.scale, loaded["scales"]
    file = folders["scales"].file(name)
    if name not in scales:
        lacking = [f"config: {unknown('scale', name, scales, str(file))}"]
        _refuse(faults + ([] if folders["scales"].may_hold(name) else lacking))
    scale = given["scales"][name]
    for kind in ("datasets", "models", "systems", "groupings", "fidelities", "sweeps"):
        held = folders[kind]
        faults += _lay_budgets(loaded[kind], given[kind], FORMS[kind], held, scale, file)
    for dataset, editions in scales[name].editions.items():
        pins = renamed(scale["editions"], dataset, "editions")
        stated = brought(pins, f"editions of scale {name}")
        _replace_editions(loaded["datasets"], given["datasets"], dataset, editions, stated)
    for dataset, docs in chosen.docs.items():
        count = renamed(config["docs"], dataset, "docs")
        _size(loaded["datasets"], given["datasets"], dataset, docs, count)
    every = (entry for of_kind in loaded.values() for entry in of_kind.values())
    named = unwritten.of_models(every, loaded["models"], loaded["systems"])
    for system, entry in named.items():
        spot = Spot(str(folders["models"].file(entry.model)), 0, f"model {entry.model}")
        given["systems"][system] = located(entry.model_dump(exclude_unset=True), None, spot)
        loaded["systems"][system] = entry
    loaded["systems"] = entries.ordered(loaded["systems"])
    registry = Registry(
        chosen,
        folder=folder,
        folders={held.path: held for held in folders.values()},
        given=given,
        **loaded,
    )
    if faults := faults + between(registry):
        _refuse(faults)
    return registry


def _size(loaded: Entries, given: Entries, name: str, docs: int, count: Keys) -> None:
    """Set the number of docs of a dataset's editions to that of config.yaml.

    `count` is config.yaml's statement, with its spot.
    """
    if name not in loaded:
        return
    if pins := loaded[name].editions:
        stated = [entries.merge(pin, count) for pin in given[name]["editions"]]
    else:
        pins = [datasets.Edition(name="planned", docs=docs, about=True)]
        stated = [located(pins[0].model_dump(), None, count.spots.get("docs"))]
    sized = [pin.model_copy(update={"docs": docs}) for pin in pins]
    _replace_editions(loaded, given, name, sized, Keys({"editions": stated}))


def _replace_editions(
    loaded: Entries, given: Entries, name: str, editions: list[datasets.Edition], stated: Keys
) -> None:
    """Replace the editions of a dataset; `stated` is their statement in a file, with spots."""
    if entry := loaded.get(name):
        loaded[name] = entry.model_copy(update={"editions": editions})
        given[name] = entries.merge(given[name], stated)


def _check_as_read(path: Path) -> None:
    """Raise ValueError for values of config.yaml that Snakemake misreads by YAML 1.1.

    Snakemake reads 010 as 8 and 10:00 as 600, and the last value of a repeated key.
    """
    given = entries.parse(path, dict[str, object])
    if wrong := yamls.read_otherwise(path):
        key, other = next(iter(wrong.items()))
        text = f"{given[key]!r} is {other!r} for Snakemake, which reads it by YAML 1.1"
        raise ValueError(f"{path}: {key}: {text}. Write {OUTRIGHT}")


def _refuse(faults: list[str]) -> NoReturn:
    lines = list(dict.fromkeys(line for fault in faults for line in fault.splitlines()))
    count = f"{len(lines)} faults" if len(lines) > 1 else "1 fault"
    raise ResiduumError(f"{count} in the configuration:\n- " + "\n- ".join(lines))


def _load_pages(folder: Path, faults: list[str], given: Entries) -> Entries:
    """Load the pages of each paper, and their files' statements, under ids `<paper>-<page>`."""
    loaded: Entries = {}
    for paper in sorted(path for path in folder.glob("*") if path.is_dir()):
        if not re.fullmatch(ID, paper.name):
            faults.append(f"{paper}: a paper's folder is named by small letters, digits, - and _")
            continue
        held, stated = Folder(paper), Entries()
        for name, page in entries.load_folder(held, FORMS["papers"], faults, stated).items():
            loaded[f"{paper.name}-{name}"], given[f"{paper.name}-{name}"] = page, stated[name]
            if "-" in name:
                faults.append(f"{held.at(name)}: a page's name has no hyphen; write _ for it")
    return loaded


def _lay_budgets(
    loaded: Entries,
    given: Entries,
    form: object,
    held: Folder,
    scale: Mapping[str, Any],
    file: Path,
) -> Iterator[str]:
    """Lay a scale's budgets over the entries that name them, in their order; yield faults.

    `given` and `scale` are the files' statements with spots. `loaded` and `given` are changed.
    """
    budgets = scale.get("budgets") or {}
    for name, entry in loaded.items():
        named = [budget for budget in getattr(entry, "budgets", []) if budgets.get(budget)]
        if named:
            laid = (brought(budgets[budget], f"budget {budget}") for budget in named)
            under = located(entry.model_dump(exclude_unset=True), given[name])
            merged = reduce(entries.merge, laid, under)
            given[name] = merged
            try:
                loaded[name] = held.checked(name, merged, form, f" with budgets of {file}")
            except ValueError as error:
                yield str(error)


def schemas() -> dict[str, Schema]:
    """Return the JSON schema of each kind of entry, with a description of every key."""
    base = {"type": "string", "description": "entry beside this one: its keys hold if absent here"}
    partial = {"type": "object", "properties": {"base": base}}
    made: dict[str, Schema] = {"config": Config.model_json_schema()}
    for name, form in FORMS.items():
        whole = TypeAdapter(form).json_schema()
        named = whole.pop("$defs", {})
        # An entry with `base:` gives only the keys that differ from the base.
        named[handbook.ENTRY] = {"if": {"required": ["base"]}, "then": partial, "else": whole}
        entry = {"$ref": f"#/$defs/{handbook.ENTRY}"}
        made[name] = {
            "$defs": named,
            "if": {"required": [SEVERAL]},
            "then": _several(entry),
            "else": entry,
        }
    return {name: keys.described(schema) for name, schema in made.items()}


def _several(entry: Schema) -> Schema:
    """Return the schema of a file of several entries, from the schema of an entry."""
    text = "several entries, each under its id; the file has no other key"
    ids = {"type": "object", "propertyNames": {"pattern": ID}, "additionalProperties": entry}
    held = {SEVERAL: {**ids, "description": text}}
    return {"type": "object", "properties": held, "additionalProperties": False}


def generated() -> dict[str, str]:
    """Return {file below config/: text} of the files that are made from the schemas."""
    made = schemas()
    texts = {f"schema/{n}.schema.json": json.dumps(s, indent=1) + "\n" for n, s in made.items()}
    return {**texts, "README.md": handbook.handbook(made, ROOT / "config")}


app = command.app(__doc__)


@app.command("schema")
def write_schema(folder: Path = ROOT / "config") -> None:
    """Write the JSON schemas that editors use to complete and check config/, and its README."""
    for name, text in generated().items():
        files.write_text(folder / name, text)


@app.command("check")
def check(folder: Path = ROOT / "config") -> None:
    """Check every entry of config/ at every scale and print all faults."""
    base = entries.parse(folder / "config.yaml", dict[str, object])
    for scale in Folder(folder / "scales").locations:
        load(folder, {**base, "scale": scale})
        print(f"{scale}: no fault")


if __name__ == "__main__":
    command.main(app)

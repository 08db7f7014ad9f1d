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
from residuum.artefacts.yamls import Keys
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.config import entries, handbook, keys, unwritten
from residuum.config.entries import SEVERAL
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


def load(folder: Path, config: Mapping[str, object]) -> Registry:
    """Load and check all of config/; raise one ResiduumError that lists every fault."""
    faults: list[str] = []
    spared = {kind for kind in SPARED if not (folder / kind).exists()}
    kinds = [kind for kind in FORMS if kind not in {"papers", *spared}]
    given = {kind: Entries() for kind in [*FORMS, "pages"]}
    loaded = {
        kind: entries.load_folder(folder / kind, FORMS[kind], faults, given[kind]) for kind in kinds
    }
    loaded |= {kind: Entries() for kind in spared}
    loaded["pages"] = _load_pages(folder / "papers", faults, given["pages"])
    try:
        if (folder / "config.yaml").is_file():
            _check_as_read(folder / "config.yaml")
        chosen: Config = entries.validate("config", dict(config), Config)
    except ValueError as error:
        _refuse([*faults, str(error)])
    given["config"] = {"config": config}
    name, scales = chosen.scale, loaded["scales"]
    held = entries.Folder(folder / "scales")
    file = held.file(name)
    if name not in scales:
        missing = [f"config: {unknown('scale', name, scales, str(file))}"]
        _refuse(faults + ([] if held.may_hold(name) else missing))
    for kind in ("datasets", "models", "systems", "groupings", "fidelities", "sweeps"):
        of_kind, scale = entries.Folder(folder / kind), given["scales"][name]
        faults += _lay_budgets(loaded[kind], given[kind], FORMS[kind], of_kind, scale, file)
    for dataset, editions in scales[name].editions.items():
        pins = renamed(given["scales"][name]["editions"], dataset, "editions")
        stated = brought(pins, f"editions of scale {name}")
        _replace_editions(loaded["datasets"], given["datasets"], dataset, editions, stated)
    for dataset, docs in chosen.docs.items():
        count = renamed(config["docs"], dataset, "docs")
        _size(loaded["datasets"], given["datasets"], dataset, docs, count)
    _add_unwritten(loaded, given)
    registry = Registry(chosen, folder=folder, given=given, **loaded)
    if faults := faults + between(registry):
        _refuse(faults)
    return registry


def _add_unwritten(loaded: dict[str, Entries], given: dict[str, Entries]) -> None:
    """Add the dense systems that an entry names and no file defines."""
    every = (entry for entries_of_kind in loaded.values() for entry in entries_of_kind.values())
    written = loaded["systems"]
    unwritten_ones = unwritten.of_models(every, loaded["models"], written)
    for name, system in unwritten_ones.items():
        spots = yamls.spots_of(given["models"].get(system.model)).values()
        spot = next((spot._replace(by=f"model {system.model}", line=0) for spot in spots), None)
        given["systems"][name] = located(system.model_dump(exclude_unset=True), None, spot)
    loaded["systems"] = entries.ordered({**written, **unwritten_ones})


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
    given = entries.parse(path, dict[str, Any])
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
    if not folder.is_dir():
        faults.append(f"{folder}: no such folder")
        return loaded
    for paper in sorted(path for path in folder.iterdir() if path.is_dir()):
        if not re.fullmatch(ID, paper.name):
            faults.append(f"{paper}: a paper's folder is named by small letters, digits, - and _")
            continue
        said: Entries = {}
        for name, page in entries.load_folder(paper, pages.Page, faults, said).items():
            loaded[f"{paper.name}-{name}"], given[f"{paper.name}-{name}"] = page, said[name]
            if "-" in name:
                at = entries.Folder(paper).at(name)
                faults.append(f"{at}: a page's name has no hyphen; write _ for it")
    return loaded


def _lay_budgets(
    loaded: Entries,
    given: Entries,
    form: object,
    held: entries.Folder,
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
    base = entries.parse(folder / "config.yaml", dict[str, Any])
    for scale in entries.Folder(folder / "scales").locations:
        load(folder, {**base, "scale": scale})
        print(f"{scale}: no fault")


if __name__ == "__main__":
    command.main(app)

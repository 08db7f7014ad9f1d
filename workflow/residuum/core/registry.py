"""All entries of config/ with their cross-references checked, and what a scale makes of them.

Snakemake imports this and nothing heavier. Usage: `registry = load(Path("config"), config)`;
`python -m residuum.core.registry schema` writes the editors' JSON schema, `check` checks.
Must not know paths below results/ or any stage.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, TypeAdapter

from residuum.core import command, entries, files, schema
from residuum.core.driver import canonical
from residuum.core.errors import ResiduumError, unknown
from residuum.core.jobs import Job
from residuum.core.sources import ROOT

FORMS: dict[str, Any] = {
    "scales": schema.Scale,
    "datasets": schema.Dataset,
    "models": schema.Model,
    "systems": schema.System,
}
LEVEL = r"(\(rel=\d+\))?"
MEASURE = re.compile(
    rf"^((AP|RR|nDCG){LEVEL}(@\d+)?|(P|R|Success){LEVEL}@\d+|(Bpref|Rprec){LEVEL}|Judged@\d+)$"
)


class Place(NamedTuple):
    """A split of a dataset."""

    dataset: str
    split: str


class Registry(NamedTuple):
    """Everything that config/ says, for the scale that config.yaml chose."""

    config: schema.Config
    scale: schema.Scale
    datasets: dict[str, schema.Dataset]
    models: dict[str, Any]
    systems: dict[str, Any]
    tables: dict[str, schema.Table]

    @property
    def seeds(self) -> list[int]:
        """Seeds of every model that is trained."""
        return self.config.seeds or self.scale.seeds

    def cast(self, role: str) -> Place | None:
        """Return the split that plays a role at this scale, or None."""
        cast = self.scale.roles.get(role)
        return Place(*cast.split("/")) if cast else None

    def place(self, role: str) -> Place:
        """Return the split that plays a role that this scale must cast."""
        place = self.cast(role)
        if place is None:
            raise ResiduumError(unknown("role", role, self.scale.roles, self.scale_file))
        return place

    @property
    def scale_file(self) -> str:
        """Return where the scale stands, for messages."""
        return f"config/scales/{self.config.scale}.yaml"

    def backbone(self, role: str) -> schema.FromHub | schema.FromPath | schema.FromModel:
        """Return what plays a backbone role; `--config encoder=` replaces hub models and paths."""
        cast = self.scale.backbones[role]
        if self.config.encoder is None or isinstance(cast, schema.FromModel):
            return cast
        if Path(self.config.encoder).is_dir():
            return schema.FromPath(path=self.config.encoder)
        return schema.FromHub(hub=self.config.encoder, revision="main")

    def model(self, name: str) -> Any:
        """Return a model with the scale's budgets laid over it, in the order it names them."""
        model = self.models[name]
        merged = model.model_dump(exclude_unset=True)
        for budget in model.budgets:
            merged = merge(merged, self.scale.budgets.get(budget, {}))
        where = f"config/models/{name}.yaml with budgets of {self.scale_file}"
        return entries.validate(where, merged, schema.Model)

    def tuples_of(self, name: str) -> str:
        """Return the model whose training tuples a model uses: itself, or the one it names."""
        negatives = self.models[name].negatives
        return negatives.model if negatives.kind == "same_as" else name

    def model_of(self, system: str) -> str | None:
        """Return the model that a system descends from; None for a purely lexical one."""
        entry = self.systems[system]
        if entry.kind == "fusion":
            return self.model_of(entry.dense) or self.model_of(entry.lexical)
        return entry.model if entry.kind == "dense" else None

    def runs(self, system: str) -> list[str]:
        """Return the run ids of a system: one per seed if a trained model is behind it."""
        if self.model_of(system) is None:
            return [system]
        return [f"{system}.seed{seed}" for seed in self.seeds]

    def measures(self, place: Place) -> list[str]:
        """Return the measures evaluated on a split: its own and those the tables ask for."""
        own = list(self.datasets[place.dataset].splits[place.split].measures)
        columns = [column for table in self.tables.values() for column in table.columns]
        asked = [column.measure for column in columns if self.cast(column.role) == place]
        return sorted({*own, *asked})

    def searched(self, dataset: str) -> list[str]:
        """Return the splits of a dataset that runs are made for: measured or tuned on."""
        tuned = {s.weight.tune_on for s in self.systems.values() if s.kind == "fusion"}
        casts = [self.cast(role) for role in tuned]
        splits = self.datasets[dataset].splits
        return [s for s in splits if Place(dataset, s) in casts or self.measures(Place(dataset, s))]

    def _reason(self) -> str:
        if self.config.encoder is None:
            return self.scale.reason
        return f"encoder {self.config.encoder} takes the place of the scale's own."

    def job(self, table_id: str) -> Job:
        """Return a table with its roles cast and its rows' runs named."""
        table = self.tables[table_id]
        systems = {row.id: row.system for row in table.rows if row.system}
        casts = {column.id: self.cast(column.role) for column in table.columns}
        return Job(
            id=table_id,
            table=table,
            places={name: "/".join(cast) if cast else None for name, cast in casts.items()},
            runs={row: self.runs(system) for row, system in systems.items()},
            systems={r: self.systems[n].model_dump(exclude={"label"}) for r, n in systems.items()},
            scale=self.config.scale,
            comparable=self.scale.comparable and self.config.encoder is None,
            reason=self._reason(),
        )


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one nested mapping over another; None removes a key."""
    merged = dict(base)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = merge(merged[key], value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


def spec(entry: BaseModel) -> str:
    """Write an entry as the canonical JSON of a `--spec` argument.

    What only people read stays out, so that mending a description reruns nothing.
    """
    return canonical(entry.model_dump(mode="json", exclude={"description", "label", "budgets"}))


def load(folder: Path, config: Mapping[str, Any]) -> Registry:
    """Load and check all of config/; raise one ResiduumError that lists every fault."""
    from residuum.core.references import faults_between

    faults: list[str] = []
    found: dict[str, dict[str, Any]] = {}
    for name, form in FORMS.items():
        found[name], wrong = entries.load_folder(folder / name, form)
        faults += wrong
    tables, wrong = _load_tables(folder / "papers")
    faults += wrong
    chosen = _config(config, faults)
    scale = found["scales"].get(chosen.scale) if chosen else None
    if chosen and not scale and not (folder / "scales" / f"{chosen.scale}.yaml").exists():
        add = f"config/scales/{chosen.scale}.yaml"
        faults.append(f"config: {unknown('scale', chosen.scale, found['scales'], add)}")
    if chosen and scale:
        del found["scales"][chosen.scale]
        others = list(found.pop("scales").values())
        registry = Registry(chosen, scale, **found, tables=tables)
        faults += faults_between(registry, others, folder, complete=not faults)
    faults = [line for fault in faults for line in fault.splitlines()]
    if faults:
        count = f"{len(faults)} faults" if len(faults) > 1 else "1 fault"
        raise ResiduumError(f"{count} in the configuration:\n- " + "\n- ".join(faults))
    return registry


def _config(config: Mapping[str, Any], faults: list[str]) -> schema.Config | None:
    try:
        return entries.validate("config", dict(config), schema.Config)  # type: ignore[no-any-return]
    except ValueError as error:
        faults.append(str(error))
        return None


def _load_tables(folder: Path) -> tuple[dict[str, schema.Table], list[str]]:
    tables: dict[str, schema.Table] = {}
    faults: list[str] = []
    for paper in sorted(p for p in folder.iterdir() if p.is_dir()):
        if not paper.name.isalnum() or paper.name != paper.name.lower():
            faults.append(f"{paper}: a paper's folder is named by small letters and digits only")
            continue
        loaded, wrong = entries.load_folder(paper, schema.Table)
        tables |= {f"{paper.name}-{name}": table for name, table in loaded.items()}
        faults += wrong
    return tables, faults


def json_schemas() -> dict[str, str]:
    """Return {file name: JSON schema text} for editors, one per kind of entry."""
    forms = {**FORMS, "tables": schema.Table, "config": schema.Config}
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

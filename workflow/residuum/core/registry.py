"""All entries of config/, and what a scale makes of them: casts, budgets, runs, measures.

Made by `residuum.core.loading`; Snakemake imports it and nothing heavier.
Must not know files, paths below results/ or any stage.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from residuum.core import entries, schema
from residuum.core.errors import ResiduumError, unknown
from residuum.wiring import specs
from residuum.wiring.run_ids import FixedId, RunId


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
    tests: dict[str, schema.Tests]
    pages: dict[str, Any]

    @property
    def seeds(self) -> list[int]:
        """Seeds of every model that is trained."""
        return self.config.seeds or self.scale.seeds

    @property
    def scale_file(self) -> str:
        """Return where the scale stands, for messages."""
        return f"config/scales/{self.config.scale}.yaml"

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

    def shards(self, dataset: str) -> int:
        """Return into how many shards a corpus is cut, whichever its edition; none is empty.

        A doc that models read in passages counts as many times as it is expected to have.
        """
        docs = [edition.docs for edition in self.datasets[dataset].editions]
        windows = self.datasets[dataset].windows
        vectors = max(docs) * (windows.expected if windows else 1)
        return min(-(-vectors // self.scale.shard_docs), *docs)

    def backbone(self, role: str) -> schema.FromHub | schema.FromPath | schema.FromModel | None:
        """Return what plays a backbone role; `--config encoder=` replaces hub models and paths."""
        cast = self.scale.backbones.get(role)
        if self.config.encoder is None or cast is None or isinstance(cast, schema.FromModel):
            return cast
        if Path(self.config.encoder).is_dir():
            return schema.FromPath(path=self.config.encoder)
        return schema.FromHub(hub=self.config.encoder, revision="main")

    def model(self, name: str) -> Any:
        """Return a model with the scale's budgets laid over it, in the order it names them."""
        return self._overlaid("models", name, self.models[name], schema.Model)

    def system(self, name: str) -> Any:
        """Return a system with the scale's budgets laid over it."""
        return self._overlaid("systems", name, self.systems[name], schema.System)

    def _overlaid(self, kind: str, name: str, entry: Any, form: Any) -> Any:
        budgets = [self.scale.budgets.get(name, {}) for name in getattr(entry, "budgets", [])]
        if not any(budgets):
            return entry
        merged = entry.model_dump(exclude_unset=True)
        for budget in budgets:
            merged = merge(merged, budget)
        where = f"config/{kind}/{name}.yaml with budgets of {self.scale_file}"
        return entries.validate(where, merged, form)

    def tuples_of(self, name: str) -> str:
        """Return the model whose training tuples a model uses: itself, or the one it names."""
        return self.models[name].negatives.same_as or name

    def mined_from(self, name: str) -> list[schema.models.Source]:
        """Return the systems whose runs are among the pools of a model's negatives."""
        return list(self.models[self.tuples_of(name)].negatives.runs)

    def reranker(self, system: str) -> str:
        """Return the id of a rerank system's reranker: its role, or one made of what it names."""
        reranker = self.systems[system].reranker
        if isinstance(reranker, str):
            return reranker
        if isinstance(reranker, schema.FromModel):
            return str(FixedId(reranker.model, f"seed{reranker.seed}"))
        digest = hashlib.sha256(specs.of_entry(reranker).encode()).hexdigest()
        return str(FixedId(reranker.hub.replace("/", "_"), digest[:8]))

    def reranker_cast(self, name: str) -> schema.HubReranker | schema.FromModel | None:
        """Return what plays a reranker by its id; None if the scale casts nothing as the role."""
        if not FixedId.parse(name).by:
            return self.scale.rerankers.get(name)
        own = (s for s in self.of_kind("rerank") if self.reranker(s) == name)
        return next((self.systems[system].reranker for system in own), None)

    def parts(self, system: str) -> list[str]:
        """Return the systems whose runs a system is made from."""
        entry = self.systems[system]
        if entry.kind == "fusion":
            return [entry.lexical, entry.dense]
        return [entry.first_stage] if entry.kind == "rerank" else []

    def trained_for(self, system: str) -> str | None:
        """Return the model of a system itself, trained once per seed; None for other kinds."""
        entry = self.systems[system]
        if entry.kind == "dense":
            return str(entry.model)
        return entry.weights if entry.kind == "lexical" else None

    def seeded(self, system: str) -> bool:
        """Say whether a system descends from a model that is trained once per seed."""
        if self.trained_for(system):
            return True
        return any(self.seeded(part) for part in self.parts(system))

    def run(self, system: str, seed: int | None) -> str:
        """Return the run id of a system for a seed, which unseeded systems ignore."""
        return str(RunId(system, seed if self.seeded(system) else None))

    def runs(self, system: str) -> list[str]:
        """Return the run ids of a system: one per seed if a trained model is behind it."""
        return list(dict.fromkeys(self.run(system, seed) for seed in self.seeds))

    def of_kind(self, kind: str) -> list[str]:
        """Return the ids of all systems of one kind."""
        return [name for name, system in self.systems.items() if system.kind == kind]

    def models_of(self, kind: str) -> list[str]:
        """Return the ids of all models of one kind."""
        return [name for name, model in self.models.items() if model.kind == kind]

    def chosen(self, *kinds: str) -> list[str]:
        """Return the ids of the chosen papers' pages that are of one of the kinds."""
        wanted = (page for page in self.pages if schema.parts_of(page)[0] in self.config.papers)
        return [page for page in wanted if self.pages[page].kind in kinds]

    def measures(self, place: Place) -> list[str]:
        """Return the measures evaluated on a split: its own and those the tables ask for."""
        own = list(self.datasets[place.dataset].splits[place.split].measures)
        tables = [page for page in self.pages.values() if page.kind == "table"]
        columns = [c for table in tables for c in table.columns if not c.is_depth]
        asked = [column.measure for column in columns if self.cast(column.role) == place]
        return sorted({*own, *asked})

    def facts(self) -> dict[str, Any]:
        """Return what every page says of the scale: its name, and whether numbers compare."""
        replaced = self.config.encoder
        instead = f"encoder {replaced} takes the place of the scale's own."
        return {
            "scale": self.config.scale,
            "comparable": self.scale.comparable and replaced is None,
            "reason": self.scale.reason if replaced is None else instead,
        }


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

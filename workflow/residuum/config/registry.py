"""All entries of config/, and what a scale makes of them: bindings, seeds, runs, measures.

Made by `residuum.config.loading`; imports nothing heavy. Must not know results or any stage.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from residuum.cli.errors import ResiduumError, unknown
from residuum.config.schema.base import OWN, Ref, named_for, references
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.figures import Figure
from residuum.config.schema.groupings import Grouping, Halves
from residuum.config.schema.models import LexicalVectors, Model, OnPairs, ReleasedWeights
from residuum.config.schema.negatives import Negatives
from residuum.config.schema.pages import Page
from residuum.config.schema.papers import Tests, parts_of
from residuum.config.schema.scales import (
    ByDataset,
    Config,
    FromHub,
    FromModel,
    FromPath,
    HubReranker,
    Scale,
    Start,
)
from residuum.config.schema.systems import RerankSystem, System
from residuum.config.schema.training import RateGrid
from residuum.config.specs import FixedId, RunId, Seed, of_entry

Entry = TypeVar("Entry")


class Place(NamedTuple):
    """A split of a dataset."""

    dataset: str
    split: str


@dataclass(frozen=True, eq=False)
class Registry:
    """Everything that config/ says, for the scale that config.yaml chose."""

    config: Config
    scales: dict[str, Scale]
    datasets: dict[str, Dataset]
    models: dict[str, Model]
    systems: dict[str, System]
    tests: dict[str, Tests]
    pages: dict[str, Page]
    groupings: dict[str, Grouping] = field(default_factory=dict)
    folder: Path = Path("config")

    @cached_property
    def _named(self) -> dict[str, list[tuple[Ref, str]]]:
        to = ("system", "model", "role")
        return {name: list(references(entry, *to)) for name, entry in self.systems.items()}

    @property
    def scale(self) -> Scale:
        """The chosen scale."""
        return self.scales[self.config.scale]

    @property
    def entries(self) -> dict[str, Mapping[str, BaseModel]]:
        """The entries that take part in this scale, but pages, by what names them."""
        chosen: dict[str, Mapping[str, BaseModel]] = {"scale": {self.config.scale: self.scale}}
        chosen |= {"dataset": self.datasets, "model": self.models}
        chosen |= {"grouping": self.groupings}
        return chosen | {"system": self.systems, "tests": self.tests}

    def file(self, kind: str, name: str) -> str:
        """Return the file of an entry; with the scale's, if that pins a dataset's counts."""
        file = f"{self.folder}/{kind.removesuffix('s')}s/{name}.yaml"
        pinned = kind == "dataset" and name in self.scale.editions
        return f"{file} with editions of {self.scale_file}" if pinned else file

    @property
    def scale_file(self) -> str:
        """The file of the scale."""
        return self.file("scale", self.config.scale)

    def binding(self, role: str) -> Place | None:
        """Return the split that plays a role at this scale, or None."""
        bound = self.scale.roles.get(role)
        return Place(*bound.split("/")) if bound else None

    def place(self, role: str) -> Place:
        """Return the split that plays a role that this scale must bind."""
        if place := self.binding(role):
            return place
        raise ResiduumError(unknown("role", role, self.scale.roles, self.scale_file))

    def shards(self, dataset: str) -> int:
        """Return into how many shards a corpus is cut, whichever its edition; none is empty.

        A doc that models read in passages counts as many times as it is expected to have.
        """
        docs = [edition.docs for edition in self.datasets[dataset].editions]
        windows = self.datasets[dataset].windows
        vectors = max(docs) * (windows.expected if windows else 1)
        return min(-(-vectors // self.scale.shard_docs), *docs)

    def backbone(self, role: str, dataset: str | None) -> Start | None:
        """Return what plays a backbone role for models of a dataset, or of none that is named.

        `--config encoder=` replaces hub models and paths.
        """
        bound = self.scale.backbones.get(role)
        if isinstance(bound, ByDataset):
            bound = bound.datasets.get(dataset or "", bound.otherwise)
        if self.config.encoder is None or bound is None or isinstance(bound, FromModel):
            return bound
        if Path(self.config.encoder).is_dir():
            return FromPath(path=self.config.encoder)
        return FromHub(hub=self.config.encoder, revision="main")

    @cached_property
    def trials(self) -> dict[str, tuple[RateGrid, float]]:
        """The trainings that choose a learning rate, by the model's id: `clear@rate-2e-05`."""
        trained = [model for model in self.models.values() if isinstance(model, OnPairs)]
        rates = [model.training.learning_rate for model in trained]
        grids = [grid for grid in rates if isinstance(grid, RateGrid)]
        return {
            str(FixedId(grid.of, f"rate-{rate:g}")): (grid, rate)
            for grid in grids
            for rate in grid.grid
        }

    def model(self, model: str) -> Model:
        """Return the entry of a model by its id, which may name its collection or its rate.

        A training for a fold keeps no snapshots.
        """
        entry = self.models[FixedId.parse(model).name]
        if not isinstance(entry, OnPairs):
            return entry
        training = entry.training
        if self.fold_of(model):
            training = training.model_copy(update={"snapshots": None})
        if model in self.trials:
            training = training.tried(self.trials[model][1])
        return entry.model_copy(update={"training": training})

    def rate_grid(self, model: str) -> RateGrid | None:
        """Return what chooses a model's learning rate, by its id; None for one that is given."""
        entry = self.model(model)
        if not (isinstance(entry, OnPairs) and entry.trained):
            return None
        rate = entry.training.learning_rate
        return rate if isinstance(rate, RateGrid) else None

    def entry(self, of: str, form: type[Entry]) -> Entry:
        """Return the model, the system or the page of an id, where the caller knows the class."""
        name = FixedId.parse(of).name
        for entry in (self.models.get(name), self.systems.get(name), self.pages.get(name)):
            if isinstance(entry, form):
                return entry
        raise TypeError(f"no {form.__name__} is named '{name}'")

    def tuples_of(self, model: str) -> str:
        """Return the id of the model whose tuples a model uses: its own, or the one it names."""
        own = self._bare(model)
        own = own._replace(by=".".join(own.by.split(".")[:2]))  # those of all folds
        entry = self.models.get(own.name)
        shared = entry.negatives.same_as if isinstance(entry, OnPairs) else None
        return str(own._replace(name=shared)) if shared else str(own)

    def negatives(self, name: str) -> Negatives:
        """Return the negatives in a model's tuples; none for a model that learns from none."""
        model = self.models.get(FixedId.parse(self.tuples_of(name)).name)
        return model.negatives if isinstance(model, OnPairs) else Negatives()

    def mined_models(self, name: str) -> list[str]:
        """Return the models whose own hits are among a model's negatives."""
        systems = [system for _, system in references(self.negatives(name), "system")]
        return [model for system in systems for model in self.trained_behind(system)]

    def own_split(self, dataset: str, use: Literal["train", "tune"]) -> Place:
        """Return the split of a dataset for what belongs to itself; none is an error."""
        entry = self.datasets[dataset]
        if split := entry.own.train if use == "train" else entry.own.tune:
            return Place(dataset, split)
        file, splits = self.file("dataset", dataset), ", ".join(entry.splits)
        text = f"own.{use}: no split given, but {use}_on: own needs one of {splits}"
        raise ResiduumError(f"{file}: {text}")

    def model_for(self, name: str, dataset: str, fold: str | None = None) -> str:
        """Return the id of a model for a collection: `model@dataset.split` if it is its own.

        Given a fold it is `model@dataset.split.fold` if a training for each fold makes it.
        """
        if getattr(self.models[name], "train_on", None) != OWN:
            return name
        model = str(FixedId(name, ".".join(self.own_split(dataset, "train"))))
        return f"{model}.{fold}" if fold and self.folds(model) else model

    def model_ids(self) -> list[str]:
        """Return the ids of all models; collections may have one each."""
        own = [name for name, model in self.models.items() if getattr(model, "train_on", "") == OWN]
        of = [name for name, dataset in self.datasets.items() if dataset.own.train]
        shared = [name for name in self.models if name not in own]
        made = [self.model_for(name, dataset) for name in own for dataset in of]
        of_folds = [id_ for model in made if self.folds(model) for id_ in self.trainings(model)]
        return shared + made + of_folds + list(self.trials)

    def train_place(self, model: str) -> Place:
        """Return the split that a model, by its id, is trained on."""
        name, of = self._bare(model)
        return Place(*of.split(".")[:2]) if of else self.place(self.entry(name, OnPairs).train_on)

    def fold_of(self, model: str) -> str | None:
        """Return the fold whose queries a model, by its id, has not seen; None for most."""
        _, _, fold = [*self._bare(model).by.split("."), "", ""][:3]
        return fold or None

    def folds(self, model: str) -> list[str]:
        """Return the folds of the split that a model, by its id, is trained on, if it is its own.

        Each is then answered by a training on the others. What takes no step has seen none.
        """
        own = self._bare(model)
        if not own.by or not self.entry(own.name, OnPairs).trained:
            return []
        dataset, split = self.train_place(model)
        return self.datasets[dataset].splits[split].folds

    def trainings(self, model: str) -> list[str]:
        """Return the ids of the trainings that make a model: its own, or one for each fold."""
        folds = [] if self.fold_of(model) else self.folds(model)
        return [f"{model}.{fold}" for fold in folds] or [model]

    def answering(self, model: str, split: str) -> dict[str, str]:
        """Return the trainings that answer the queries of a split, each with the split of its own.

        Those for each fold answer the folded split and its folds; another one is a ResiduumError.
        """
        folds = self.folds(model)
        if not folds:
            return {model: split}
        dataset, whole = self.train_place(model)
        if split not in (whole, *folds):
            name = FixedId.parse(model).name
            text = f"{name} is trained for each fold of {dataset}/{whole} on the others"
            raise ResiduumError(f"{text}, and answers no query of another split: {split}")
        return {f"{model}.{fold}": fold for fold in folds if split in (whole, fold)}

    def learned_on(self, model: str) -> Place | None:
        """Return the split that tells whether a model, by its id, learned; None: it is not told."""
        entry = self.model(model)
        if not (self.scale.learning and isinstance(entry, OnPairs) and entry.trained):
            return None
        if model in self.trials:
            return self.binding(self.trials[model][0].role)
        dataset, split = self.train_place(model)
        if self.folds(model):
            return Place(dataset, self.fold_of(model) or split)
        tune = self.datasets[dataset].own.tune
        return Place(dataset, tune) if tune else None

    def _bare(self, model: str) -> FixedId:
        """Return the id of a model without the rate that it is tried at."""
        return FixedId(FixedId.parse(model).name) if model in self.trials else FixedId.parse(model)

    def tune_place(self, system: str, dataset: str) -> Place | None:
        """Return the split on which a system is tuned for a collection; None for a fixed one."""
        role = self.tuned_on(system)
        if role == OWN:
            return self.own_split(dataset, "tune")
        return self.place(role) if role else None

    def reranker(self, system: str) -> str:
        """Return the id of a rerank system's reranker: its role, or one made of what it names."""
        reranker = self.entry(system, RerankSystem).reranker
        if isinstance(reranker, str):
            return reranker
        if isinstance(reranker, FromModel):
            return str(FixedId(reranker.model, f"seed{reranker.seed}"))
        digest = hashlib.sha256(of_entry(reranker).encode()).hexdigest()
        return str(FixedId(reranker.hub.replace("/", "_"), digest[:8]))

    def reranker_binding(self, name: str) -> HubReranker | FromModel | None:
        """Return what plays a reranker by its id; None if the scale leaves the role unbound."""
        systems = {n: s for n, s in self.systems.items() if isinstance(s, RerankSystem)}
        named = {self.reranker(n): system.reranker for n, system in systems.items()}.get(name, name)
        return self.scale.rerankers.get(name) if isinstance(named, str) else named

    def players(self, page: Page) -> dict[str, str]:
        """Return the system that makes each part of a page: the one named, or what plays it."""
        return {part: self.scale.systems.get(name, name) for part, name in page.systems().items()}

    def parts(self, system: str) -> list[str]:
        """Return the systems whose runs a system is made from."""
        return [name for ref, name in self._named.get(system, []) if ref.to == "system"]

    def trained_for(self, system: str) -> str | None:
        """Return the model of a system itself, trained once per seed; None without one."""
        models = [(ref, name) for ref, name in self._named.get(system, []) if ref.to == "model"]
        made = (name for ref, name in models if ref.use != "released")
        untrained = ReleasedWeights, LexicalVectors
        return next((n for n in made if not isinstance(self.models.get(n), untrained)), None)

    def vectors_seed(self, model: str, seed: Seed | None) -> Seed | None:
        """Return the seed of a model's vectors in a run: the training's, or else its own."""
        entry = self.models[FixedId.parse(model).name]
        return entry.seed if isinstance(entry, LexicalVectors) else seed

    def fixed_by(self, model: str) -> str | None:
        """Return the model whose vectors a training reads beside its own; None without such."""
        fixed = getattr(self.models[FixedId.parse(model).name], "fixed", None)
        return fixed and str(fixed.model)

    def gate_of(self, model: str) -> str | None:
        """Return the model whose checkpoint is the fixed gate of another; None without one."""
        return named_for(self.models[FixedId.parse(model).name], "gate")

    def tuned_on(self, system: str) -> str | None:
        """Return the role of the split on which something of a system is chosen, or None."""
        return next((name for ref, name in self._named[system] if ref.use == "tuning"), None)

    def trained_behind(self, system: str) -> list[str]:
        """Return the models, trained once per seed, of a system and of all that it is made from."""
        return [model for name in self.made_from(system) if (model := self.trained_for(name))]

    def made_from(self, system: str) -> list[str]:
        """Return a system and all systems that it is made from."""
        systems = [system]
        for name in systems:
            systems += [part for part in self.parts(name) if part not in systems]
        return systems

    def seeds_of(self, system: str) -> list[int]:
        """Return the seeds of a system's runs: those that every model behind it is trained with.

        A model has seeds of its own if its file or a budget says so, unless the command line does.
        """
        if self.config.seeds:
            return self.config.seeds
        trained = [getattr(self.models.get(n), "seeds", None) for n in self.trained_behind(system)]
        first, *others = [seeds or self.scale.seeds for seeds in trained or [None]]
        return [seed for seed in first if all(seed in seeds for seeds in others)]

    def run(self, system: str, seed: Seed | None) -> str:
        """Return the run id of a system for a seed, which unseeded systems ignore."""
        return str(RunId(system, seed if self.trained_behind(system) else None))

    def runs(self, system: str) -> list[str]:
        """Return the run ids of a system: one per seed if a trained model is behind it."""
        return list(dict.fromkeys(self.run(system, seed) for seed in self.seeds_of(system)))

    def of_kind(self, kind: str) -> list[str]:
        """Return the ids of all systems, or of all models, of one kind."""
        every = [*self.systems.items(), *self.models.items()]
        return [name for name, entry in every if entry.kind == kind]

    def chosen(self, *kinds: str) -> list[str]:
        """Return the ids of the chosen papers' pages that are of one of the kinds, or of all."""
        pages = (page for page in self.pages if parts_of(page)[0] in self.config.papers)
        return [page for page in pages if not kinds or self.pages[page].kind in kinds]

    def measures(self, place: Place) -> list[str]:
        """Return the measures evaluated on a split: its own, and those that pages show of runs."""
        shown = (named for page in self.pages.values() for named in self._measured(page))
        printed = [measure for role, measure in shown if self.binding(role) == place]
        return sorted({*self.datasets[place.dataset].splits[place.split].measures, *printed})

    def _measured(self, page: Page) -> Iterator[tuple[str, str]]:
        """Yield role and measure of what a page shows of runs, or groups its queries by."""
        yield from page.measured()
        grouping = self.groupings.get(page.over) if isinstance(page, Figure) else None
        if isinstance(page, Figure) and isinstance(grouping, Halves):
            yield from ((role, grouping.measure) for role in page.roles())

    @property
    def comparability(self) -> tuple[bool, str]:
        """Whether numbers compare with the papers' at this scale, and the reason."""
        if encoder := self.config.encoder:
            return False, f"encoder {encoder} takes the place of the scale's own."
        return self.scale.comparable, self.scale.reason

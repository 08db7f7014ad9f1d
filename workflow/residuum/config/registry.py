"""The entries of config/ at the chosen scale: bindings, models and trainings, systems and runs.

Usage: `loading.load(folder, config)` gives a `Registry`. `registry.binding("msmarco-dev")` is the
split that plays a role, and `registry.runs("clear")` are the runs of a system.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from residuum.cli.errors import ResiduumError, unknown
from residuum.config import measures
from residuum.config.entries import Folder
from residuum.config.schema.backbones import OnTexts
from residuum.config.schema.base import OWN, Ref, named_for, references
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.fidelities import Fidelity
from residuum.config.schema.groupings import Grouping, Halves
from residuum.config.schema.models import (
    DualEncoder,
    Given,
    LexicalVectors,
    Model,
    OnPairs,
    ReleasedEncoder,
    ReleasedVectors,
    ReleasedWeights,
    VectorFile,
)
from residuum.config.schema.negatives import Negatives
from residuum.config.schema.reading import Windows
from residuum.config.schema.scales import (
    ByDataset,
    Comparability,
    Config,
    FromHub,
    FromModel,
    FromPath,
    HubReranker,
    LocalReranker,
    ReleasedReranker,
    Scale,
    Start,
)
from residuum.config.schema.settings import Depth, Interpolation, TunedParameter
from residuum.config.schema.sources import Segmented
from residuum.config.schema.sweeps import Sweep
from residuum.config.schema.systems import (
    DenseSystem,
    ExternalSystem,
    FunctionSystem,
    FusionSystem,
    HybridSystem,
    RerankSystem,
    System,
)
from residuum.config.schema.tests import Tests
from residuum.config.schema.training import Rule, Training
from residuum.config.specs import FixedId, RunId, Seed, of_entry
from residuum.config.unwritten import model_of
from residuum.pages.entries import parts_of
from residuum.pages.kinds import Page

Entry = TypeVar("Entry")
Reranker = HubReranker | LocalReranker | FromModel | ReleasedReranker
READERS = DualEncoder, ReleasedEncoder  # models that make vectors of texts
FOLDERS = {  # kind of entry, as references name it: its folder
    "scale": "scales",
    "dataset": "datasets",
    "model": "models",
    "grouping": "groupings",
    "fidelity": "fidelities",
    "sweep": "sweeps",
    "system": "systems",
    "tests": "tests",
    "paper": "papers",
}


class SplitId(NamedTuple):
    """A split of a dataset."""

    dataset: str
    split: str


@dataclass(frozen=True, eq=False)
class Registry:
    """The whole configuration: entries, bindings, models, systems, runs and measures.

    Ids of models are such as `clear`, `clear@nfcorpus.train` and `clear@rate-2e-05`.
    `clear@nfcorpus.train.fold1` is the training that holds out fold1.
    """

    config: Config
    scales: dict[str, Scale]
    datasets: dict[str, Dataset]
    models: dict[str, Model]
    systems: dict[str, System]
    tests: dict[str, Tests]
    pages: dict[str, Page]
    groupings: dict[str, Grouping] = field(default_factory=dict)
    fidelities: dict[str, Fidelity] = field(default_factory=dict)
    sweeps: dict[str, Sweep] = field(default_factory=dict)
    folder: Path = Path("config")
    folders: dict[Path, Folder] = field(default_factory=dict)
    # the entries as files state them, by kind and id, with spots of keys: for `origins.nodes`
    given: dict[str, dict[str, Mapping[str, object]]] = field(default_factory=dict)

    @property
    def scale(self) -> Scale:
        """The chosen scale."""
        return self.scales[self.config.scale]

    @property
    def entries(self) -> dict[str, Mapping[str, BaseModel]]:
        """The entries of this scale other than pages, by the kind in references."""
        loaded = {kind: getattr(self, name) for kind, name in FOLDERS.items() if kind != "paper"}
        return {**loaded, "scale": {self.config.scale: self.scale}}

    def file(self, kind: str, name: str) -> str:
        """Return the file of an entry, and the scale's file if this pins the dataset's counts."""
        held, entry_id = self._held(kind, name)
        return f"{held.file(entry_id)}{self._pinned(kind, name)}"

    def at(self, kind: str, name: str, key: str = "") -> str:
        """Return file and line of an entry's key, such as `parts.0`, for the start of a message."""
        held, entry_id = self._held(kind, name)
        return held.at(entry_id, *filter(None, key.split("."))) + self._pinned(kind, name)

    def may_hold(self, kind: str, name: str) -> bool:
        """Say whether an entry is written, though it may have faults."""
        held, entry_id = self._held(kind, name)
        models = [model for model in model_of(name) if model not in self.models]
        unwritten = kind == "system" and any(self.may_hold("model", model) for model in models)
        return unwritten or held.may_hold(entry_id)

    def _held(self, kind: str, name: str) -> tuple[Folder, str]:
        """Return the folder of an entry and its id there; for an unwritten system, its model's."""
        path = self.folder / FOLDERS[kind] / name
        if path.parent not in self.folders:
            self.folders[path.parent] = Folder(path.parent)
        held = self.folders[path.parent]
        if kind == "system" and name not in held and name in self.systems:
            return self._held("model", str(getattr(self.systems[name], "model", "")))
        return held, path.name

    def _pinned(self, kind: str, name: str) -> str:
        pinned = kind == "dataset" and name in self.scale.editions
        return f" with editions of {self.scale_file}" if pinned else ""

    @property
    def scale_file(self) -> str:
        """The file of the scale."""
        return self.file("scale", self.config.scale)

    def binding(self, role: str) -> SplitId | None:
        """Return the split that the scale binds to a role, or None."""
        bound = self.scale.roles.get(role)
        return SplitId(*bound.split("/")) if bound else None

    def bound_split(self, role: str) -> SplitId:
        """Return the split that the scale binds to a role; ResiduumError if there is none."""
        if split_id := self.binding(role):
            return split_id
        raise ResiduumError(unknown("role", role, self.scale.roles, self.scale_file))

    def segmented_from(self, dataset: str) -> SplitId | None:
        """Return the split whose dataset's docs a dataset is cut from, or None if it is not cut."""
        source = self.datasets[dataset].source
        return self.bound_split(source.of) if isinstance(source, Segmented) else None

    def questions_of(self, split_id: SplitId) -> SplitId | None:
        """Return the split whose questions and answers a split takes, or None if it has its own."""
        role = self.datasets[split_id.dataset].source_of(split_id.split).questions_of
        return self.bound_split(role) if role else None

    def vectors_each(self, dataset: str, model: str) -> int:
        """Return the expected number of vectors of a doc by a model, given its id.

        An encoder makes its vectors for each passage if the dataset is read in windows.
        """
        entry, windows = self.models[FixedId.parse(model).name], self.datasets[dataset].windows
        cut = windows.expected if windows and isinstance(entry, READERS) else 1
        return cut * self.vectors_of_text(model)

    def vectors_of_text(self, model: str) -> int:
        """Return the most vectors of a text or passage by a model, given its id."""
        entry = self.models[FixedId.parse(model).name]
        return entry.most if isinstance(entry, READERS) else 1

    def windows_read(self, model: str, dataset: str) -> Windows | None:
        """Return the windows of a dataset, if a model's training reads passages of its docs."""
        reads = getattr(self.model(model), "passages", None)
        return self.datasets[dataset].windows if reads else None

    def shards(self, dataset: str, model: str) -> int:
        """Return the number of shards of a dataset's vectors by a model, the same for all editions.

        No shard holds more than `shard_docs` vectors of the largest edition, and none is empty. A
        corpus without pinned counts has one shard.
        """
        docs = [edition.docs for edition in self.datasets[dataset].editions] or [1]
        vectors = max(docs) * self.vectors_each(dataset, model)
        return min(-(-vectors // self.scale.shard_docs), *docs)

    def numbered(self, shards: int) -> range:
        """Return the shard numbers that become jobs.

        Every shard is a job. But if `config.docs` plans another size, only shard 0 is a job and
        stands for all shards, because Snakemake cannot hold so many jobs.
        """
        return range(min(1, shards) if self.config.docs else shards)

    def backbone(self, role: str, dataset: str | None) -> Start | None:
        """Return the start that is bound to a backbone role for models of a dataset, or None.

        Without a dataset it is the start for all other datasets. `--config encoder=` replaces hub
        models and paths.
        """
        bound = self._bound(role, dataset)
        if self.config.encoder is None or bound is None or isinstance(bound, FromModel):
            return bound
        if Path(self.config.encoder).is_dir():
            return FromPath(path=self.config.encoder)
        return FromHub(hub=self.config.encoder, revision="main")

    def tokenizer(self, role: str, dataset: str) -> Start | None:
        """Return the start whose tokenizer a backbone role has on a dataset, or None.

        A start that the graph adapts keeps the tokenizer of what it starts from, so that terms and
        models of one role have the same wordpieces, and no index waits for a training.
        """
        start = self.backbone(role, dataset)
        while isinstance(start, FromModel):
            adapted = self.models[start.model]
            if not isinstance(adapted, OnTexts):
                break
            start = self.backbone(adapted.backbone, dataset)
        return start

    def generator(self, split_id: SplitId) -> Start | None:
        """Return the start bound as question generator of a split; None if there is none."""
        synthetic = self.datasets[split_id.dataset].splits[split_id.split].synthetic
        return self._bound(synthetic.generator, split_id.dataset) if synthetic else None

    def _bound(self, role: str, dataset: str | None) -> Start | None:
        bound = self.scale.backbones.get(role)
        if isinstance(bound, ByDataset):
            return bound.datasets.get(dataset or "", bound.otherwise)
        return bound

    def entry(self, entry_id: str, form: type[Entry]) -> Entry:
        """Return the model, system or page of an id and a class; TypeError if there is none."""
        name = FixedId.parse(entry_id).name
        for entry in (self.models.get(name), self.systems.get(name), self.pages.get(name)):
            if isinstance(entry, form):
                return entry
        raise TypeError(f"no {form.__name__} is named '{name}'")

    def own_split(
        self, dataset: str, use: Literal["train", "tune"], searched: str | None = None
    ) -> SplitId:
        """Return a dataset's own training or tuning split; ResiduumError if it names none.

        A searched split may name a tuning split of its own.
        """
        entry = self.datasets[dataset]
        tune = (searched and entry.splits[searched].tune) or entry.own.tune
        if split := entry.own.train if use == "train" else tune:
            return SplitId(dataset, split)
        file, splits = self.file("dataset", dataset), ", ".join(entry.splits)
        text = f"own.{use}: no split given, but {use}_on: own needs one of {splits}"
        text += "; a fusion can take `folds: 5, seed: 1` in its place" if use == "tune" else ""
        raise ResiduumError(f"{file}: {text}")

    def of_kind(self, kind: str) -> list[str]:
        """Return the ids of all systems and models of a kind."""
        every = [*self.systems.items(), *self.models.items()]
        return [name for name, entry in every if entry.kind == kind]

    def comparability(self, page: str) -> Comparability:
        """Return whether a page's numbers compare with its paper's at this scale, and why."""
        if encoder := self.config.encoder:
            reason = f"encoder {encoder} takes the place of the scale's own."
            return Comparability(comparable=False, reason=reason, but={})
        paper, name = parts_of(page)
        for key in (f"{paper}/{name}", paper):
            if key in self.scale.pages:
                return self.scale.pages[key]
        return Comparability(comparable=self.scale.comparable, reason=self.scale.reason, but={})

    @cached_property
    def trials(self) -> dict[str, Rule]:
        """The rule of each training that serves a choice, by the model's id: `clear@rate-2e-05`.

        The training of a learning curve is `clear@steps-2400`.
        """
        return {name: rule for name, (rule, _) in self._trials.items()}

    @cached_property
    def _trials(self) -> dict[str, tuple[Rule, Training]]:
        trained = [model for model in self.models.values() if isinstance(model, OnPairs)]
        return {
            str(FixedId(rule.of, end)): (rule, training)
            for model in trained
            for rule in model.training.rules.values()
            if isinstance(tried := self.models.get(rule.of), OnPairs)
            for end, training in rule.trials(tried.training).items()
        }

    def model(self, model: str) -> Model:
        """Return the entry of a model by its id, with the training that the id tries.

        A training for a fold keeps no snapshots.
        """
        entry = self.models[FixedId.parse(model).name]
        if not isinstance(entry, OnPairs):
            return entry
        training = entry.training
        if self.fold_of(model):
            training = training.model_copy(update={"snapshots": None})
        if model in self._trials:
            training = self._trials[model][1]
        return entry.model_copy(update={"training": training})

    def rules(self, model: str) -> dict[str, Rule]:
        """Return the rules that choose a model's learning rate or steps, by their keys."""
        entry = self.model(model)
        return entry.training.rules if isinstance(entry, OnPairs) and entry.trained else {}

    def tuples_of(self, model: str) -> str:
        """Return the id of the model whose training tuples a model uses: its own, or `same_as`.

        The tuples of a mix have this id and a split: see `tuples_by_role`.
        """
        bare = self._bare(model)
        bare = bare._replace(by=".".join(bare.by.split(".")[:2]))  # folds share their tuples
        entry = self.models.get(bare.name)
        shared = entry.negatives.same_as if isinstance(entry, OnPairs) else None
        return str(bare._replace(name=shared)) if shared else str(bare)

    def negatives(self, name: str) -> Negatives:
        """Return the `negatives` of a model's tuples; empty for a model without pairs."""
        model = self.models.get(FixedId.parse(self.tuples_of(name)).name)
        return model.negatives if isinstance(model, OnPairs) else Negatives()

    def model_for(self, name: str, dataset: str, fold: str | None = None) -> str:
        """Return the id of a model for a dataset: `model@dataset.split` with `train_on: own`.

        With a fold it is `model@dataset.split.fold` if the model is trained for each fold.
        """
        if getattr(self.models[name], "train_on", None) != OWN:
            return name
        model = str(FixedId(name, ".".join(self.own_split(dataset, "train"))))
        return f"{model}.{fold}" if fold and self.folds(model) else model

    def model_ids(self) -> list[str]:
        """Return the ids of all models: with `train_on: own`, one for each dataset."""
        on_own = [
            name for name, model in self.models.items() if getattr(model, "train_on", "") == OWN
        ]
        datasets = [name for name, dataset in self.datasets.items() if dataset.own.train]
        shared = [name for name in self.models if name not in on_own]
        made = [self.model_for(name, dataset) for name in on_own for dataset in datasets]
        of_folds = [id_ for model in made if self.folds(model) for id_ in self.trainings(model)]
        return shared + made + of_folds + list(self.trials)

    def train_split(self, model: str) -> SplitId:
        """Return the training split of a model, given its id; for a mix, that of the largest share.

        All splits of a mix belong to one collection.
        """
        return next(iter(self.train_splits(model).values()))

    def train_splits(self, model: str) -> dict[str, SplitId]:
        """Return the training splits of a model, given its id, by their roles."""
        name, own_split = self._bare(model)
        if own_split:
            return {OWN: SplitId(*own_split.split(".")[:2])}
        return {role: self.bound_split(role) for role in self.entry(name, OnPairs).shares}

    def tuples_by_role(self, model: str) -> dict[str, str]:
        """Return the ids of the training tuples of a model, given its id, by their roles."""
        whole, split_ids = self.tuples_of(model), self.train_splits(model)
        if len(split_ids) == 1:
            return dict.fromkeys(split_ids, whole)
        return {
            role: str(FixedId(whole, ".".join(split_id))) for role, split_id in split_ids.items()
        }

    def tuples_ids(self) -> list[str]:
        """Return the ids of all training tuples: of models, and of each split of a mix."""
        mixes = [n for n, m in self.models.items() if isinstance(m, OnPairs) and m.mixed]
        bound = [n for n in mixes if all(map(self.binding, self.entry(n, OnPairs).shares))]
        return self.model_ids() + [id_ for n in bound for id_ in self.tuples_by_role(n).values()]

    def fold_of(self, model: str) -> str | None:
        """Return the fold that a training holds out, given the model's id; None for most."""
        _, _, fold = [*self._bare(model).by.split("."), "", ""][:3]
        return fold or None

    def folds(self, model: str) -> list[str]:
        """Return the folds for which a model is trained one by one, given its id; [] for most.

        They are the folds of its split with `train_on: own`: each fold is answered by a training
        on the others. A model that is not trained needs no folds.
        """
        bare = self._bare(model)
        if not bare.by or not self.entry(bare.name, OnPairs).trained:
            return []
        dataset, split = self.train_split(model)
        return self.datasets[dataset].splits[split].folds

    def trainings(self, model: str) -> list[str]:
        """Return the ids of the trainings of a model: its own id, or an id for each fold."""
        folds = [] if self.fold_of(model) else self.folds(model)
        return [f"{model}.{fold}" for fold in folds] or [model]

    def answering(self, model: str, split: str) -> dict[str, str]:
        """Return {training: split or fold}: the trainings that answer the queries of a split.

        Trainings for each fold answer the folded split and its folds. Raises ResiduumError for
        another split.
        """
        folds = self.folds(model)
        if not folds:
            return {model: split}
        dataset, whole = self.train_split(model)
        if split not in (whole, *folds):
            name = FixedId.parse(model).name
            text = f"{name} is trained for each fold of {dataset}/{whole} on the others"
            raise ResiduumError(f"{text}, and answers no query of another split: {split}")
        return {f"{model}.{fold}": fold for fold in folds if split in (whole, fold)}

    def learned_on(self, model: str) -> SplitId | None:
        """Return the split that tests whether a model learned, given its id, or None."""
        entry = self.model(model)
        if not (self.scale.learning and isinstance(entry, OnPairs) and entry.trained):
            return None
        if model in self.trials:
            return self.binding(self.trials[model].role)
        dataset, split = self.train_split(model)
        if self.folds(model):
            return SplitId(dataset, self.fold_of(model) or split)
        tune = self.datasets[dataset].own.tune
        return SplitId(dataset, tune) if tune and self.datasets[dataset].judged(tune) else None

    def _bare(self, model: str) -> FixedId:
        """Return the id of a model without what a trial tries."""
        return FixedId(FixedId.parse(model).name) if model in self.trials else FixedId.parse(model)

    def vectors_seed(self, model: str, seed: Seed | None) -> Seed | None:
        """Return the seed of a model's vectors in a run: of untrained ones, the entry's own."""
        entry = self.models[FixedId.parse(model).name]
        return entry.seed if isinstance(entry, LexicalVectors | Given) else seed

    def released(self, model: str) -> FromHub | FromPath:
        """Return where a released encoder is, given its id."""
        entry = self.entry(model, ReleasedEncoder)
        if entry.path:
            return FromPath(path=entry.path)
        return FromHub(hub=str(entry.hub), revision=str(entry.revision), pickled=entry.pickled)

    def vector_files(self, model: str, split_id: SplitId) -> list[VectorFile] | None:
        """Return the files of the vectors of a split's queries; None if the entry names none.

        `model` is an id of released vectors.
        """
        entry = self.entry(model, ReleasedVectors)
        roles = (role for role in entry.queries if self.binding(role) == split_id)
        return next(map(entry.of_queries, roles), None)

    def fixed_by(self, model: str) -> str | None:
        """Return the model whose fixed vectors a training reads, or None."""
        fixed = getattr(self.models[FixedId.parse(model).name], "fixed", None)
        return fixed and str(fixed.model)

    def gate_of(self, model: str) -> str | None:
        """Return the model whose checkpoint is a model's fixed gate, or None."""
        return self._gates[FixedId.parse(model).name]

    @cached_property
    def _gates(self) -> dict[str, str | None]:
        return {name: named_for(entry, "gate") for name, entry in self.models.items()}

    @cached_property
    def _named(self) -> dict[str, list[tuple[Ref, str]]]:
        to = ("system", "model", "role")
        return {name: list(references(entry, *to)) for name, entry in self.systems.items()}

    def mined_models(self, name: str) -> list[str]:
        """Return the models whose hits a model's negatives are drawn from."""
        systems = [system for _, system in references(self.negatives(name), "system")]
        return [model for system in systems for model in self.trained_behind(system)]

    def tune_split(self, system: str, split_id: SplitId) -> SplitId | None:
        """Return the split on which a system is tuned for a split, or None without tuning.

        Where drawn folds of the searched split choose, it is the searched split.
        """
        setting = self.on_queries(system)
        if setting and setting.drawn:
            return split_id
        role = self.tuned_on(system)
        if role == OWN:
            return self.own_split(split_id.dataset, "tune", split_id.split)
        return self.bound_split(role) if role else None

    def snapshots_behind(self, system: str) -> int | None:
        """Return the number of snapshots that all trainings behind a system keep.

        None if a training keeps no snapshots, or trainings keep different numbers. None also for
        rerankers and term weights, which use finished models only.
        """
        if any(self.systems[name].kind == "rerank" for name in self.made_from(system)):
            return None
        models = [self.models.get(name) for name in self.trained_behind(system)]
        counts = {m.training.snapshots if isinstance(m, DualEncoder) else None for m in models}
        return counts.pop() if len(counts) == 1 else None

    def reranker(self, system: str) -> str:
        """Return the id of a rerank system's reranker: its role, or an id of the model it names."""
        reranker = self.entry(system, RerankSystem).reranker
        if isinstance(reranker, str):
            return reranker
        if isinstance(reranker, FromModel):
            released = isinstance(self.models[reranker.model], ReleasedEncoder)
            return str(FixedId(reranker.model, f"seed{0 if released else reranker.seed}"))
        digest = hashlib.sha256(of_entry(reranker).encode()).hexdigest()
        return str(FixedId(reranker.named, digest[:8]))

    def reranker_binding(self, name: str) -> Reranker | None:
        """Return the model bound to a reranker's id, or None if the scale leaves it unbound."""
        systems = {n: s for n, s in self.systems.items() if isinstance(s, RerankSystem)}
        named = {self.reranker(n): system.reranker for n, system in systems.items()}.get(name, name)
        bound = self.scale.rerankers.get(name) if isinstance(named, str) else named
        if isinstance(bound, FromModel) and isinstance(
            self.models.get(bound.model), ReleasedEncoder
        ):
            return ReleasedReranker(bound.model)
        return bound

    def players(self, page: Page) -> dict[str, str]:
        """Return the system of each part of a page: the named system, or the scale's substitute."""
        return {part: self.scale.systems.get(name, name) for part, name in page.systems().items()}

    def parts(self, system: str) -> list[str]:
        """Return the systems whose runs a system is made from."""
        return [name for ref, name in self._named.get(system, []) if ref.to == "system"]

    def trained_for(self, system: str) -> str | None:
        """Return the model, trained once per seed, that a system itself names; or None."""
        models = [(ref, name) for ref, name in self._named.get(system, []) if ref.to == "model"]
        made = (name for ref, name in models if ref.use != "released")
        untrained = ReleasedWeights | Given | LexicalVectors
        return next((n for n in made if not isinstance(self.models.get(n), untrained)), None)

    def tuned_on(self, system: str) -> str | None:
        """Return the role of a system's tuning split, or None if nothing is tuned."""
        return next((name for ref, name in self._named[system] if ref.use == "tuning"), None)

    def on_queries(self, system: str) -> Interpolation | TunedParameter | Depth | None:
        """Return what a system chooses on queries: a weight, a function's parameter, a depth."""
        return on_queries(self.systems[system])

    def trained_behind(self, system: str) -> list[str]:
        """Return the models, trained once per seed, of a system and of all its parts."""
        return [model for name in self.made_from(system) if (model := self.trained_for(name))]

    def given_behind(self, system: str) -> list[str]:
        """Return what makes vectors and is not trained here, of a system and of all its parts."""
        dense = [s for n in self.made_from(system) if isinstance(s := self.systems[n], DenseSystem)]
        named = dict.fromkeys(system.model for system in dense)
        return [name for name in named if isinstance(self.models.get(name), Given)]

    def made_from(self, system: str) -> list[str]:
        """Return a system and all systems that it is made from, itself first."""
        systems = [system]
        for name in systems:
            systems += [part for part in self.parts(name) if part not in systems]
        return systems

    def seeds_of(self, system: str) -> list[int]:
        """Return the seeds of a system's runs: the seeds that all models behind it share.

        A model's entry or a budget can set its seeds. `seeds` in the configuration, as on the
        command line, overrides them. External runs keep the seeds that their files are of.
        """
        models = [getattr(self.models.get(n), "seeds", None) for n in self.trained_behind(system)]
        trained = [self.config.seeds or seeds or self.scale.seeds for seeds in models]
        given = self.external_behind(system).values()
        first, *others = [*trained, *given] or [self.config.seeds or self.scale.seeds]
        return [seed for seed in first if all(seed in seeds for seeds in others)]

    def external_behind(self, system: str) -> dict[str, list[int]]:
        """Return the external systems whose files are of seeds, of a system and all its parts."""
        entries = {name: self.systems.get(name) for name in self.made_from(system)}
        external = {n: e.seeds for n, e in entries.items() if isinstance(e, ExternalSystem)}
        return {name: seeds for name, seeds in external.items() if seeds}

    def seeded(self, system: str) -> bool:
        """Say whether a system has a run per seed: of trained models, or of files by seeds."""
        return bool(self.trained_behind(system) or self.external_behind(system))

    def run(self, system: str, seed: Seed | None) -> str:
        """Return the run id of a system for a seed. Unseeded systems ignore the seed."""
        return str(RunId(system, seed if self.seeded(system) else None))

    def runs(self, system: str) -> list[str]:
        """Return the run ids of a system: a run per seed if it has seeds."""
        return list(dict.fromkeys(self.run(system, seed) for seed in self.seeds_of(system)))

    def chosen(self, *kinds: str) -> list[str]:
        """Return the ids of the chosen papers' pages of these kinds; without kinds, all pages."""
        pages = (page for page in self.pages if parts_of(page)[0] in self.config.papers)
        return [page for page in pages if not kinds or self.pages[page].kind in kinds]

    def beside(self, page: Page) -> tuple[str, dict[str, Page]]:
        """Return the paper of a page, and all pages of this paper by their short names."""
        paper = next(parts_of(name)[0] for name, entry in self.pages.items() if entry is page)
        named = {parts_of(name): entry for name, entry in self.pages.items()}
        return paper, {name: entry for (other, name), entry in named.items() if other == paper}

    def lacks(self, split_id: SplitId, measure: str) -> str | None:
        """Return what a split lacks for a measure: answers or public judgements; or None."""
        dataset = self.datasets[split_id.dataset]
        if measures.reads(measure) == "answers":
            return None if dataset.source_of(split_id.split).answered else "answers"
        return None if dataset.judged(split_id.split) else "public judgements"

    def measures(self, split_id: SplitId) -> list[str]:
        """Return the measures to evaluate on a split: those it names, and those on pages."""
        named = self.datasets[split_id.dataset].splits[split_id.split].measures
        return sorted({*named, *self._printed.get(split_id, [])})

    @cached_property
    def _printed(self) -> dict[SplitId, list[str]]:
        """The measures of runs on pages, by split. It is cached: a graph asks at every job."""
        printed: dict[SplitId, list[str]] = {}
        shown = (named for page in self.pages.values() for named in self._measured(page))
        for role, measure in shown:
            if split_id := self.binding(role):
                printed.setdefault(split_id, []).append(measure)
        return printed

    def _measured(self, page: Page) -> Iterator[tuple[str, str]]:
        """Yield role and measure of the runs that a page shows, and of its groupings."""
        yield from page.measured()
        for grouping, role in page.grouped_by():
            if isinstance(halves := self.groupings.get(grouping), Halves):
                yield role, halves.measure


def on_queries(entry: System) -> Interpolation | TunedParameter | Depth | None:
    """Return what a system chooses on queries: a weight, a function's parameter, a depth."""
    if isinstance(entry, RerankSystem):
        return entry.depth
    if isinstance(entry, FusionSystem | HybridSystem):
        return entry.interpolation
    return entry.tuned if isinstance(entry, FunctionSystem) else None

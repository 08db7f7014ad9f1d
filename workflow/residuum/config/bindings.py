"""All entries of config/, and what the chosen scale binds: splits to roles, models to backbones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from residuum.cli.errors import ResiduumError, unknown
from residuum.config.entries import Folder
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.fidelities import Fidelity
from residuum.config.schema.groupings import Grouping
from residuum.config.schema.models import DualEncoder, Model
from residuum.config.schema.scales import (
    ByDataset,
    Config,
    FromHub,
    FromModel,
    FromPath,
    Scale,
    Start,
)
from residuum.config.schema.sources import Segmented
from residuum.config.schema.sweeps import Sweep
from residuum.config.schema.systems import System
from residuum.config.schema.tests import Tests
from residuum.config.specs import FixedId
from residuum.config.unwritten import model_of
from residuum.pages.kinds import Page

Entry = TypeVar("Entry")


class SplitId(NamedTuple):
    """A split of a dataset."""

    dataset: str
    split: str


@dataclass(frozen=True, eq=False)
class Bindings:
    """Everything that config/ says, for the scale that config.yaml chose."""

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
    # what files say of the entries, by kind and id, with the spot of each key: for `origins.nodes`
    given: dict[str, dict[str, Mapping[str, object]]] = field(default_factory=dict)

    @property
    def scale(self) -> Scale:
        """The chosen scale."""
        return self.scales[self.config.scale]

    @property
    def entries(self) -> dict[str, Mapping[str, BaseModel]]:
        """The entries that take part in this scale, but pages, by what names them."""
        return {
            "scale": {self.config.scale: self.scale},
            "dataset": self.datasets,
            "model": self.models,
            "grouping": self.groupings,
            "fidelity": self.fidelities,
            "sweep": self.sweeps,
            "system": self.systems,
            "tests": self.tests,
        }

    def file(self, kind: str, name: str) -> str:
        """Return the file of an entry; with the scale's, if that pins a dataset's counts."""
        held, own = self._held(kind, name)
        return f"{held.file(own)}{self._pinned(kind, name)}"

    def at(self, kind: str, name: str, key: str = "") -> str:
        """Return file and line of a key of an entry, such as `parts.0`, as messages begin."""
        held, own = self._held(kind, name)
        return held.at(own, *filter(None, key.split("."))) + self._pinned(kind, name)

    def may_hold(self, kind: str, name: str) -> bool:
        """Say whether an entry is written, though it may have faults."""
        held, own = self._held(kind, name)
        models = [one for one in model_of(name) if one not in self.models]
        unwritten = kind == "system" and any(self.may_hold("model", one) for one in models)
        return unwritten or held.may_hold(own)

    def _held(self, kind: str, name: str) -> tuple[Folder, str]:
        """Return the folder that holds an entry, or its model if it is unwritten, and the id."""
        plural = f"{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{kind.rstrip('s')}s"
        path = self.folder / plural / name
        if path.parent not in self._folders:
            self._folders[path.parent] = Folder(path.parent)
        held = self._folders[path.parent]
        if kind == "system" and name not in held and name in self.systems:
            return self._held("model", str(getattr(self.systems[name], "model", "")))
        return held, path.name

    @cached_property
    def _folders(self) -> dict[Path, Folder]:
        return {}

    def _pinned(self, kind: str, name: str) -> str:
        pinned = kind == "dataset" and name in self.scale.editions
        return f" with editions of {self.scale_file}" if pinned else ""

    @property
    def scale_file(self) -> str:
        """The file of the scale."""
        return self.file("scale", self.config.scale)

    def binding(self, role: str) -> SplitId | None:
        """Return the split that plays a role at this scale, or None."""
        bound = self.scale.roles.get(role)
        return SplitId(*bound.split("/")) if bound else None

    def bound_split(self, role: str) -> SplitId:
        """Return the split that plays a role that this scale must bind."""
        if split_id := self.binding(role):
            return split_id
        raise ResiduumError(unknown("role", role, self.scale.roles, self.scale_file))

    def segmented_from(self, dataset: str) -> SplitId | None:
        """Return the split whose dataset's docs a dataset is cut from; None of another source."""
        source = self.datasets[dataset].source
        return self.bound_split(source.of) if isinstance(source, Segmented) else None

    def questions_of(self, split_id: SplitId) -> SplitId | None:
        """Return the split whose questions and answers a split takes; None where it has its own."""
        role = self.datasets[split_id.dataset].source_of(split_id.split).questions_of
        return self.bound_split(role) if role else None

    def vectors_each(self, dataset: str, model: str) -> int:
        """Return how many vectors a model, by its id, is expected to make of a doc.

        A dual encoder reads it in passages where the dataset says so, and makes some of each.
        """
        entry, windows = self.models[FixedId.parse(model).name], self.datasets[dataset].windows
        if not isinstance(entry, DualEncoder):
            return 1
        return (windows.expected if windows else 1) * entry.encoder.pooling.most("doc")

    def shards(self, dataset: str, model: str) -> int:
        """Return into how many shards a corpus is cut for a model, whichever edition it is.

        They hold as many vectors, and none is empty. A corpus of which nothing is pinned is one.
        """
        docs = [edition.docs for edition in self.datasets[dataset].editions] or [1]
        vectors = max(docs) * self.vectors_each(dataset, model)
        return min(-(-vectors // self.scale.shard_docs), *docs)

    def numbered(self, shards: int) -> range:
        """Return the numbers of those of so many shards that are jobs: all of them.

        In a plan for sizes that `config.docs` gives, the first is one that stands for all: a graph
        of Snakemake's does not hold so many.
        """
        return range(min(1, shards) if self.config.docs else shards)

    def backbone(self, role: str, dataset: str | None) -> Start | None:
        """Return what plays a backbone role for models of a dataset, or of none that is named.

        `--config encoder=` replaces hub models and paths.
        """
        bound = self._bound(role, dataset)
        if self.config.encoder is None or bound is None or isinstance(bound, FromModel):
            return bound
        if Path(self.config.encoder).is_dir():
            return FromPath(path=self.config.encoder)
        return FromHub(hub=self.config.encoder, revision="main")

    def generator(self, split_id: SplitId) -> Start | None:
        """Return what plays the generator of a split; None without one, or if nothing does."""
        synthetic = self.datasets[split_id.dataset].splits[split_id.split].synthetic
        return self._bound(synthetic.generator, split_id.dataset) if synthetic else None

    def _bound(self, role: str, dataset: str | None) -> Start | None:
        bound = self.scale.backbones.get(role)
        if isinstance(bound, ByDataset):
            return bound.datasets.get(dataset or "", bound.otherwise)
        return bound

    def entry(self, of: str, form: type[Entry]) -> Entry:
        """Return the model, the system or the page of an id, where the caller knows the class."""
        name = FixedId.parse(of).name
        for entry in (self.models.get(name), self.systems.get(name), self.pages.get(name)):
            if isinstance(entry, form):
                return entry
        raise TypeError(f"no {form.__name__} is named '{name}'")

    def own_split(self, dataset: str, use: Literal["train", "tune"]) -> SplitId:
        """Return the split of a dataset for what belongs to itself; none is an error."""
        entry = self.datasets[dataset]
        if split := entry.own.train if use == "train" else entry.own.tune:
            return SplitId(dataset, split)
        file, splits = self.file("dataset", dataset), ", ".join(entry.splits)
        text = f"own.{use}: no split given, but {use}_on: own needs one of {splits}"
        raise ResiduumError(f"{file}: {text}")

    def of_kind(self, kind: str) -> list[str]:
        """Return the ids of all systems, or of all models, of one kind."""
        every = [*self.systems.items(), *self.models.items()]
        return [name for name, entry in every if entry.kind == kind]

    @property
    def comparability(self) -> tuple[bool, str]:
        """Whether numbers compare with the papers' at this scale, and the reason."""
        if encoder := self.config.encoder:
            return False, f"encoder {encoder} takes the place of the scale's own."
        return self.scale.comparable, self.scale.reason

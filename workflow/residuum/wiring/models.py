"""What models are made from: texts, training pairs, negatives, and what a training starts from.

Usage: `Train(registry, paths, hub).tuples(wildcards)`. Must not know how anything is trained.
"""

from pathlib import Path
from shlex import quote

from residuum.core.errors import ResiduumError
from residuum.core.registry import Place, Registry
from residuum.core.schema.scales import FromHub, FromModel, FromPath
from residuum.wiring import specs
from residuum.wiring.lexical import Lexical
from residuum.wiring.part import Part, Wildcards
from residuum.wiring.paths import folder_of
from residuum.wiring.run_ids import RunId

Start = FromHub | FromPath | FromModel


def start_of(registry: Registry, model: str) -> Start:
    """Return what plays the backbone of a model; nothing at all is an error."""
    role = registry.models[model].backbone
    start = registry.backbone(role)
    if start is None:
        raise ResiduumError(f"{registry.scale_file}: backbones: nothing plays {role}")
    return start


def corpora_of(registry: Registry, model: str) -> list[str]:
    """Return the datasets whose texts a backbone is made from or adapted to."""
    return [registry.place(role).dataset for role in registry.models[model].corpora]


class Models(Part):
    """Models that a job starts from or scores with, as files and as arguments."""

    def files(self, model: Start) -> list[str]:
        """Return the files of a model that are on this machine or are made by the graph."""
        if isinstance(model, FromModel):
            return [self._made(model)]
        if isinstance(model, FromPath):
            return sorted(str(p) for p in Path(model.path).rglob("*") if p.is_file())
        return []

    def argument(self, model: Start) -> str:
        """Return how a command names a model: a folder, or a hub id with its revision."""
        if isinstance(model, FromModel):
            return folder_of(self._made(model))
        if isinstance(model, FromPath):
            return quote(model.path)
        return f"{model.hub} --revision {model.revision}"

    def _made(self, model: FromModel) -> str:
        """Return the manifest of a model that the graph makes once, for a released one."""
        if hasattr(self.registry.models[model.model], "corpora"):
            return self.paths.backbone.fill(backbone=model.model)
        return self.paths.checkpoint.fill(model=model.model, seed=model.seed)


class Pretrain(Models):
    """Inputs and options of the stage pretrain."""

    def corpora(self, wildcards: Wildcards) -> list[str]:
        """Return the corpora that a backbone is made from or adapted to."""
        datasets = corpora_of(self.registry, wildcards.backbone)
        return [self.paths.corpus.fill(dataset=dataset) for dataset in datasets]

    def start_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the model that is adapted."""
        return self.files(start_of(self.registry, wildcards.backbone))

    def start(self, wildcards: Wildcards) -> str:
        """Return the value of --start, and --revision for a hub model."""
        return self.argument(start_of(self.registry, wildcards.backbone))

    def model_spec(self, wildcards: Wildcards) -> str:
        """Return the spec of the backbone."""
        return specs.of_entry(self.registry.model(wildcards.backbone))


class OnSplit(Models):
    """What the stages negatives and train read of the split that a model is trained on."""

    def trained_on(self, wildcards: Wildcards) -> Place:
        """Return the split that a model is trained on."""
        return self.registry.place(self.registry.models[wildcards.model].train_on)

    def corpus(self, wildcards: Wildcards) -> str:
        """Return the corpus of that split."""
        return self.paths.corpus.fill(dataset=self.trained_on(wildcards).dataset)

    def queries(self, wildcards: Wildcards) -> str:
        """Return the queries of that split."""
        return self.fill(self.paths.queries, self.trained_on(wildcards))

    def qrels(self, wildcards: Wildcards) -> str:
        """Return the judgements of that split."""
        return self.fill(self.paths.qrels, self.trained_on(wildcards))


class Negatives(OnSplit):
    """Inputs and options of the stage negatives."""

    def mined_spec(self, wildcards: Wildcards) -> str:
        """Return how negatives are drawn, by which system, and what is positive."""
        model, place = self.registry.model(wildcards.model), self.trained_on(wildcards)
        system = getattr(model.negatives, "system", None)
        entry = self.registry.system(system) if system else None
        split = self.registry.datasets[place.dataset].splits[place.split]
        return specs.canonical_json(
            {
                "negatives": model.negatives.model_dump(mode="json"),
                "system": entry and entry.model_dump(mode="json", exclude=specs.FOR_READERS),
                "positive_level": split.positive_level,
            }
        )

    def index(self, wildcards: Wildcards) -> list[str]:
        """Return the index that negatives are mined from; none for in-batch negatives."""
        system = getattr(self.registry.model(wildcards.model).negatives, "system", None)
        lexical = Lexical(self.registry, self.paths, self.hub)
        dataset = self.trained_on(wildcards).dataset
        return [lexical.index_of(dataset, RunId(system))] if system else []

    def dense_run(self, wildcards: Wildcards) -> list[str]:
        """Return the run of the dense system that negatives are mined from too, if there is one."""
        dense = self.registry.mined_dense(wildcards.model)
        if dense is None:
            return []
        seed = self.registry.models[wildcards.model].negatives.dense_seed
        return [self.run(dense, seed, self.trained_on(wildcards))]


class Train(OnSplit):
    """Inputs and options of the stage train."""

    def tuples(self, wildcards: Wildcards) -> str:
        """Return the training tuples of a model, its own or those of the one that it names."""
        return self.paths.tuples.fill(model=self.registry.tuples_of(wildcards.model))

    def start_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the backbone that a training starts from."""
        return self.files(start_of(self.registry, wildcards.model))

    def start(self, wildcards: Wildcards) -> str:
        """Return the value of --start, and --revision for a hub model."""
        return self.argument(start_of(self.registry, wildcards.model))

    def model_spec(self, wildcards: Wildcards) -> str:
        """Return the spec of the model."""
        return specs.of_entry(self.registry.model(wildcards.model))

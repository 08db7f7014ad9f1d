"""What models are made from: texts, training pairs, negatives, and what a training starts from.

Usage: `Models(registry, paths, hub).tuples(wildcards)`. Must not know how anything is trained.
"""

from collections.abc import Callable

from residuum.cli.errors import ResiduumError
from residuum.config import specs
from residuum.config.registry import Place, Registry, Start
from residuum.config.schema.base import references
from residuum.config.schema.models import OnPairs
from residuum.config.specs import RunId
from residuum.wiring.part import Part, Wildcards
from residuum.wiring.paths import Template


def start_of(registry: Registry, model: str) -> Start:
    """Return what plays the backbone of a model; nothing at all is an error."""
    [(_, role)] = references(registry.model_entry(model), "backbone")
    if start := registry.backbone(role):
        return start
    raise ResiduumError(f"{registry.scale_file}: backbones: nothing plays {role}")


def corpora_of(registry: Registry, model: str) -> list[str]:
    """Return the datasets whose texts or pairs a model is made from, adapted to or trained on."""
    entry = registry.model_entry(model)
    if isinstance(entry, OnPairs):
        return [registry.train_place(model).dataset]
    return [registry.place(role).dataset for _, role in references(entry, "role")]


class Models(Part):
    """Inputs and options of the stages pretrain, negatives and train."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a model."""
        return specs.of_entry(self.registry.model_entry(wildcards.model))

    def start_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the backbone that a training starts from."""
        return self.model_files(*self._start(wildcards))

    def start(self, wildcards: Wildcards) -> str:
        """Return the value of --start, and --revision for a hub model."""
        return self.model_argument(*self._start(wildcards))

    def _start(self, wildcards: Wildcards) -> tuple[Start, str]:
        """Return what a training starts from, and the collection that it would belong to."""
        model = wildcards.model
        return start_of(self.registry, model), corpora_of(self.registry, model)[0]

    def corpora(self, wildcards: Wildcards) -> list[str]:
        """Return the corpora that a backbone is made from or adapted to."""
        datasets = corpora_of(self.registry, wildcards.model)
        return [self.paths.corpus.fill(dataset=dataset) for dataset in datasets]

    def trained_on(self, template: Template) -> Callable[[Wildcards], str]:
        """Return an input function: a file of the split that a model is trained on."""
        return lambda wildcards: self.fill(template, self._pairs(wildcards))

    def _pairs(self, wildcards: Wildcards) -> Place:
        return self.registry.train_place(wildcards.model)

    def tuples(self, wildcards: Wildcards) -> str:
        """Return the training tuples of a model, its own or those of the one that it names."""
        return self.paths.tuples.fill(model=self.registry.tuples_of(wildcards.model))

    def mined_spec(self, wildcards: Wildcards) -> str:
        """Return how negatives are drawn, by which system, and what is positive."""
        model = self.registry.model(wildcards.model, OnPairs)
        place, name = self._pairs(wildcards), model.negatives.scores
        system = name and self.registry.systems[name]
        split = self.registry.datasets[place.dataset].splits[place.split]
        return specs.canonical_json(
            {
                "negatives": model.negatives.model_dump(mode="json"),
                "system": system and system.model_dump(mode="json", exclude=specs.FOR_READERS),
                "positive_level": split.positive_level,
            }
        )

    def mined_index(self, wildcards: Wildcards) -> list[str]:
        """Return the index that negatives are mined from; none for a model without pools."""
        system = self.registry.model(wildcards.model, OnPairs).negatives.scores
        return [self.index(self._pairs(wildcards).dataset, RunId(system))] if system else []

    def mined_runs(self, wildcards: Wildcards) -> list[str]:
        """Return the runs of the other systems that negatives are mined from."""
        place, sources = self._pairs(wildcards), self.registry.negatives(wildcards.model).runs
        return [self.run(source.system, source.seed, place) for source in sources]

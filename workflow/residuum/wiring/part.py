"""What the parts of the wiring share: registry, paths, hub, and what the wildcards of a job name.

A method takes the wildcards of a rule and returns its inputs or options. None takes a rule's
inputs: Snakemake sees a changed parameter only where it follows from wildcards alone, so what is
made of inputs is in `residuum.wiring.options`, which knows no registry. Must not know rules.
"""

from typing import Protocol

from residuum.config.registry import Place, Registry
from residuum.config.schema.systems import LexicalSystem
from residuum.config.specs import FixedId, RunId
from residuum.wiring.availability import Hub
from residuum.wiring.paths import Paths, Template


class Wildcards(Protocol):
    """The wildcards of all rules; those of a job have the ones that its paths name."""

    dataset: str
    split: str
    run: str
    other: str
    index: str
    model: str
    backbone: str
    seed: str
    shard: str
    reranker: str
    k: str
    page: str


def place_of(wildcards: Wildcards) -> Place:
    """Return the split that a job is about."""
    return Place(wildcards.dataset, wildcards.split)


def run_of(wildcards: Wildcards) -> RunId:
    """Return the run that a job makes or reads."""
    return RunId.parse(wildcards.run)


class Part:
    """What the parts decide from: the entries of a scale, where files lie, what the hub has."""

    def __init__(self, registry: Registry, paths: Paths, hub: Hub) -> None:
        self.registry, self.paths, self.hub = registry, paths, hub

    def fill(self, template: Template, place: Place, **wildcards: object) -> str:
        """Fill in a template for a split, or for its corpus."""
        return template.fill(dataset=place.dataset, split=place.split, **wildcards)

    def run(self, system: str, seed: int | None, place: Place) -> str:
        """Return the run of a system for a seed, which unseeded systems ignore."""
        return self.fill(self.paths.run, place, run=self.registry.run(system, seed))

    def index(self, dataset: str, run: RunId) -> str:
        """Return the manifest of the index of a corpus that a lexical run searches."""
        system = self.registry.system(run.system, LexicalSystem)
        weights = str(RunId(system.term_weights, run.seed)) if system.term_weights else ""
        index = FixedId(system.index().index_id(), weights)
        return self.paths.index.fill(dataset=dataset, index=index)

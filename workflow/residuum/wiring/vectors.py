"""Embeddings and dense runs: shards, the queries that a model searches, what a dense run reads.

Usage: `Vectors(registry, paths, hub).queries(wildcards)`. Must not know models beyond their names.
"""

from collections.abc import Callable
from shlex import quote

from residuum.core.registry import Registry
from residuum.core.schema.systems import DenseSystem
from residuum.wiring import specs
from residuum.wiring.availability import why_no_export
from residuum.wiring.part import Part, Wildcards, run_of
from residuum.wiring.paths import Template
from residuum.wiring.splits import mined, searched


def encoded_splits(registry: Registry, dataset: str, model: str, seed: int) -> list[str]:
    """Return the splits of a dataset whose queries a model searches: for runs, and negatives."""
    splits = [s for s in searched(registry, dataset) if not why_no_export(registry, dataset, s)]
    return splits + mined(registry, dataset, model, seed)


class Vectors(Part):
    """Inputs and options of the stages encode and dense."""

    def queries(self, wildcards: Wildcards) -> list[str]:
        """Return the queries that a model searches a dataset for."""
        dataset, seed = wildcards.dataset, int(wildcards.seed)
        splits = encoded_splits(self.registry, dataset, wildcards.model, seed)
        return [self.paths.queries.fill(dataset=dataset, split=split) for split in splits]

    def shard(self, wildcards: Wildcards) -> str:
        """Return the options that name a shard of a corpus."""
        return f"--shard {int(wildcards.shard)} --of {self.registry.shards(wildcards.dataset)}"

    def windows(self, wildcards: Wildcards) -> str:
        """Return the option that has a dataset's docs read in passages, if it says so."""
        windows = self.registry.datasets[wildcards.dataset].windows
        return f"--windows {quote(specs.of_entry(windows))}" if windows else ""

    def shards(self, template: Template) -> Callable[[Wildcards], list[str]]:
        """Return an input function: what the model of a dense run made, each shard of it once."""
        return lambda wildcards: self._shards(template, wildcards)

    def _shards(self, template: Template, wildcards: Wildcards) -> list[str]:
        system, seed = run_of(wildcards)
        made = {"model": self.registry.trained_for(system), "seed": seed}
        made |= {"dataset": wildcards.dataset, "k": self.registry.system(system, DenseSystem).k}
        shards = range(self.registry.shards(wildcards.dataset))
        return list(dict.fromkeys(template.fill(shard=f"{n:05d}", **made) for n in shards))

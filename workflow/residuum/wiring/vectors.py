"""Embeddings and dense runs: shards, the queries that a model searches, what a dense system reads.

Usage: `Encode(registry, paths, hub).queries(wildcards)`. Must not know models beyond their names.
"""

from residuum.core.registry import Registry
from residuum.wiring.availability import why_no_export
from residuum.wiring.part import Part, Wildcards, run_of
from residuum.wiring.paths import Template
from residuum.wiring.splits import mined, searched


def encoded_splits(registry: Registry, dataset: str, model: str, seed: int) -> list[str]:
    """Return the splits of a dataset whose queries a model searches: for runs, and negatives."""
    splits = [s for s in searched(registry, dataset) if not why_no_export(registry, dataset, s)]
    return splits + mined(registry, dataset, model, seed)


class Encode(Part):
    """Inputs and options of the stage encode."""

    def queries(self, wildcards: Wildcards) -> list[str]:
        """Return the queries that a model searches a dataset for."""
        dataset, seed = wildcards.dataset, int(wildcards.seed)
        splits = encoded_splits(self.registry, dataset, wildcards.model, seed)
        return [self.paths.queries.fill(dataset=dataset, split=split) for split in splits]

    def shard(self, wildcards: Wildcards) -> str:
        """Return the options that name a shard of a corpus."""
        return f"--shard {int(wildcards.shard)} --of {self.registry.shards(wildcards.dataset)}"


class Dense(Part):
    """Inputs and options of the stage dense."""

    def _shards(self, template: Template, wildcards: Wildcards) -> list[str]:
        """Return what the model of a dense run made, each shard of it once."""
        system, seed = run_of(wildcards)
        made = {"model": self.registry.trained_for(system), "seed": seed}
        made |= {"dataset": wildcards.dataset, "k": self.registry.system(system).k}
        shards = range(self.registry.shards(wildcards.dataset))
        return list(dict.fromkeys(template.fill(shard=f"{n:05d}", **made) for n in shards))

    def hits(self, wildcards: Wildcards) -> list[str]:
        """Return the hits of all shards."""
        return self._shards(self.paths.hits, wildcards)

    def embeddings(self, wildcards: Wildcards) -> list[str]:
        """Return the embeddings of all shards."""
        return self._shards(self.paths.embeddings, wildcards)

    def query_embeddings(self, wildcards: Wildcards) -> list[str]:
        """Return the embeddings of the queries."""
        return self._shards(self.paths.query_embeddings, wildcards)

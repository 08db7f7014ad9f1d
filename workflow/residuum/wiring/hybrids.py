"""What an exact hybrid search reads: the vectors of all its parts.

Usage: `Hybrids(registry, paths, hub).embeddings(wildcards)`. Must not know how they are searched.
"""

from collections.abc import Iterator

from residuum.config.schema.systems import DenseSystem, HybridSystem
from residuum.wiring.corpora import shards_of
from residuum.wiring.part import Part, Wildcards, run_of
from residuum.wiring.paths import Template, folder_of


class Hybrids(Part):
    """Inputs and options of the stage hybrid."""

    def _of_parts(self, wildcards: Wildcards, template: Template) -> Iterator[tuple[str, str]]:
        """Yield each part of a run with a file of each shard of its vectors, or of its queries."""
        (system, seed), dataset = run_of(wildcards), wildcards.dataset
        for part in self.registry.entry(system, HybridSystem).parts:
            named = self.registry.entry(part, DenseSystem).model
            model = self.registry.model_for(named, dataset)
            for path in shards_of(self.registry, template, dataset, model, seed):
                yield part, path

    def embeddings(self, wildcards: Wildcards) -> list[str]:
        """Return the vectors of docs, by part and shard."""
        return [path for _, path in self._of_parts(wildcards, self.paths.embeddings)]

    def embeddings_options(self, wildcards: Wildcards) -> str:
        """Return the options that name them."""
        named = self._of_parts(wildcards, self.paths.embeddings)
        return " ".join(f"--embeddings {part}={folder_of(path)}" for part, path in named)

    def first_passages(self, wildcards: Wildcards) -> str:
        """Return the options that name the parts whose docs count by their first passages."""
        parts = self.registry.entry(run_of(wildcards).system, HybridSystem).parts
        first = [part for part in parts if self.registry.entry(part, DenseSystem).first]
        return " ".join(f"--first-passages {part}" for part in first)

    def queries(self, wildcards: Wildcards) -> list[str]:
        """Return the vectors of queries, by part."""
        return [path for _, path in self._of_parts(wildcards, self.paths.query_embeddings)]

    def queries_options(self, wildcards: Wildcards) -> str:
        """Return the options that name those of a split."""
        named, split = self._of_parts(wildcards, self.paths.query_embeddings), wildcards.split
        return " ".join(f"--queries {part}={folder_of(path)}/{split}" for part, path in named)

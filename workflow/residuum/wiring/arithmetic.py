"""The manifests that say with which arithmetic the neural parts of a table's rows were computed.

Usage: `Arithmetic(registry, paths, hub).of_table(wildcards)`. Must not know what they say.
"""

from collections.abc import Iterator
from itertools import product

from residuum.config.bindings import Place
from residuum.config.schema.systems import RerankSystem
from residuum.pages.table.bind import bind_table
from residuum.wiring.part import Part, Wildcards


class Arithmetic(Part):
    """Manifests of models, of embeddings of queries and of scored pairs."""

    def of_table(self, wildcards: Wildcards) -> list[str]:
        """Return those behind the cells that are measured, each once."""
        table = bind_table(self.registry, wildcards.page, self.hub)
        players = self.registry.players(table.entry)
        cells = {(players[row.part(column.id)], column.role): None for row, column in table.cells()}
        return list(
            dict.fromkeys(
                path
                for system, role in cells
                for path in self._behind(system, self.registry.place(role))
            )
        )

    def _behind(self, system: str, place: Place) -> Iterator[str]:
        registry, paths = self.registry, self.paths
        for name in registry.trained_behind(system):
            trainings = registry.trainings(registry.model_for(name, place.dataset))
            for model, seed in product(trainings, registry.seeds_of(system)):
                yield paths.checkpoint.fill(model=model, seed=seed)
                if name in registry.of_kind("dual-encoder"):
                    of = {"dataset": place.dataset, "model": model, "seed": seed}
                    yield paths.query_embeddings.fill(**of)
        if isinstance(registry.systems[system], RerankSystem):
            yield self.fill(paths.pairs.manifest, place, reranker=registry.reranker(system))

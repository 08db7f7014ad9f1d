"""Docs of candidates, encoded without the rest of a corpus where they are few of it.

Usage: `Listed(registry, paths, hub).scoring(wildcards)`. A column `over` candidates then waits for
these alone. Must not know how docs are encoded or scored.
"""

from residuum.config.bindings import Place
from residuum.config.registry import Registry
from residuum.config.schema.models import DualEncoder
from residuum.config.schema.systems import CandidatesSystem, DenseSystem
from residuum.config.specs import RunId
from residuum.wiring import sizes
from residuum.wiring.corpora import Corpora
from residuum.wiring.part import Wildcards, place_of, run_of

FEW = 0.1  # share of a corpus; above it, a second set of vectors costs more than it spares


def shards_alone(registry: Registry, place: Place, model: str, other: str) -> int:
    """Return in how many shards a model encodes the candidates of a split by themselves; or 0.

    0 is that of docs which are no candidates, or not few: the whole corpus is encoded. Where they
    are is told by pinned counts, so that it is the same before and after anything is made.
    """
    of_candidates = isinstance(registry.systems[RunId.parse(other).system], CandidatesSystem)
    if not (of_candidates and isinstance(registry.model(model), DualEncoder)):
        return 0
    listed = sizes.listed(registry, place, other)
    if listed > FEW * sizes.docs(registry, place.dataset):
        return 0
    vectors = listed * registry.vectors_each(place.dataset, model)
    return min(-(-vectors // registry.scale.shard_docs), listed)


class Listed(Corpora):
    """Inputs and options of jobs that encode candidates, or score with their vectors."""

    def scoring(self, wildcards: Wildcards) -> list[str]:
        """Return the vectors of docs by which a dense run scores those of another system."""
        system, place = run_of(wildcards).system, place_of(wildcards)
        named = self.registry.entry(system, DenseSystem).model
        model = self.registry.model_for(named, place.dataset)
        count = shards_alone(self.registry, place, model, wildcards.other)
        if not count:
            return self.shards(self.paths.embeddings)(wildcards)
        seed = self.registry.vectors_seed(model, run_of(wildcards).seed)
        return [
            self.fill(
                self.paths.listed_embeddings,
                place,
                **{"other": wildcards.other, "model": name, "seed": seed, "shard": f"{n:05d}"},
            )
            for name in self._answering(wildcards)
            for n in self.registry.numbered(count)
        ]

    def lists(self, wildcards: Wildcards) -> str:
        """Return the run of the candidates that are encoded."""
        return self.fill(self.paths.run, place_of(wildcards), run=wildcards.other)

    def shard(self, wildcards: Wildcards) -> str:
        """Return the options that name a shard of them."""
        place = place_of(wildcards)
        of = shards_alone(self.registry, place, wildcards.model, wildcards.other)
        return f"--shard {int(wildcards.shard)} --of {of}"

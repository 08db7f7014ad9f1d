"""Lucene: which index a system searches, of what it is made, and by what an RM3 sweep chooses.

Usage: `Lexical(registry, paths, hub).index(wildcards)`. Must not know BM25 or Anserini.
"""

from residuum.core.errors import ResiduumError
from residuum.wiring import specs
from residuum.wiring.part import Part, Wildcards, place_of, run_of
from residuum.wiring.run_ids import IndexId, RunId
from residuum.wiring.splits import swept_measure


class Lexical(Part):
    """Inputs and options of the stage lexical."""

    def index_of(self, dataset: str, run: RunId) -> str:
        """Return the manifest of the index of a corpus that a lexical run searches."""
        system = self.registry.systems[run.system]
        weights = RunId(system.weights, run.seed) if system.weights else None
        index = IndexId(system.index().index_id(), weights)
        return self.paths.index.fill(dataset=dataset, index=index)

    def index(self, wildcards: Wildcards) -> str:
        """Return the index behind a lexical run."""
        return self.index_of(wildcards.dataset, run_of(wildcards))

    def form(self, wildcards: Wildcards) -> str:
        """Return the form of the index that an index id names, as JSON."""
        systems = map(self.registry.systems.__getitem__, self.registry.of_kind("lexical"))
        wanted = IndexId.parse(wildcards.index).form
        return specs.of_entry(next(s.index() for s in systems if s.index().index_id() == wanted))

    def weights(self, wildcards: Wildcards) -> list[str]:
        """Return the term weights that an index is made of; none for one of texts."""
        weights = IndexId.parse(wildcards.index).weights
        if weights is None:
            return []
        model, seed = weights
        return [self.paths.term_weights.fill(dataset=wildcards.dataset, model=model, seed=seed)]

    def measure(self, wildcards: Wildcards) -> str:
        """Return the measure by which an RM3 sweep chooses on a split."""
        system, place = run_of(wildcards).system, place_of(wildcards)
        measure = swept_measure(self.registry, system, place)
        if measure is None:
            raise ResiduumError(
                f"{system}: rm3_sweep.measures names no role that {'/'.join(place)} plays at this "
                "scale; add one there"
            )
        return measure

"""Lucene: which index a system searches, of what it is made, and by what an RM3 sweep chooses.

Usage: `Lexical(registry, paths, hub).searched(wildcards)`. Must not know BM25 or Anserini.
"""

from residuum.core.errors import ResiduumError
from residuum.core.schema.systems import LexicalSystem
from residuum.wiring import specs
from residuum.wiring.part import Part, Wildcards, place_of, run_of
from residuum.wiring.run_ids import FixedId, RunId
from residuum.wiring.splits import swept_measure


class Lexical(Part):
    """Inputs and options of the stage lexical."""

    def searched(self, wildcards: Wildcards) -> str:
        """Return the index behind a lexical run."""
        return self.index(wildcards.dataset, run_of(wildcards))

    def form(self, wildcards: Wildcards) -> str:
        """Return the form of the index that an index id names, as JSON."""
        names, form = self.registry.of_kind("lexical"), FixedId.parse(wildcards.index).name
        forms = (self.registry.system(name, LexicalSystem).index() for name in names)
        return specs.of_entry(next(index for index in forms if index.index_id() == form))

    def weights(self, wildcards: Wildcards) -> list[str]:
        """Return the term weights that an index is made of; none for one of texts."""
        model, seed = RunId.parse(FixedId.parse(wildcards.index).by)
        made = {"dataset": wildcards.dataset, "model": model, "seed": seed}
        return [self.paths.term_weights.fill(**made)] if model else []

    def measure(self, wildcards: Wildcards) -> str:
        """Return the measure by which an RM3 sweep chooses on a split."""
        system, place = run_of(wildcards).system, place_of(wildcards)
        if measure := swept_measure(self.registry, system, place):
            return measure
        raise ResiduumError(
            f"{system}: rm3_sweep.measures names no role that {'/'.join(place)} plays at this "
            "scale; add one there"
        )

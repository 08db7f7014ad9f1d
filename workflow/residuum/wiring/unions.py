"""What the parts of a fusion were searched for, where their lists are the best of all docs.

Usage: `Unions(registry, paths, hub).requested(wildcards)`. Must not know what follows from it.
"""

from residuum.config.schema.systems import DenseSystem, FusionSystem, LexicalSystem
from residuum.wiring.part import Part, Wildcards, run_of


class Unions(Part):
    """Options of the stage fusion."""

    def requested(self, wildcards: Wildcards) -> str:
        """Return the options that give the hits requested of each part; none unless of all.

        Of a part that gives true scores (none of RM3 does) they are the best of all docs, but for
        those of an approximate search.
        """
        system = self.registry.entry(run_of(wildcards).system, FusionSystem)
        counts = {part: self._exactly(system, part) for part in system.parts}
        if None in counts.values():
            return ""
        return " ".join(f"--requested {part}={k}" for part, k in counts.items())

    def _exactly(self, system: FusionSystem, part: str) -> int | None:
        """Return how many hits are requested of a part, None if they are not the best of all."""
        searched = self.registry.systems[part]
        if system.rule(part) != "true_score" or not isinstance(
            searched, LexicalSystem | DenseSystem
        ):
            return None
        approximate = isinstance(searched, DenseSystem) and searched.search
        return None if approximate else searched.k

"""What a sweep over the efforts of an approximate search is made from, and what it measures.

Usage: `Sweeps(registry, paths, hub).measures(wildcards)`. Must not know how vectors are searched.
"""

from residuum.config import specs
from residuum.pages.figure.entry import Figure
from residuum.wiring.evaluations import measure_options
from residuum.wiring.part import Part, Wildcards, place_of


class Sweeps(Part):
    """Options of the stage sweep."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a sweep."""
        return specs.of_entry(self.registry.sweeps[wildcards.sweep])

    def measures(self, wildcards: Wildcards) -> str:
        """Return the options that name the measures which figures show of it on a split."""
        registry, place = self.registry, place_of(wildcards)
        figures = [registry.entry(name, Figure) for name in registry.chosen("figure")]
        own = [page for page in figures if page.sweep == wildcards.sweep]
        here = [page for page in own if registry.binding(page.role) == place]
        names = {panel.measure for page in here for panel in page.panels}
        return measure_options(sorted(filter(None, names)))

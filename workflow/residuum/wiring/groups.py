"""What groups of queries are made from.

Usage: `Groups(registry, paths, hub).metrics(wildcards)`. Must not know how queries are grouped.
"""

from residuum.config import specs
from residuum.config.bindings import Place
from residuum.config.schema.groupings import Folds, Halves
from residuum.wiring.part import Part, Wildcards, place_of


class Groups(Part):
    """Inputs and options of the stage groups."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a grouping."""
        return specs.of_entry(self.registry.groupings[wildcards.grouping])

    def folds(self, wildcards: Wildcards) -> list[str]:
        """Return the queries of the folds that a split names."""
        place = place_of(wildcards)
        assert isinstance(self.registry.groupings[wildcards.grouping], Folds), "the rule's kind"
        folds = self.registry.datasets[place.dataset].splits[place.split].folds
        return [self.fill(self.paths.queries, Place(place.dataset, fold)) for fold in folds]

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics of the runs, of all seeds, by which queries are parted."""
        grouping, place = self.registry.groupings[wildcards.grouping], place_of(wildcards)
        assert isinstance(grouping, Halves), "the rule's wildcard has no other kind"
        runs = self.registry.runs(grouping.system)
        return [self.fill(self.paths.metrics, place, run=run) for run in runs]

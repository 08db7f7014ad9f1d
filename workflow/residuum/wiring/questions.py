"""What splits are made of whose author is a generator.

Usage: `Questions(registry, paths, hub).spec(wildcards)`. Must not know how questions are written.
"""

import sys

from residuum.config import specs
from residuum.config.schema.questions import Synthetic
from residuum.config.schema.scales import Start
from residuum.wiring.availability import why_no_export
from residuum.wiring.part import Part, Wildcards, place_of


class Questions(Part):
    """Inputs and options of the stage questions."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return what is sampled; the name of the generator's role changes nothing."""
        form = self._synthetic(wildcards)
        return specs.canonical_json(form.model_dump(mode="json", exclude={"generator"}))

    def _synthetic(self, wildcards: Wildcards) -> Synthetic:
        form = self.registry.datasets[wildcards.dataset].splits[wildcards.split].synthetic
        assert form, "the rule's wildcards are those of such splits"
        return form

    def generator_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the generator that are local or are made by the graph."""
        return self.model_files(self._generator(wildcards), wildcards.dataset)

    def generator(self, wildcards: Wildcards) -> str:
        """Return the value of --model, and --revision for a hub model."""
        return self.model_argument(self._generator(wildcards), wildcards.dataset)

    def _generator(self, wildcards: Wildcards) -> Start:
        """Return what plays the generator; where nothing does, exit as `Exports.files` does."""
        if start := self.registry.generator(place_of(wildcards)):
            return start
        why = why_no_export(self.registry, wildcards.dataset, wildcards.split)
        sys.exit(f"error: dataset {wildcards.dataset}: {why}")

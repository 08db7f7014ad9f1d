"""Exports: the user's own files behind a corpus or a split, and what decides their content.

Usage: `Data(registry, paths, hub).split_files(wildcards)`. Must not know models or systems.
"""

import sys

from residuum.config import roots, specs
from residuum.wiring.availability import why_no_export
from residuum.wiring.part import Part, Wildcards


class Data(Part):
    """Inputs and options of the stage data."""

    def corpus_files(self, wildcards: Wildcards) -> list[str]:
        """Return the user's own files behind a corpus, so that editing them exports again."""
        return self._files(wildcards.dataset, None)

    def split_files(self, wildcards: Wildcards) -> list[str]:
        """Return the user's own files behind a split."""
        return self._files(wildcards.dataset, wildcards.split)

    def _files(self, dataset: str, split: str | None) -> list[str]:
        """Return the files; where one is absent, exit.

        The pages leave out what has none; if a target asks for it all the same, the run stops here.
        It exits, because Snakemake takes an exception for a rule that does not fit, and would go on
        with what was made of other files before.
        """
        root = roots.data()
        if why := why_no_export(self.registry, dataset, split):
            sys.exit(
                f"error: dataset {dataset}: {why}\nPaths start at {root.resolve()} (set "
                "RESIDUUM_DATA to change that)."
            )
        return [str(root / name) for name in self.registry.datasets[dataset].source_files(split)]

    def corpus_spec(self, wildcards: Wildcards) -> str:
        """Return what decides which corpus is written."""
        return specs.canonical_json(self.registry.datasets[wildcards.dataset].for_corpus())

    def split_spec(self, wildcards: Wildcards) -> str:
        """Return what decides which queries and qrels a split has."""
        dataset = self.registry.datasets[wildcards.dataset]
        return specs.canonical_json(dataset.for_split(wildcards.split))

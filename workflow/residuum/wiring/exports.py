"""What exports are made of: your files, other collections, the docs that judge a split.

Usage: `Exports(registry, paths, hub).files(wildcards)`. Must not know what is made of an export.
"""

import sys

from residuum.config import roots, specs
from residuum.config.schema.datasets import Dataset, local
from residuum.config.schema.sources import Containing, Segmented
from residuum.wiring.availability import why_no_export
from residuum.wiring.part import Part, Wildcards, place_of
from residuum.wiring.paths import folder_of


class Exports(Part):
    """Inputs and options of the stage data."""

    def files(self, wildcards: Wildcards) -> list[str]:
        """Return the user's own files behind a corpus or a split, so that edits export it again.

        The pages leave out what has none; if a target asks for it all the same, the run stops here.
        It exits, because Snakemake takes an exception for a rule that does not fit, and would go on
        with what was made of other files before.
        """
        name, split = wildcards.dataset, getattr(wildcards, "split", None)
        root = roots.data()
        if why := why_no_export(self.registry, name, split):
            where = f"Paths start at {root.resolve()} (set RESIDUUM_DATA to change that)."
            sys.exit(f"error: dataset {name}: {why}\n{where}")
        dataset = self.registry.datasets[name]
        return _as_they_lie(dataset, dataset.source_files(split))

    def spec(self, wildcards: Wildcards) -> str:
        """Return what decides which corpus is written, or which queries and qrels a split has."""
        dataset = self.registry.datasets[wildcards.dataset]
        split = getattr(wildcards, "split", None)
        return specs.canonical_json(dataset.for_split(split) if split else dataset.for_corpus())

    def segmented_from(self, wildcards: Wildcards) -> list[str]:
        """Return the corpus that a dataset is cut from, of another one; none of most."""
        place = self.registry.segmented_from(wildcards.dataset)
        return [self.paths.corpus.fill(dataset=place.dataset)] if place else []

    def tokenizer(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the model whose tokenizer segments a dataset, if one does."""
        return self.tokenizer_files(self._tokenizer_role(wildcards), wildcards.dataset)

    def tokenizer_option(self, wildcards: Wildcards) -> str:
        """Return the option that names that model."""
        return self.vocabulary_option(self._tokenizer_role(wildcards), wildcards.dataset)

    def _tokenizer_role(self, wildcards: Wildcards) -> str | None:
        source = self.registry.datasets[wildcards.dataset].source
        return source.tokenizer if isinstance(source, Segmented) else None

    def questions(self, wildcards: Wildcards) -> list[str]:
        """Return the queries and answers that a split takes of another dataset's; none of most."""
        place = self.registry.questions_of(place_of(wildcards))
        templates = (self.paths.queries, self.paths.answers)
        return [self.fill(template, place) for template in templates] if place else []

    def questions_option(self, wildcards: Wildcards) -> str:
        """Return the option that names their folder."""
        files = self.questions(wildcards)
        return f"--questions {folder_of(files[0])}" if files else ""

    def judged_by(self, wildcards: Wildcards) -> list[str]:
        """Return the corpus that judges a split: by its answers, or as it was made; or none."""
        dataset = self.registry.datasets[wildcards.dataset]
        by_answers = dataset.source_of(wildcards.split).relevant_by
        made = by_answers or isinstance(dataset.source, Containing)
        return [self.paths.corpus.fill(dataset=wildcards.dataset)] if made else []

    def docpairs_files(self, wildcards: Wildcards) -> list[str]:
        """Return the user's own file of a split's training triples, and what it is looked up in."""
        dataset = self.registry.datasets[wildcards.dataset]
        return _as_they_lie(dataset, local(dataset.behind_docpairs(wildcards.split)))

    def docpairs_spec(self, wildcards: Wildcards) -> str:
        """Return what decides which training triples a split has."""
        dataset = self.registry.datasets[wildcards.dataset]
        return specs.canonical_json(dataset.for_docpairs(wildcards.split))


def _as_they_lie(dataset: Dataset, names: list[str]) -> list[str]:
    """Return the paths of files and folders of yours, gzipped ones as they are called."""
    read = (roots.files_of(roots.data() / name, dataset.within(name)) for name in names)
    return [str(path) for paths in read for path in paths]

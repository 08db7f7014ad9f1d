"""What runs are measured by: judgements, or answers and texts; and which order of docs is.

Usage: `Evaluations(registry, paths, hub).ranked(wildcards)`. Must not know how runs are made.
"""

from collections.abc import Iterable

from residuum.config.bindings import Place
from residuum.config.measures import reads
from residuum.config.registry import Registry
from residuum.config.specs import OrderId
from residuum.wiring.part import Part, Wildcards, place_of
from residuum.wiring.paths import Template, folder_of

QUOTE = "'\\''"  # a quote within quotes, for the shell


def needs_answers(registry: Registry, place: Place) -> bool:
    """Say whether a measure of a split reads answers and texts in place of judgements."""
    return any(reads(name) == "answers" for name in registry.measures(place))


def measure_options(names: Iterable[str]) -> str:
    """Return the options that name some measures."""
    return " ".join(f"""--measure '{name.replace("'", QUOTE)}'""" for name in names)


def text_options(texts: list[str]) -> str:
    """Return the options that name answers and a corpus, if they are given."""
    return f"--answers {texts[0]} --corpus {folder_of(texts[1])}" if texts else ""


class Evaluations(Part):
    """Inputs and options of the stage evaluate."""

    def ranked(self, wildcards: Wildcards) -> str:
        """Return the file whose order is measured: a run, or its scores of candidates."""
        (run, over), place = OrderId.parse(wildcards.run), place_of(wildcards)
        template = self.paths.scores if over else self.paths.run
        return self.fill(template, place, run=run, other=over)

    def record(self, wildcards: Wildcards) -> str:
        """Return the manifest of that file."""
        return Template(self.ranked(wildcards)).manifest

    def measures(self, wildcards: Wildcards) -> str:
        """Return the options that name a split's measures."""
        return measure_options(self.registry.measures(place_of(wildcards)))

    def texts(self, wildcards: Wildcards) -> list[str]:
        """Return the answers and the corpus, if a measure of the split reads them."""
        place = place_of(wildcards)
        return self.answered_texts(place) if needs_answers(self.registry, place) else []

    def text_options(self, wildcards: Wildcards) -> str:
        """Return the options that name those."""
        return text_options(self.texts(wildcards))

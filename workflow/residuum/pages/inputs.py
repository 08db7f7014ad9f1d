"""Inputs and options that the rules of all kinds of pages share.

Usage: `WIRING.page.venn.learning` is an input function of a rule. A kind's own inputs are methods
of a class in its `bind` (`kinds.INPUTS`).
"""

from collections.abc import Iterable
from shlex import quote

from residuum.config.registry import Registry, SplitId
from residuum.config.specs import canonical_json
from residuum.pages import limits
from residuum.pages.jobs import Basis, Bound
from residuum.pages.kinds import BINDERS
from residuum.wiring.availability import Hub
from residuum.wiring.base import Part, Wildcards
from residuum.wiring.memo import memoised
from residuum.wiring.models import verdicts


def ref_of(split_id: SplitId | None) -> str | None:
    """Return a split as <dataset>/<split>; None if the scale binds no split to its role."""
    return "/".join(split_id) if split_id else None


def bound(registry: Registry, page: str, hub: Hub) -> Bound:
    """Return a page bound to this scale."""
    return BINDERS[registry.pages[page].kind](registry, page, hub)


@memoised
def page_spec(registry: Registry, page: str, hub: Hub) -> str:
    """Return the spec of a page, bound to this scale, as JSON for `--spec`."""
    return canonical_json(bound(registry, page, hub).model_dump(mode="json"))


def spec_options(registry: Registry, hub: Hub, option: str, pages: Iterable[str]) -> str:
    """Return `--OPTION SPEC` for each page."""
    specs = (page_spec(registry, page, hub) for page in pages)
    return " ".join(f"--{option} {quote(spec)}" for spec in specs)


class PageInputs(Part):
    """The base class of the inputs of a kind of page."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a page, bound to this scale."""
        return page_spec(self.registry, wildcards.page, self.hub)

    def learning(self, wildcards: Wildcards) -> list[str]:
        """Return the verdicts on whether the models behind a page learned."""
        return self.learning_of([bound(self.registry, wildcards.page, self.hub)])

    def learning_of(self, pages: Iterable[Bound]) -> list[str]:
        """Return the verdicts on whether the models behind bound pages learned, sorted."""
        return sorted({self.paths.learning.fill(**made) for made in verdicts(pages)})

    def limits_of(self, bases: Iterable[Basis]) -> list[str]:
        """Return the metrics of dense parts, and the bounds of measures, that bases need."""
        metrics, bounds = limits.below(bases)
        return self.metrics_at(metrics) + [f"{self.paths.bounds_root}/{name}" for name in bounds]

    def metrics_at(self, names: Iterable[str]) -> list[str]:
        """Return the paths of metrics files that a bound page names below their folder."""
        return [f"{self.paths.metrics_root}/{name}" for name in names]

"""What reads all pages of the chosen papers, why a page cannot be made, and the gaps on pages.

Usage: `Pages(registry, paths, hub).judged_specs(wildcards)`; `gaps(registry, hub)`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from residuum.config.registry import Registry
from residuum.pages.entries import parts_of
from residuum.pages.inputs import bound, spec_options
from residuum.pages.kinds import BINDERS, JUDGED, WHY_NOT_MADE
from residuum.wiring.availability import Hub
from residuum.wiring.base import Part


def why_not_made(registry: Registry, page: str, hub: Hub) -> str | None:
    """Return why a page cannot be made at this scale, or None.

    Pages that the ledger judges, and claims, can always be made.
    """
    kind = registry.pages[page].kind
    return WHY_NOT_MADE[kind](registry, page, hub) if kind in WHY_NOT_MADE else None


class Pages(Part):
    """Inputs and options of what reads all pages: the ledger, the report, the target `all`."""

    def _judged(self) -> list[str]:
        every = (page for kind in JUDGED for page in self.registry.chosen(kind))
        return [page for page in every if self.registry.pages[page].judged]

    def judged(self, wildcards: object) -> list[str]:
        """Return the pages that the ledger judges: tables of systems, characteristics, figures."""
        pages = self.registry.pages
        return [self.paths.pages[pages[page].kind].fill(page=page) for page in self._judged()]

    def judged_specs(self, wildcards: object) -> str:
        """Return `--spec SPEC` for each page that the ledger judges."""
        return spec_options(self.registry, self.hub, "spec", self._judged())

    def tests(self, wildcards: object) -> list[str]:
        """Return the tests of the tables that compare systems."""
        return [self.paths.significance.fill(page=page) for page in self.registry.chosen("table")]

    def claims(self, wildcards: object) -> list[str]:
        """Return the pages of judged claims."""
        path = self.paths.pages["claims"]
        return [path.fill(page=page) for page in self.registry.chosen("claims")]

    def all(self, wildcards: object) -> list[str]:
        """Return the pages of the chosen papers that can be made, as Markdown."""
        return [*self._can_be_made().values()]

    def timed(self, wildcards: object) -> list[str]:
        """Return the files with times of the chosen tables that `residuum time` measured."""
        tables = self.registry.chosen("table")
        kept = (self.paths.times.fill(page=page) for page in tables)
        return [path for path in kept if Path(path).is_file()]

    def in_order(self) -> list[list[str]]:
        """Return the same pages, by paper, in the order of papers in `papers`."""
        by_paper: dict[str, list[str]] = {paper: [] for paper in self.registry.config.papers}
        for page, path in self._can_be_made().items():
            by_paper[parts_of(page)[0]].append(path)
        return [*by_paper.values()]

    def _can_be_made(self) -> dict[str, str]:
        """Return the Markdown of each page that can be made, by kind."""
        return {
            page: path.beside(".md").fill(page=page)
            for kind, path in self.paths.pages.items()
            for page in self.registry.chosen(kind)
            if not why_not_made(self.registry, page, self.hub)
        }


class Gap(NamedTuple):
    """A page, or a row of a page, without a value at this scale, and the reason.

    `unbound` says that the scale binds no split to the role. This is no fault.
    """

    why: str
    page: str
    row: str = ""
    unbound: bool = False


def gaps(registry: Registry, hub: Hub) -> Iterator[Gap]:
    """Yield the gaps of the chosen pages: missing cells, splits, series, and whole pages."""
    for page in (page for kind in BINDERS for page in registry.chosen(kind)):
        for gap in bound(registry, page, hub).gaps():
            yield Gap(gap.why, page, gap.part, gap.unbound)
        if why := why_not_made(registry, page, hub):
            yield Gap(why, page)

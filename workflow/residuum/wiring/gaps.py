"""What the chosen pages do not show at a scale, and why.

Usage: `for gap in gaps(registry, hub)`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from residuum.config.registry import Registry
from residuum.pages.kinds import BINDERS, WHY_NOT_MADE
from residuum.wiring.availability import Hub
from residuum.wiring.pages import why_not_made


class Gap(NamedTuple):
    """Something that has no value at this scale: why, on which page, in which row if in one.

    `unbound` says that the scale leaves the role empty, so that nothing is amiss.
    """

    why: str
    page: str
    row: str = ""
    unbound: bool = False


def gaps(registry: Registry, hub: Hub) -> Iterator[Gap]:
    """Yield what the chosen pages do not show at this scale: cells, splits, series, whole pages."""
    for kind in BINDERS:
        for page in registry.chosen(kind) if kind != "cases" else ():
            for gap in BINDERS[kind](registry, page, hub).gaps():
                yield Gap(gap.why, page, gap.part, gap.unbound)
    for page in registry.chosen(*WHY_NOT_MADE):
        if why := why_not_made(registry, page, hub):
            yield Gap(why, page)

"""What the chosen pages do not show at a scale, and why.

Usage: `for gap in gaps(registry, hub)`. Must not know how a page looks, nor what it reads.
"""

from collections.abc import Iterator
from typing import NamedTuple

from residuum.config.registry import Registry
from residuum.wiring.availability import Hub
from residuum.wiring.bound import NOTHING
from residuum.wiring.characteristics import bind_characteristics
from residuum.wiring.fidelities import bind_dimensions
from residuum.wiring.figures import bind_figure, bind_venn
from residuum.wiring.pages import BINDERS, bind_table, why_not_made


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
    for page in registry.chosen("table"):
        table = bind_table(registry, page, hub)
        for row in table.table.rows:
            for column in table.table.columns:
                if (why := table.not_run(row, column)) and why not in NOTHING:
                    yield Gap(why, page, row.id, table.places[column.id] is None)
    for page in registry.chosen("characteristics"):
        counts = bind_characteristics(registry, page, hub)
        for split in counts.table.columns:
            if why := counts.not_counted(split):
                yield Gap(why, page, split.id, counts.places[split.id] is None)
    for page in registry.chosen("venn"):
        circles = bind_venn(registry, page, hub)
        for diagram, why in circles.absent.items():
            yield Gap(why, page, diagram, circles.place is None)
    for page in registry.chosen("dimensions"):
        measured = bind_dimensions(registry, page, hub)
        for plot, why in measured.absent.items():
            yield Gap(why, page, plot, measured.place is None)
    for page in registry.chosen("figure"):
        figure = bind_figure(registry, page, hub)
        for series, why in figure.absent.items() if figure.runs else ():
            yield Gap(why, page, series, figure.places[series] is None)
    for page in registry.chosen(*BINDERS):
        if why := why_not_made(registry, page, hub):
            yield Gap(why, page)

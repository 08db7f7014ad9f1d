"""Bind the chosen papers' pages of lines to a scale, and find the tables that they read."""

from residuum.config.registry import Registry
from residuum.pages.entries import parts_of
from residuum.pages.inputs import PageInputs
from residuum.pages.lines.entry import Lines
from residuum.pages.lines.job import BoundLines
from residuum.pages.table.entry import Table
from residuum.wiring.availability import Hub
from residuum.wiring.base import Wildcards
from residuum.wiring.memo import memoised


def table_of(registry: Registry, page: str) -> str:
    """Return the table whose numbers a page of lines draws."""
    return f"{parts_of(page)[0]}-{registry.entry(page, Lines).table}"


@memoised
def bind_lines(registry: Registry, page: str, hub: Hub) -> BoundLines:
    """Bind a page of lines: the labels of the rows that it shows."""
    lines, compares = registry.entry(page, Lines), registry.comparability(page)
    rows = {row.id: row.label for row in registry.entry(table_of(registry, page), Table).rows}
    return BoundLines(
        id=page,
        entry=lines,
        labels=[(name, rows[name]) for name in lines.rows or rows],
        scale=registry.config.scale,
        reason=compares.reason,
    )


class LinesInputs(PageInputs):
    """Inputs of the stage lines."""

    def table(self, wildcards: Wildcards) -> str:
        """Return the table whose numbers the page draws."""
        return self.paths.table.fill(page=table_of(self.registry, wildcards.page))

"""Faults of pages of lines: tables, rows and columns that their paper lacks."""

from collections.abc import Iterator

from residuum.cli.errors import unknown
from residuum.config.registry import Registry
from residuum.pages.faults import Fault
from residuum.pages.lines.entry import Lines
from residuum.pages.table.entry import Table


def line_faults(registry: Registry, page: Lines) -> Iterator[Fault]:
    """Yield the tables, rows and columns that a page of lines names and its paper lacks."""
    _, pages = registry.beside(page)
    tables = {name: other for name, other in pages.items() if isinstance(other, Table)}
    if page.table not in tables:
        yield "table", unknown("table", page.table, tables)
        return
    table = tables[page.table]
    rows, columns = [row.id for row in table.rows], [column.id for column in table.columns]
    yield from (("rows", unknown("row", name, rows)) for name in page.rows if name not in rows)
    for panel in page.panels:
        for name in (at.column for at in panel.points if at.column not in columns):
            yield f"panels.{panel.id}.points", unknown("column", name, columns)

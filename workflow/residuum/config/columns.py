"""Faults of a table's columns, and of pages that draw them: measures, cells, candidates, names.

Usage: `column_faults(registry, table)`, `line_faults(registry, page)` yield the key and the fault.
Must not know results.
"""

from collections.abc import Iterator
from itertools import product

from residuum.cli.errors import unknown
from residuum.config import measures
from residuum.config.registry import Registry
from residuum.config.schema.cells import PrintedCell
from residuum.config.schema.figures import Lines
from residuum.config.schema.papers import RATIO, Column, Table
from residuum.config.schema.systems import DenseSystem, LexicalSystem

Fault = tuple[str, str]  # key, what is wrong


def column_faults(registry: Registry, table: Table) -> Iterator[Fault]:
    """Yield columns that cannot be derived, and reported cells that do not fit their columns."""
    columns = {column.id: column for column in table.columns}
    yield from _unordered(registry, table)
    controls = {row.id for row in table.rows if row.control}
    for column in table.columns:
        if column.of_parts and not measures.is_hit(column.measure):
            text = f"'{column.measure}' is no hit, 1 or 0 for a query, as {column.derived} counts"
            yield f"columns.{column.id}.measure", f"{text}: take Success@k or AnswerAccuracy@k"
        if column.tick and column.change_from in controls:
            text = f"'{column.change_from}' is a control, which is compared with no row"
            yield f"columns.{column.id}.change_from", f"{text}: a tick needs another"
    for row, name, cell in table.cells():
        if name in columns and (why := _unfit(columns[name], row, cell)):
            yield f"reported.{row}.{name}", why


def line_faults(registry: Registry, page: Lines) -> Iterator[Fault]:
    """Yield the table, the rows and the columns that a page of lines names and its paper lacks."""
    _, pages = registry.beside(page)
    tables = {name: own for name, own in pages.items() if isinstance(own, Table)}
    if page.table not in tables:
        yield "table", unknown("table", page.table, tables)
        return
    table = tables[page.table]
    rows, columns = [row.id for row in table.rows], [column.id for column in table.columns]
    yield from (("rows", unknown("row", name, rows)) for name in page.rows if name not in rows)
    for panel in page.panels:
        for name in (at.column for at in panel.points if at.column not in columns):
            yield f"panels.{panel.id}.points", unknown("column", name, columns)


def _unordered(registry: Registry, table: Table) -> Iterator[Fault]:
    """Yield rows whose systems cannot put a column's candidates into order."""
    players = registry.players(table)
    for row, column in product(table.rows, table.columns):
        name = players.get(table.part(row.id, column.id), "")
        system = registry.systems.get(name)
        if system is None or not column.over:
            continue
        first = getattr(system, "first_stage", None)
        plain = isinstance(system, LexicalSystem) and not system.rm3
        if first != column.over and not plain and not isinstance(system, DenseSystem):
            text = f"'{name}' cannot put docs of '{column.over}' into order"
            cure = f"dense systems, plain BM25 and rerankers with first_stage: {column.over} do"
            yield f"rows.{row.id}.system", f"{text}; {cure}"


def _unfit(column: Column, row: str, cell: PrintedCell) -> str | None:
    """Return why a reported cell is none of its column, or None."""
    change = column.is_change(row)
    if cell.tick:
        return None if column.tick and change else "a tick, but the column has no `tick:` there"
    if column.tick and change:
        return "a number, but the column prints ticks"
    if cell.signed != change:
        return "a number with a sign, and no change" if cell.signed else "a change has a sign"
    if (cell.beats or cell.below) and (change or column.derived == RATIO or not column.compared):
        untested = "RoC is not tested" if column.compared else "the column is not compared"
        return "a marker, but a change has ticks alone" if change else f"a marker: {untested}"
    return None

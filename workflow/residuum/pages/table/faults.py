"""Faults of tables: columns that cannot be derived, cells that do not fit, unknown groups.

Usage: `column_faults(registry, table)` yields the key and the fault.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from residuum.cli.errors import unknown
from residuum.config import measures
from residuum.config.registry import Registry
from residuum.config.schema.systems import DenseSystem, LexicalSystem
from residuum.pages.cells import PrintedCell
from residuum.pages.faults import Fault, misnamed, reported_faults, unfolded, with_baselines
from residuum.pages.table.entry import RATIO, Average, Column, Table


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
    for mean in table.means:
        yield from _unaveraged(registry, table, mean, [columns[n] for n in mean.of if n in columns])
    averages = {mean.id for mean in table.means}
    for row, name, cell in table.cells():
        if name in averages and (cell.tick or cell.signed):
            yield f"reported.{row}.{name}", "a tick or a sign, but an average is no change"
        if name in columns and (why := _unfit(columns[name], row, cell)):
            yield f"reported.{row}.{name}", why


def _unaveraged(
    registry: Registry, table: Table, mean: Average, columns: Sequence[Column]
) -> Iterator[Fault]:
    """Yield why columns have no common mean, or none that the page's tests can compare."""
    key = f"means.{mean.id}"
    if lost := [name for name in mean.of if name in {other.id for other in table.means}]:
        yield f"{key}.of", f"'{lost[0]}' is an average, too: name plain columns"
    others = {other.id for other in table.means if other.id != mean.id}
    if mean.ranks_as and mean.ranks_as not in others:
        yield f"{key}.ranks_as", unknown("other average", mean.ranks_as, others)
    for column in columns:
        if not column.tested or column.change_from:
            text = "has no value per query that an average could be compared by"
            yield f"{key}.of", f"column '{column.id}' {text}"
    if len(named := {column.named() for column in columns}) > 1:
        yield f"{key}.of", f"columns of {' and '.join(sorted(named))} have no common mean"
    roles = [column.role for column in columns]
    if twice := [role for role in dict.fromkeys(roles) if roles.count(role) > 1]:
        yield f"{key}.of", f"the queries of {twice[0]} would count twice"
    tests = registry.tests.get(table.tests)
    if tests and tests.test != "permutation":
        text = f"an average is tested by sign flips: take tests of permutation, not {tests.test}"
        yield "tests", f"{table.tests}: {text}"


def _unordered(registry: Registry, table: Table) -> Iterator[Fault]:
    """Yield rows whose systems cannot rank a column's candidates."""
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
    change = column.is_change(row)
    if cell.tick:
        return None if column.tick and change else "a tick, but the column has no `tick:` there"
    if column.tick and change:
        return "a number, but the column prints ticks"
    if cell.signed != change:
        return "a sign, but the cell is no change" if cell.signed else "a change needs a sign"
    if (cell.beats or cell.below) and (change or column.derived == RATIO or not column.compared):
        untested = "RoC is not tested" if column.compared else "the column is not compared"
        return "a marker, but a change has ticks alone" if change else f"a marker: {untested}"
    return None


def faults(registry: Registry, table: Table) -> Iterator[Fault]:
    """Yield the faults between a table and other entries."""
    some = with_baselines(registry, table.tests)
    yield from reported_faults(registry, table, table.rows, table.baselines if some else ())
    yield from column_faults(registry, table)
    yield from within_faults(registry, table)
    if table.tests in registry.tests and some != bool(table.baselines):
        need = "name rows in `baselines:`" if some else "compare all pairs; drop `baselines:`"
        yield "tests", f"{table.tests}: its tests {need}"


def within_faults(registry: Registry, table: Table) -> Iterator[Fault]:
    """Yield the unknown groups of queries that columns of a table name."""
    for column in table.columns:
        if within := column.within:
            named = [within.group]
            texts = [*misnamed(registry, within.grouping, named)]
            texts += unfolded(registry, within.grouping, column.role, named)
            yield from ((f"columns.{column.id}.within", text) for text in texts)

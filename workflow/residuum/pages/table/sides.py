"""Why cells of a table have no runs, and the runs of both sides of derived cells."""

from collections.abc import Mapping

from residuum.config.registry import Registry
from residuum.pages.sides import apart, paired_runs, parts_of
from residuum.pages.table.entry import Column, Table
from residuum.pages.table.job import ITSELF, NO_PARTS, Sides
from residuum.wiring.availability import Hub, why_unavailable

Players = Mapping[str, str]  # ROW, or ROW/COLUMN: its system


def reasons_of(
    registry: Registry, systems: Players, table: Table, hub: Hub
) -> dict[str, dict[str, str | None]]:
    """Return, by row and column, why a cell has no runs, or None if it has runs."""
    cells = ((row.id, c) for row in table.rows for c in table.columns)
    reasons: dict[str, dict[str, str | None]] = {}
    for row, column in cells:
        if system := systems.get(table.part(row, column.id)):
            other = column.than and systems.get(table.part(column.than, column.id))
            why = ITSELF if column.than == row else why_empty(registry, system, column, other, hub)
            reasons.setdefault(row, {})[column.id] = why
    return reasons


def why_empty(
    registry: Registry, system: str, column: Column, other: str | None, hub: Hub
) -> str | None:
    """Return why a cell has no runs, or None if it has runs.

    `other` is the system of the row `than`.
    """
    split_id = registry.binding(column.role)
    for name in filter(None, [system, column.over]):
        if why := why_unavailable(registry, name, split_id, hub):
            return why
    if column.than is None:
        return NO_PARTS if column.of_parts and not parts_of(registry, system) else None
    if other is None:
        return f"{column.than}, whose values are to be beaten, is not run"
    return why_unavailable(registry, other, split_id, hub) or apart(registry, [system, other])


def sides_of(registry: Registry, systems: Players, row: str, table: Table) -> dict[str, Sides]:
    """Return the runs of both sides of a row's derived cells, by their columns."""
    derived = {c.id: _pair(registry, systems, row, c, table) for c in table.columns}
    return {
        column: Sides(first=first, second=second)
        for column, pair in derived.items()
        if pair
        for first, second in [paired_runs(registry, pair)]
    }


def _pair(
    registry: Registry, systems: Players, row: str, column: Column, table: Table
) -> tuple[str, str] | None:
    """Return the two systems that a cell is derived from; None if it is not derived."""
    system = systems.get(table.part(row, column.id))
    if system is None:
        return None
    if column.of_parts:
        return parts_of(registry, system)
    other = column.than and systems.get(table.part(column.than, column.id))
    return (system, other) if other and column.than != row else None

"""Which runs the cells of a table read where a column is derived, and why a cell has none.

Usage: `sides_of(registry, players, "dpr-sum", table)` of a table's row. Must not know values, nor
how a cell is derived.
"""

from collections.abc import Mapping, Sequence

from residuum.config.registry import Registry
from residuum.config.schema.papers import Column, Table
from residuum.config.schema.systems import DenseSystem, LexicalSystem
from residuum.wiring.availability import Hub, why_unavailable
from residuum.wiring.bound import ITSELF, NO_PARTS, Sides

Players = Mapping[str, str]  # row, or row/column: the system that makes it


def reasons_of(
    registry: Registry, systems: Players, table: Table, hub: Hub
) -> dict[str, dict[str, str | None]]:
    """Return why each cell has no runs to show, by row and column, or None if it has."""
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
    """Return why a cell has no runs to show, or None if nothing stands in its way.

    `other` is the system to be beaten.
    """
    place = registry.binding(column.role)
    for name in filter(None, [system, column.over]):
        if why := why_unavailable(registry, name, place, hub):
            return why
    if column.than is None:
        return NO_PARTS if column.of_parts and not parts_of(registry, system) else None
    if other is None:
        return f"{column.than}, whose values are to be beaten, is not run"
    return why_unavailable(registry, other, place, hub) or apart(registry, [system, other])


def sides_of(registry: Registry, systems: Players, row: str, table: Table) -> dict[str, Sides]:
    """Return the runs of both sides of a row's derived cells, by their columns."""
    derived = {c.id: _pair(registry, systems, row, c, table) for c in table.columns}
    return {
        column: Sides(first=first, second=second)
        for column, pair in derived.items()
        if pair
        for first, second in [paired_runs(registry, pair)]
    }


def parts_of(registry: Registry, system: str) -> tuple[str, str] | None:
    """Return the dense part D and the lexical part S of a fusion of two; None of another system."""
    parts = registry.parts(system)
    dense = [part for part in parts if isinstance(registry.systems[part], DenseSystem)]
    lexical = [part for part in parts if isinstance(registry.systems[part], LexicalSystem)]
    return (dense[0], lexical[0]) if len(dense) == len(lexical) == 1 and len(parts) == 2 else None


def _pair(
    registry: Registry, systems: Players, row: str, column: Column, table: Table
) -> tuple[str, str] | None:
    """Return the two systems that a cell is derived from; None of a measured one, or without."""
    system = systems.get(table.part(row, column.id))
    if system is None:
        return None
    if column.of_parts:
        return parts_of(registry, system)
    other = column.than and systems.get(table.part(column.than, column.id))
    return (system, other) if other and column.than != row else None


def paired_runs(registry: Registry, systems: Sequence[str]) -> list[list[str]]:
    """Return the runs of each of some systems, for the seeds that all have."""
    seeds = _common_seeds(registry, systems)
    return [list(dict.fromkeys(registry.run(system, seed) for seed in seeds)) for system in systems]


def apart(registry: Registry, systems: Sequence[str]) -> str | None:
    """Return why systems do not go together seed by seed, if they do not."""
    names = ", ".join(dict.fromkeys(systems))
    return None if _common_seeds(registry, systems) else f"no seed in common: {names}"


def _common_seeds(registry: Registry, systems: Sequence[str]) -> list[int]:
    """Return the seeds that the trained ones among systems share; of none, those of a run."""
    trained = [name for name in systems if registry.trained_behind(name)] or [systems[0]]
    first, *others = map(registry.seeds_of, trained)
    return [seed for seed in first if all(seed in seeds for seeds in others)]

"""The pages of the chosen papers cast for a scale: which split, which runs, what is absent and why.

Usage: `page_spec(registry, "clear-table1", hub)` gives the `--spec` of the stage that makes the
page. Snakemake imports this; stages do not. Must not know paths below results/.
"""

from collections.abc import Sequence
from typing import Any

from residuum.core import schema
from residuum.core.absence import Hub, no_export, reason
from residuum.core.driver import canonical
from residuum.core.errors import not_cast
from residuum.core.jobs import Job
from residuum.core.registry import FOR_READERS, Registry, expect


def job_of(registry: Registry, page: str, hub: Hub) -> Job:
    """Cast a table: its roles, the runs of its rows, and what is absent at this scale."""
    table = expect(registry.pages[page], schema.Table)
    systems = {row.id: row.system for row in table.rows if row.system}
    return Job(
        id=page,
        table=table,
        tests=registry.tests[table.tests],
        places=_places(registry, table.columns),
        runs={row: registry.runs(system) for row, system in systems.items()},
        systems={r: registry.system(n).model_dump(exclude=FOR_READERS) for r, n in systems.items()},
        absent={row: _absent(registry, table, system, hub) for row, system in systems.items()},
        **registry.facts(),
    )


def _places(
    registry: Registry, columns: Sequence[schema.Column | schema.QuerySet]
) -> dict[str, str | None]:
    casts = {column.id: registry.cast(column.role) for column in columns}
    return {name: "/".join(cast) if cast else None for name, cast in casts.items()}


def _absent(registry: Registry, table: schema.Table, system: str, hub: Hub) -> dict[str, str]:
    reasons = {c.id: reason(registry, system, registry.cast(c.role), hub) for c in table.columns}
    return {column: why for column, why in reasons.items() if why}


def page_spec(registry: Registry, page: str, hub: Hub) -> str:
    """Return a page as the JSON of the `--spec` of the stage that makes it."""
    entry = registry.pages[page]
    if isinstance(entry, schema.Table):
        return canonical(job_of(registry, page, hub).model_dump(mode="json"))
    key = "table" if entry.kind == "characteristics" else entry.kind
    cast = _cast(registry, page, entry, hub)
    return canonical({"id": page, key: entry.model_dump(mode="json"), **cast})


def _cast(
    registry: Registry,
    page: str,
    entry: schema.Characteristics | schema.Cases | schema.Figure,
    hub: Hub,
) -> dict[str, Any]:
    facts = registry.facts()
    if entry.kind == "characteristics":
        absent = {
            c.id: no_export(registry, *p) for c in entry.columns if (p := registry.cast(c.role))
        }
        there = {"absent": {column: why for column, why in absent.items() if why}}
        return {"places": _places(registry, entry.columns), **there, **facts}
    place = "/".join(registry.place(entry.role))
    cast = {"place": place, "scale": facts["scale"], "reason": facts["reason"]}
    if entry.kind == "cases":
        return {**cast, "runs": case_runs(registry, page)}
    tests = registry.tests[entry.tests].model_dump(mode="json")
    return {**cast, "runs": figure_runs(registry, page, hub), "tests": tests}


def figure_runs(registry: Registry, page: str, hub: Hub) -> dict[str, list[str]]:
    """Return the runs of each series of a figure that can be made at this scale."""
    figure = expect(registry.pages[page], schema.Figure)
    place = registry.cast(figure.role)
    there = [s for s in figure.series if not reason(registry, s.system, place, hub)]
    return {series.id: registry.runs(series.system) for series in there}


def case_runs(registry: Registry, page: str) -> dict[str, str]:
    """Return the run of each list of a case study: that of its first seed."""
    lists = expect(registry.pages[page], schema.Cases).lists
    return {name: registry.runs(system)[0] for name, system in lists.items()}


def page_reason(registry: Registry, page: str, hub: Hub) -> str | None:
    """Return why a figure or a case study cannot be made at this scale; tables always can."""
    entry = registry.pages[page]
    if isinstance(entry, schema.Table | schema.Characteristics):
        return None
    place = registry.cast(entry.role)
    if place is None:
        return not_cast(registry.config.scale, entry.role)
    systems = entry.lists.values() if entry.kind == "cases" else [s.system for s in entry.series]
    reasons = [reason(registry, system, place, hub) for system in systems]
    needed = any(reasons) if entry.kind == "cases" else all(reasons)
    return next(why for why in reasons if why) if needed else None

"""The pages of the chosen papers cast for a scale: which split, which runs, what is absent and why.

Usage: `page_spec(registry, "clear-table1", hub)` gives the `--spec` of the stage that makes the
page. Snakemake imports this; stages do not. Must not know paths below results/.
"""

from typing import Any

from residuum.core import schema
from residuum.core.absence import Hub, no_export, reason
from residuum.core.driver import canonical
from residuum.core.errors import not_cast
from residuum.core.jobs import Job
from residuum.core.registry import FOR_READERS, Registry


def job_of(registry: Registry, page: str, hub: Hub) -> Job:
    """Cast a table: its roles, the runs of its rows, and what is absent at this scale."""
    table = registry.pages[page]
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


def _places(registry: Registry, columns: list[Any]) -> dict[str, str | None]:
    casts = {column.id: registry.cast(column.role) for column in columns}
    return {name: "/".join(cast) if cast else None for name, cast in casts.items()}


def _absent(registry: Registry, table: schema.Table, system: str, hub: Hub) -> dict[str, str]:
    reasons = {c.id: reason(registry, system, registry.cast(c.role), hub) for c in table.columns}
    return {column: why for column, why in reasons.items() if why}


def page_spec(registry: Registry, page: str, hub: Hub) -> str:
    """Return a page as the JSON of the `--spec` of the stage that makes it."""
    entry = registry.pages[page]
    if entry.kind == "table":
        return canonical(job_of(registry, page, hub).model_dump(mode="json"))
    key = "table" if entry.kind == "characteristics" else entry.kind
    return canonical({"id": page, key: entry.model_dump(mode="json"), **_cast(registry, page, hub)})


def _cast(registry: Registry, page: str, hub: Hub) -> dict[str, Any]:
    entry, facts = registry.pages[page], registry.facts()
    if entry.kind == "characteristics":
        absent = {
            c.id: no_export(registry, *p) for c in entry.columns if (p := registry.cast(c.role))
        }
        there = {"absent": {column: why for column, why in absent.items() if why}}
        return {"places": _places(registry, entry.columns), **there, **facts}
    place = "/".join(registry.place(entry.role))
    figure = entry.kind == "figure"
    runs = figure_runs(registry, page, hub) if figure else case_runs(registry, page)
    tests = {"tests": registry.tests[entry.tests].model_dump(mode="json")} if figure else {}
    scale = {"scale": facts["scale"], "reason": facts["reason"]}
    return {"place": place, "runs": runs, **tests, **scale}


def figure_runs(registry: Registry, page: str, hub: Hub) -> dict[str, list[str]]:
    """Return the runs of each series of a figure that can be made at this scale."""
    figure = registry.pages[page]
    place = registry.cast(figure.role)
    there = [s for s in figure.series if not reason(registry, s.system, place, hub)]
    return {series.id: registry.runs(series.system) for series in there}


def case_runs(registry: Registry, page: str) -> dict[str, str]:
    """Return the run of each list of a case study: that of the scale's first seed."""
    lists = registry.pages[page].lists
    return {name: registry.run(system, registry.seeds[0]) for name, system in lists.items()}


def page_reason(registry: Registry, page: str, hub: Hub) -> str | None:
    """Return why a figure or a case study cannot be made at this scale; tables always can."""
    entry = registry.pages[page]
    if entry.kind in ("table", "characteristics"):
        return None
    place = registry.cast(entry.role)
    if place is None:
        return not_cast(registry.config.scale, entry.role)
    systems = entry.lists.values() if entry.kind == "cases" else [s.system for s in entry.series]
    reasons = [reason(registry, system, place, hub) for system in systems]
    needed = any(reasons) if entry.kind == "cases" else all(reasons)
    return next(why for why in reasons if why) if needed else None

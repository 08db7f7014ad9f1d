"""The pages of the chosen papers bound to a scale: which split, which runs, what is absent and why.

Usage: `page_spec(registry, "clear-table1", hub)` gives the `--spec` of the stage that makes the
page. Snakemake imports this; stages do not. Must not know paths below results/.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from residuum.cli.errors import not_bound
from residuum.config.registry import Registry
from residuum.config.schema.base import references
from residuum.config.schema.papers import Cases, Characteristics, Column, Figure, QuerySet, Table
from residuum.config.specs import FOR_READERS, canonical_json
from residuum.wiring.availability import Hub, why_no_export, why_unavailable
from residuum.wiring.bound import (
    Bound,
    BoundCases,
    BoundCharacteristics,
    BoundFigure,
    BoundTable,
    corrected_with,
)


class Gap(NamedTuple):
    """Something that has no value at this scale: why, on which page, in which row if in one.

    `uncast` says that the scale leaves the role empty, so that nothing is amiss.
    """

    why: str
    page: str
    row: str = ""
    uncast: bool = False

    @property
    def where(self) -> str:
        """Return the page, with the row if there is one."""
        return f"{self.page}/{self.row}" if self.row else self.page


def bind_table(registry: Registry, page: str, hub: Hub) -> BoundTable:
    """Bind a table: its roles, the runs of its rows, and what is absent at this scale."""
    table = registry.page(page, Table)
    systems = {row.id: row.system for row in table.rows if row.system}
    return BoundTable(
        id=page,
        table=table,
        tests=registry.tests[table.tests],
        places=_places(registry, table.columns),
        runs={row: registry.runs(system) for row, system in systems.items()},
        systems={
            r: registry.systems[n].model_dump(exclude=FOR_READERS) for r, n in systems.items()
        },
        absent={row: _absent(registry, table, system, hub) for row, system in systems.items()},
        **registry.facts(),
    )


def _places(registry: Registry, columns: list[Column] | list[QuerySet]) -> dict[str, str | None]:
    bindings = {column.id: registry.binding(column.role) for column in columns}
    return {name: "/".join(bound) if bound else None for name, bound in bindings.items()}


def _absent(registry: Registry, table: Table, system: str, hub: Hub) -> dict[str, str]:
    reasons = {
        column.id: why_unavailable(registry, system, registry.binding(column.role), hub)
        for column in table.columns
    }
    return {column: why for column, why in reasons.items() if why}


def bind_characteristics(registry: Registry, page: str, hub: Hub) -> BoundCharacteristics:
    """Bind a table of characteristics: its splits, and which of them cannot be exported."""
    table = registry.page(page, Characteristics)
    bindings = {column.id: registry.binding(column.role) for column in table.columns}
    reasons = {name: why_no_export(registry, *bound) for name, bound in bindings.items() if bound}
    return BoundCharacteristics(
        id=page,
        table=table,
        places=_places(registry, table.columns),
        absent={column: why for column, why in reasons.items() if why},
        **registry.facts(),
    )


def bind_figure(registry: Registry, page: str, hub: Hub) -> BoundFigure:
    """Bind a figure: its split, and the runs of each series that can be made at this scale."""
    figure = registry.page(page, Figure)
    place = registry.place(figure.role)
    drawn = [s for s in figure.series if not why_unavailable(registry, s.system, place, hub)]
    return BoundFigure(
        id=page,
        figure=figure,
        tests=registry.tests[figure.tests],
        place="/".join(place),
        runs={series.id: registry.runs(series.system) for series in drawn},
        **_scale(registry),
    )


def bind_cases(registry: Registry, page: str, hub: Hub) -> BoundCases:
    """Bind a case study: its split, and the run of each list, that of its first seed."""
    cases = registry.page(page, Cases)
    return BoundCases(
        id=page,
        cases=cases,
        place="/".join(registry.place(cases.role)),
        runs={name: registry.runs(system)[0] for name, system in cases.lists.items()},
        **_scale(registry),
    )


def _scale(registry: Registry) -> dict[str, str]:
    facts = registry.facts()
    return {"scale": facts["scale"], "reason": facts["reason"]}


BINDERS: dict[str, Callable[[Registry, str, Hub], Bound]] = {
    "table": bind_table,
    "characteristics": bind_characteristics,
    "figure": bind_figure,
    "cases": bind_cases,
}


def page_spec(registry: Registry, page: str, hub: Hub) -> str:
    """Return a page as the JSON of the `--spec` of the stage that makes it."""
    bound = BINDERS[registry.pages[page].kind](registry, page, hub)
    return canonical_json(bound.model_dump(mode="json"))


def family(registry: Registry, page: str) -> list[str]:
    """Return the other tables whose comparisons are corrected together with a table's."""
    tables = {n: entry for n, entry in registry.pages.items() if isinstance(entry, Table)}
    return corrected_with(page, tables, registry.tests[tables[page].tests])


def why_not_made(registry: Registry, page: str, hub: Hub) -> str | None:
    """Return why a figure or a case study cannot be made at this scale; tables always can."""
    entry = registry.pages[page]
    if isinstance(entry, Table | Characteristics):
        return None
    place = registry.binding(entry.role)
    if place is None:
        return not_bound(registry.config.scale, entry.role)
    systems = [system for _, system in references(entry, "system")]
    reasons = [why_unavailable(registry, system, place, hub) for system in systems]
    needed = any(reasons) if isinstance(entry, Cases) else all(reasons)
    return next(why for why in reasons if why) if needed else None


def gaps(registry: Registry, hub: Hub) -> Iterator[Gap]:
    """Yield what the chosen pages do not show at this scale: cells, counted splits, whole pages."""
    for page in registry.chosen("table"):
        table = bind_table(registry, page, hub)
        for row in table.table.rows:
            for column in table.table.columns:
                if why := table.not_run(row, column):
                    yield Gap(why, page, row.id, table.places[column.id] is None)
    for page in registry.chosen("characteristics"):
        counts = bind_characteristics(registry, page, hub)
        for split in counts.table.columns:
            if why := counts.not_counted(split):
                yield Gap(why, page, split.id, counts.places[split.id] is None)
    for page in registry.chosen("figure", "cases"):
        if why := why_not_made(registry, page, hub):
            yield Gap(why, page)

"""The pages of the chosen papers: bound to a scale, what they read, and what they cannot show.

Usage: `page_spec(registry, "clear-table1", hub)` gives the `--spec` of the stage that makes the
page, `Pages(registry, paths, hub).metrics(wildcards)` its inputs. Must not know how a page looks.
"""

from collections.abc import Callable, Mapping
from shlex import quote

from residuum.cli.errors import not_bound
from residuum.config.bindings import Place
from residuum.config.registry import Registry
from residuum.config.schema.base import references
from residuum.config.schema.cases import Cases
from residuum.config.schema.figures import Figure, Lines
from residuum.config.schema.papers import Claims, Printed, Reported, Table, Tests, parts_of
from residuum.config.schema.systems import RerankSystem
from residuum.config.specs import FOR_READERS, canonical_json
from residuum.wiring.answers import kept
from residuum.wiring.availability import Hub, why_unavailable
from residuum.wiring.bound import (
    Bound,
    BoundCases,
    BoundTable,
    metrics_files,
)
from residuum.wiring.characteristics import bind_characteristics
from residuum.wiring.derived import reasons_of, sides_of
from residuum.wiring.fidelities import bind_dimensions
from residuum.wiring.figures import bind_figure, bind_lines, bind_venn
from residuum.wiring.learned import models_behind, trained_by_folds, verdicts
from residuum.wiring.models import rate_record
from residuum.wiring.part import Part, Wildcards, residual_of
from residuum.wiring.paths import Template
from residuum.wiring.runs import played_rerankers, tuning_place


@kept
def bind_table(registry: Registry, page: str, hub: Hub) -> BoundTable:
    """Bind a table: its roles, the runs of its rows, and what is absent at this scale."""
    table, (comparable, reason) = registry.entry(page, Table), registry.comparability
    systems = registry.players(table)
    places = {column.id: registry.binding(column.role) for column in table.columns}
    reasons = reasons_of(registry, systems, table, hub)
    run = [(row, column) for row, of in reasons.items() for column, why in of.items() if not why]
    cells = [(systems[table.part(row, column)], places[column]) for row, column in run]
    return BoundTable(
        id=page,
        table=table,
        tests=registry.tests[table.tests],
        places={name: "/".join(place) if place else None for name, place in places.items()},
        runs={part: registry.runs(system) for part, system in systems.items()},
        systems={
            p: registry.systems[n].model_dump(exclude=FOR_READERS) for p, n in systems.items()
        },
        absent={row: {c: why for c, why in of.items() if why} for row, of in reasons.items()},
        rerankers=played_rerankers(registry, systems.values()),
        derived={r: sides for r in reasons if (sides := sides_of(registry, systems, r, table))},
        residual=residual_of(registry, places.values()),
        by_folds=trained_by_folds(registry, cells),
        models=models_behind(registry, cells),
        scale=registry.config.scale,
        comparable=comparable,
        reason=reason,
    )


@kept
def bind_cases(registry: Registry, page: str, hub: Hub) -> BoundCases:
    """Bind a case study: its split, and the run of each list, that of its first seed."""
    cases, (_, reason) = registry.entry(page, Cases), registry.comparability
    place = registry.place(cases.role)
    players = registry.players(cases)
    cells = [(system, place) for system in players.values()]
    systems = {name: registry.systems[system] for name, system in players.items()}
    reranked = {n: s.depth.fixed() for n, s in systems.items() if isinstance(s, RerankSystem)}
    return BoundCases(
        id=page,
        cases=cases,
        place="/".join(place),
        residual=residual_of(registry, [place]),
        by_folds=trained_by_folds(registry, cells),
        models=models_behind(registry, cells),
        runs={name: registry.runs(system)[0] for name, system in players.items()},
        depths={name: depth for name, depth in reranked.items() if depth},
        scale=registry.config.scale,
        reason=reason,
    )


JUDGED = ("table", "characteristics", "figure", "venn", "dimensions")  # by the ledger, in order
BINDERS: dict[str, Callable[[Registry, str, Hub], Bound]] = {
    "table": bind_table,
    "characteristics": bind_characteristics,
    "figure": bind_figure,
    "venn": bind_venn,
    "dimensions": bind_dimensions,
    "lines": bind_lines,
    "cases": bind_cases,
}


@kept
def page_spec(registry: Registry, page: str, hub: Hub) -> str:
    """Return a page as the JSON of the `--spec` of the stage that makes it."""
    bind = BINDERS[registry.pages[page].kind]
    return canonical_json(bind(registry, page, hub).model_dump(mode="json"))


def family(registry: Registry, page: str) -> list[str]:
    """Return the other tables whose comparisons are corrected together with a table's."""
    tables = {n: entry for n, entry in registry.pages.items() if isinstance(entry, Table)}
    return corrected_with(page, tables, registry.tests[tables[page].tests])


def corrected_with(page: str, tables: Mapping[str, Table], tests: Tests) -> list[str]:
    """Return the other tables whose comparisons are corrected together with a table's.

    `tables` are those of all papers; `tests` is how the table itself is tested.
    """
    if tests.family != "paper":
        return []
    paper, own = parts_of(page)[0], tables[page].tests
    return [
        other
        for other, table in tables.items()
        if other != page and parts_of(other)[0] == paper and table.tests == own
    ]


def why_not_made(registry: Registry, page: str, hub: Hub) -> str | None:
    """Return why a page cannot be made at this scale; what the ledger judges, and claims, can."""
    entry = registry.pages[page]
    if reports(entry) or isinstance(entry, Claims | Lines):
        return None
    if isinstance(entry, Figure):
        bound = bind_figure(registry, page, hub)
        return None if bound.runs else next(iter(bound.absent.values()))
    [(_, role)] = references(entry, "role")
    if (place := registry.binding(role)) is None:
        return not_bound(registry.config.scale, role)
    reasons = (why_unavailable(registry, s, place, hub) for s in registry.players(entry).values())
    return next(filter(None, reasons), None)


def reports(entry: Printed) -> bool:
    """Say whether the ledger judges numbers of a page: all but figures and claims without any."""
    return isinstance(entry, Reported) and (not isinstance(entry, Figure) or bool(entry.reported))


class Pages(Part):
    """Inputs and options of the stages that make pages, and of the ledger."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a page, bound to this scale."""
        return page_spec(self.registry, wildcards.page, self.hub)

    def _specs(self, option: str, pages: list[str]) -> str:
        specs = [page_spec(self.registry, page, self.hub) for page in pages]
        return " ".join(f"--{option} {quote(spec)}" for spec in specs)

    def _metrics(self, *pages: str) -> list[str]:
        """Return the metrics files of all cells of tables, each once, sorted."""
        names = metrics_files(bind_table(self.registry, page, self.hub) for page in pages)
        return [f"{self.paths.metrics_root}/{name}" for name in names]

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of all cells of a table."""
        return self._metrics(wildcards.page)

    def records(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests of those, which name the index, of a table that states its own."""
        table = bind_table(self.registry, wildcards.page, self.hub)
        return [f"{self.paths.metrics_root}/{name}" for name in table.metrics_records()]

    def groups_of(self, *pages: str) -> list[str]:
        """Return the groups of the queries that columns of tables are of, each once."""
        tables = (bind_table(self.registry, page, self.hub) for page in pages)
        named = dict.fromkeys(each for table in tables for each in table.groups())
        places = ((Place(*split.split("/")), grouping) for split, grouping in named)
        return [self.fill(self.paths.groups, place, grouping=name) for place, name in places]

    def groups(self, wildcards: Wildcards) -> list[str]:
        """Return the groups of the queries that columns of a table are of."""
        return self.groups_of(wildcards.page)

    def tested_groups(self, wildcards: Wildcards) -> list[str]:
        """Return the same of all tables whose tests are corrected with a table's."""
        return self.groups_of(wildcards.page, *family(self.registry, wildcards.page))

    def _learning(self, *pages: str) -> list[str]:
        bound = (
            BINDERS[self.registry.pages[page].kind](self.registry, page, self.hub) for page in pages
        )
        return sorted({self.paths.learning.fill(**made) for made in verdicts(bound)})

    def learning(self, wildcards: Wildcards) -> list[str]:
        """Return what tells whether the models behind a page learned."""
        return self._learning(wildcards.page)

    def tested_learning(self, wildcards: Wildcards) -> list[str]:
        """Return the same of all tables whose tests are corrected with a table's."""
        return self._learning(wildcards.page, *family(self.registry, wildcards.page))

    def tested_metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of all tables whose tests are corrected with a table's."""
        return self._metrics(wildcards.page, *family(self.registry, wildcards.page))

    def together(self, wildcards: Wildcards) -> str:
        """Return the options that give the specs of the other tables of a family."""
        return self._specs("together", family(self.registry, wildcards.page))

    def tuning(self, wildcards: Wildcards) -> list[str]:
        """Return the tuning files behind the rows of a table that run at this scale."""
        table = bind_table(self.registry, wildcards.page, self.hub)
        files: dict[str, None] = {}
        players = self.registry.players(table.table)
        for row, column in table.available():
            place = self.registry.place(column.role)
            system = players[row.part(column.id)]
            if tuned := tuning_place(self.registry, system, place):
                runs = table.runs_at(row.id, column)
                files |= {self.fill(self.paths.tuning, tuned, run=run): None for run in runs}
            for name in self.registry.trained_behind(system):
                model = self.registry.model_for(name, place.dataset)
                files |= dict.fromkeys(rate_record(self.registry, self.paths, model))
        return list(files)

    def _place(self, wildcards: Wildcards) -> Place:
        """Return the split of a page that has one."""
        [(_, role)] = references(self.registry.pages[wildcards.page], "role")
        return self.registry.place(role)

    def of_split(self, template: Template) -> Callable[[Wildcards], str]:
        """Return an input function: a file of a page's split."""
        return lambda wildcards: self.fill(template, self._place(wildcards))

    def _lists(self, wildcards: Wildcards) -> dict[str, str]:
        bind, place = BINDERS[self.registry.pages[wildcards.page].kind], self._place(wildcards)
        runs = bind(self.registry, wildcards.page, self.hub).model_dump()["runs"]
        return {name: self.fill(self.paths.run, place, run=run) for name, run in runs.items()}

    def lists(self, wildcards: Wildcards) -> list[str]:
        """Return the runs of a page's lists."""
        return list(self._lists(wildcards).values())

    def list_options(self, wildcards: Wildcards) -> str:
        """Return the options that name those."""
        return " ".join(f"--list {name}={path}" for name, path in self._lists(wildcards).items())

    def _judged(self) -> list[str]:
        pages, kinds = self.registry.pages, JUDGED
        every = (page for kind in kinds for page in self.registry.chosen(kind))
        return [page for page in every if reports(pages[page])]

    def judged(self, wildcards: object) -> list[str]:
        """Return the pages that the ledger judges: tables of systems, characteristics, figures."""
        pages = self.registry.pages
        return [self.paths.pages[pages[page].kind].fill(page=page) for page in self._judged()]

    def judged_specs(self, wildcards: object) -> str:
        """Return the options that give their specs."""
        return self._specs("spec", self._judged())

    def tests(self, wildcards: object) -> list[str]:
        """Return the tests of the tables that compare systems."""
        return [self.paths.significance.fill(page=page) for page in self.registry.chosen("table")]

    def all(self, wildcards: object) -> list[str]:
        """Return the pages of the chosen papers that can be made, as Markdown."""
        return [
            path.beside(".md").fill(page=page)
            for kind, path in self.paths.pages.items()
            for page in self.registry.chosen(kind)
            if not why_not_made(self.registry, page, self.hub)
        ]

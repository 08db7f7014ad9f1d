"""Inputs and options of the pages of the chosen papers, and the gaps on these pages.

Usage: `page_spec(registry, "clear-table1", hub)` gives the `--spec` of the stage that makes the
page, `Pages(registry, paths, hub).metrics(wildcards)` its inputs.
"""

from collections.abc import Callable, Iterator
from shlex import quote
from typing import NamedTuple

from residuum.config.registry import Registry, SplitId
from residuum.config.schema.base import references
from residuum.config.specs import canonical_json
from residuum.pages.jobs import Bound
from residuum.pages.kinds import BINDERS, JUDGED, WHY_NOT_MADE
from residuum.pages.table.bind import bind_table, family
from residuum.pages.table.job import metrics_files
from residuum.wiring.availability import Hub
from residuum.wiring.base import Part, Wildcards
from residuum.wiring.memo import memoised as kept
from residuum.wiring.models import rate_record, verdicts
from residuum.wiring.paths import Template
from residuum.wiring.runs import tuning_split


@kept
def page_spec(registry: Registry, page: str, hub: Hub) -> str:
    """Return the spec of a page, bound to this scale, as JSON for `--spec`."""
    return canonical_json(bound(registry, page, hub).model_dump(mode="json"))


def bound(registry: Registry, page: str, hub: Hub) -> Bound:
    """Return a page bound to this scale."""
    return BINDERS[registry.pages[page].kind](registry, page, hub)


def why_not_made(registry: Registry, page: str, hub: Hub) -> str | None:
    """Return why a page cannot be made at this scale, or None.

    Pages that the ledger judges, and claims, can always be made.
    """
    kind = registry.pages[page].kind
    return WHY_NOT_MADE[kind](registry, page, hub) if kind in WHY_NOT_MADE else None


class Pages(Part):
    """Inputs and options of the stages that make pages, and of the ledger."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a page, bound to this scale."""
        return page_spec(self.registry, wildcards.page, self.hub)

    def _specs(self, option: str, pages: list[str]) -> str:
        specs = [page_spec(self.registry, page, self.hub) for page in pages]
        return " ".join(f"--{option} {quote(spec)}" for spec in specs)

    def _metrics(self, *pages: str) -> list[str]:
        """Return the metrics files of all cells of tables, sorted and without duplicates."""
        names = metrics_files(bind_table(self.registry, page, self.hub) for page in pages)
        return [f"{self.paths.metrics_root}/{name}" for name in names]

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of all cells of a table."""
        return self._metrics(wildcards.page)

    def records(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests of metrics files that a table's notes read."""
        table = bind_table(self.registry, wildcards.page, self.hub)
        return [f"{self.paths.metrics_root}/{name}" for name in table.metrics_records()]

    def groups_of(self, *pages: str) -> list[str]:
        """Return the groups of queries that columns of tables show, without duplicates."""
        tables = (bind_table(self.registry, page, self.hub) for page in pages)
        named = dict.fromkeys(group for table in tables for group in table.groups())
        split_ids = ((SplitId(*split.split("/")), grouping) for split, grouping in named)
        return [
            self.fill(self.paths.groups, split_id, grouping=name) for split_id, name in split_ids
        ]

    def groups(self, wildcards: Wildcards) -> list[str]:
        """Return the groups of queries that columns of a table show."""
        return self.groups_of(wildcards.page)

    def tested_groups(self, wildcards: Wildcards) -> list[str]:
        """Return the groups of queries of all tables whose tests are corrected together."""
        return self.groups_of(wildcards.page, *family(self.registry, wildcards.page))

    def _learning(self, *pages: str) -> list[str]:
        jobs = (bound(self.registry, page, self.hub) for page in pages)
        return sorted({self.paths.learning.fill(**made) for made in verdicts(jobs)})

    def learning(self, wildcards: Wildcards) -> list[str]:
        """Return the verdicts on whether the models behind a page learned."""
        return self._learning(wildcards.page)

    def tested_learning(self, wildcards: Wildcards) -> list[str]:
        """Return the learning verdicts for all tables whose tests are corrected together."""
        return self._learning(wildcards.page, *family(self.registry, wildcards.page))

    def tested_metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of all tables whose tests are corrected together."""
        return self._metrics(wildcards.page, *family(self.registry, wildcards.page))

    def together(self, wildcards: Wildcards) -> str:
        """Return `--together SPEC` for each other table whose tests are corrected together."""
        return self._specs("together", family(self.registry, wildcards.page))

    def tuning(self, wildcards: Wildcards) -> list[str]:
        """Return the tuning files and learning-rate records behind a table's available cells."""
        table = bind_table(self.registry, wildcards.page, self.hub)
        files: dict[str, None] = {}
        players = self.registry.players(table.entry)
        for row, column in table.available():
            split_id = self.registry.bound_split(column.role)
            system = players[row.part(column.id)]
            if tuned := tuning_split(self.registry, system, split_id):
                runs = table.runs_at(row.id, column)
                files |= {self.fill(self.paths.tuning, tuned, run=run): None for run in runs}
            for name in self.registry.trained_behind(system):
                model = self.registry.model_for(name, split_id.dataset)
                files |= dict.fromkeys(rate_record(self.registry, self.paths, model))
        return list(files)

    def _split_id(self, wildcards: Wildcards) -> SplitId:
        """Return the split of a page that names exactly one role."""
        [(_, role)] = references(self.registry.pages[wildcards.page], "role")
        return self.registry.bound_split(role)

    def of_split(self, template: Template) -> Callable[[Wildcards], str]:
        """Return an input function that gives a file of a page's split."""
        return lambda wildcards: self.fill(template, self._split_id(wildcards))

    def _lists(self, wildcards: Wildcards) -> dict[str, str]:
        split_id = self._split_id(wildcards)
        runs = bound(self.registry, wildcards.page, self.hub).model_dump()["runs"]
        return {name: self.fill(self.paths.run, split_id, run=run) for name, run in runs.items()}

    def lists(self, wildcards: Wildcards) -> list[str]:
        """Return the runs that a page lists."""
        return list(self._lists(wildcards).values())

    def list_options(self, wildcards: Wildcards) -> str:
        """Return `--list NAME=RUN` for each run that a page lists."""
        return " ".join(f"--list {name}={path}" for name, path in self._lists(wildcards).items())

    def _judged(self) -> list[str]:
        every = (page for kind in JUDGED for page in self.registry.chosen(kind))
        return [page for page in every if self.registry.pages[page].judged]

    def judged(self, wildcards: object) -> list[str]:
        """Return the pages that the ledger judges: tables of systems, characteristics, figures."""
        pages = self.registry.pages
        return [self.paths.pages[pages[page].kind].fill(page=page) for page in self._judged()]

    def judged_specs(self, wildcards: object) -> str:
        """Return `--spec SPEC` for each page that the ledger judges."""
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


class Gap(NamedTuple):
    """A page, or a row of a page, without a value at this scale, and the reason.

    `unbound` says that the scale binds no split to the role. This is no fault.
    """

    why: str
    page: str
    row: str = ""
    unbound: bool = False


def gaps(registry: Registry, hub: Hub) -> Iterator[Gap]:
    """Yield the gaps of the chosen pages: missing cells, splits, series, whole pages."""
    for kind in BINDERS:
        for page in registry.chosen(kind) if kind != "cases" else ():
            for gap in BINDERS[kind](registry, page, hub).gaps():
                yield Gap(gap.why, page, gap.part, gap.unbound)
    for page in registry.chosen(*WHY_NOT_MADE):
        if why := why_not_made(registry, page, hub):
            yield Gap(why, page)

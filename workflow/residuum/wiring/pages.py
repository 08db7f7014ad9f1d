"""What the papers' pages read, and which are made at this scale.

Usage: `Pages(registry, paths, hub).metrics(wildcards)`. Must not know how a page looks.
"""

from collections.abc import Callable
from shlex import quote

from residuum.config.registry import Place
from residuum.config.schema.base import references
from residuum.wiring import binding
from residuum.wiring.bound import BoundTable
from residuum.wiring.part import Part, Wildcards
from residuum.wiring.paths import Template, folder_of
from residuum.wiring.splits import is_tuned, tuning_place


class Pages(Part):
    """Inputs and options of the stages that make pages, and of the ledger."""

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a page, bound to this scale."""
        return binding.page_spec(self.registry, wildcards.page, self.hub)

    def _specs(self, option: str, pages: list[str]) -> str:
        specs = [binding.page_spec(self.registry, page, self.hub) for page in pages]
        return " ".join(f"--{option} {quote(spec)}" for spec in specs)

    def _table(self, page: str) -> BoundTable:
        return binding.bind_table(self.registry, page, self.hub)

    def _metrics(self, names: list[str]) -> list[str]:
        return [f"{self.paths.metrics_root}/{name}" for name in names]

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of all cells of a table."""
        return self._metrics(self._table(wildcards.page).metrics_files())

    def records(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests of those, which name the index, of a table that states its own."""
        return self._metrics(self._table(wildcards.page).metrics_records())

    def tested_metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of all tables whose tests are corrected with a table's."""
        pages = [wildcards.page, *binding.family(self.registry, wildcards.page)]
        names = {name for page in pages for name in self._table(page).metrics_files()}
        return self._metrics(sorted(names))

    def together(self, wildcards: Wildcards) -> str:
        """Return the options that give the specs of the other tables of a family."""
        return self._specs("together", binding.family(self.registry, wildcards.page))

    def tuning(self, wildcards: Wildcards) -> list[str]:
        """Return the tuning files behind the rows of a table that run at this scale."""
        table = self._table(wildcards.page)
        files: dict[str, None] = {}
        for row, column in table.available():
            system = str(row.system)
            if is_tuned(self.registry, system):
                place = tuning_place(self.registry, system, self.registry.place(column.role))
                runs = table.runs[row.id]
                files |= {self.fill(self.paths.tuning, place, run=run): None for run in runs}
        return list(files)

    def _counted(self, wildcards: Wildcards) -> dict[str, Place]:
        page = binding.bind_characteristics(self.registry, wildcards.page, self.hub)
        columns = [column for column in page.table.columns if page.not_counted(column) is None]
        return {column.id: self.registry.place(column.role) for column in columns}

    def counted(self, wildcards: Wildcards) -> list[str]:
        """Return the queries, then the qrels, of the splits that a page counts."""
        places = self._counted(wildcards).values()
        templates = (self.paths.queries, self.paths.qrels)
        return [self.fill(template, place) for template in templates for place in places]

    def counted_folders(self, wildcards: Wildcards) -> str:
        """Return the options that name those splits' folders, by their columns."""
        queries = {c: self.fill(self.paths.queries, p) for c, p in self._counted(wildcards).items()}
        return " ".join(f"--split {name}={folder_of(path)}" for name, path in queries.items())

    def of_rerankers(self, template: Template) -> Callable[[Wildcards], list[str]]:
        """Return an input function: a file of each reranker behind a figure."""
        return lambda wildcards: self._of_rerankers(template, wildcards)

    def _of_rerankers(self, template: Template, wildcards: Wildcards) -> list[str]:
        figure = binding.bind_figure(self.registry, wildcards.page, self.hub)
        names = dict.fromkeys(self.registry.reranker(series.system) for series in figure.series())
        return [self.fill(template, self._place(wildcards), reranker=name) for name in names]

    def _place(self, wildcards: Wildcards) -> Place:
        """Return the split of a figure or of a case study."""
        [(_, role)] = references(self.registry.pages[wildcards.page], "role")
        return self.registry.place(role)

    def of_split(self, template: Template) -> Callable[[Wildcards], str]:
        """Return an input function: a file of the split of a case study."""
        return lambda wildcards: self.fill(template, self._place(wildcards))

    def _lists(self, wildcards: Wildcards) -> dict[str, str]:
        runs = binding.bind_cases(self.registry, wildcards.page, self.hub).runs
        place = self._place(wildcards)
        return {name: self.fill(self.paths.run, place, run=run) for name, run in runs.items()}

    def lists(self, wildcards: Wildcards) -> list[str]:
        """Return the runs of the lists of a case study."""
        return list(self._lists(wildcards).values())

    def list_options(self, wildcards: Wildcards) -> str:
        """Return the options that name those."""
        return " ".join(f"--list {name}={path}" for name, path in self._lists(wildcards).items())

    def _judged(self) -> list[str]:
        return self.registry.chosen("table") + self.registry.chosen("characteristics")

    def judged(self, wildcards: object) -> list[str]:
        """Return the tables that the ledger judges: those of systems, then characteristics."""
        return [self.paths.table.fill(page=page) for page in self._judged()]

    def judged_specs(self, wildcards: object) -> str:
        """Return the options that give their specs."""
        return self._specs("spec", self._judged())

    def tests(self, wildcards: object) -> list[str]:
        """Return the tests of the tables that compare systems."""
        pages = self.registry.chosen("table")
        return [self.paths.significance.fill(page=page) for page in pages]

    def all(self, wildcards: object) -> list[str]:
        """Return the pages of the chosen papers that can be made, as Markdown."""
        made = self.judged(wildcards)
        for kind, template in (("figure", self.paths.figure), ("cases", self.paths.cases)):
            for page in self.registry.chosen(kind):
                if not binding.why_not_made(self.registry, page, self.hub):
                    made.append(template.fill(page=page))
        return [Template(path).beside(".md") for path in made]

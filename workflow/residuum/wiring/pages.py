"""What the papers' pages read, and which are made at this scale.

Usage: `Pages(registry, paths, hub).table_metrics(wildcards)`. Must not know how a page looks.
"""

from shlex import quote

from residuum.core.registry import Place
from residuum.wiring import binding
from residuum.wiring.part import Part, Wildcards
from residuum.wiring.paths import Template, folder_of
from residuum.wiring.splits import is_tuned, tuning_place


class Pages(Part):
    """Inputs and options of the stages that make pages, and of the ledger."""

    def page_spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a page, bound to this scale."""
        return binding.page_spec(self.registry, wildcards.page, self.hub)

    def tables(self) -> list[str]:
        """Return the tables that are judged: all of the chosen papers, then characteristics."""
        return self.registry.chosen("table") + self.registry.chosen("characteristics")

    def all(self, wildcards: object) -> list[str]:
        """Return the pages of the chosen papers, as Markdown."""
        made = [self.paths.table.fill(page=page) for page in self.tables()]
        for kind, template in (("figure", self.paths.figure), ("cases", self.paths.cases)):
            pages = binding.made(self.registry, kind, self.hub)
            made += [template.fill(page=page) for page in pages]
        return [Template(path).beside(".md") for path in made]

    def place(self, wildcards: Wildcards) -> Place:
        """Return the split of a figure or of a case study."""
        return self.registry.place(self.registry.pages[wildcards.page].role)


class Tables(Pages):
    """Inputs and options of the stages significance and tables."""

    def _metrics(self, names: list[str]) -> list[str]:
        return [f"{self.paths.metrics_root}/{name}" for name in names]

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of all cells of a table."""
        bound = binding.bind_table(self.registry, wildcards.page, self.hub)
        return self._metrics(bound.metrics_files())

    def records(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests of those, which name the index, of a table that states its own."""
        bound = binding.bind_table(self.registry, wildcards.page, self.hub)
        return self._metrics(bound.metrics_records())

    def tested_metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of all tables whose tests are corrected with a table's."""
        pages = [wildcards.page, *binding.family(self.registry, wildcards.page)]
        bound = [binding.bind_table(self.registry, page, self.hub) for page in pages]
        return self._metrics(sorted({name for table in bound for name in table.metrics_files()}))

    def together(self, wildcards: Wildcards) -> str:
        """Return the options that give the specs of the other tables of a family."""
        others = binding.family(self.registry, wildcards.page)
        found = [binding.page_spec(self.registry, page, self.hub) for page in others]
        return " ".join(f"--together {quote(spec)}" for spec in found)

    def tuning(self, wildcards: Wildcards) -> list[str]:
        """Return the tuning files behind the rows of a table that run at this scale."""
        bound = binding.bind_table(self.registry, wildcards.page, self.hub)
        files: dict[str, None] = {}
        for row, column in bound.there():
            system = str(row.system)
            if is_tuned(self.registry, system):
                measured = self.registry.place(column.role)
                place = tuning_place(self.registry, system, measured)
                runs = bound.runs[row.id]
                files |= {self.fill(self.paths.tuning, place, run=run): None for run in runs}
        return list(files)


class Characteristics(Pages):
    """Inputs and options of the stage characteristics."""

    def splits(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the queries and qrels of the splits that a page counts, by their columns."""
        counted = binding.counted(self.registry, wildcards.page)
        queries = {f"queries_{c}": self.fill(self.paths.queries, p) for c, p in counted.items()}
        qrels = {f"qrels_{c}": self.fill(self.paths.qrels, p) for c, p in counted.items()}
        return queries | qrels

    def folders(self, wildcards: Wildcards) -> str:
        """Return the options that name those splits' folders."""
        counted = binding.counted(self.registry, wildcards.page)
        folders = {c: folder_of(self.fill(self.paths.queries, p)) for c, p in counted.items()}
        return " ".join(f"--split {column}={folder}" for column, folder in folders.items())


class Figures(Pages):
    """Inputs of the stage figures."""

    def _of_rerankers(self, template: Template, wildcards: Wildcards) -> list[str]:
        """Return a file of each reranker behind a figure."""
        bound = binding.bind_figure(self.registry, wildcards.page, self.hub)
        drawn = [series for series in bound.figure.series if series.id in bound.runs]
        names = dict.fromkeys(self.registry.reranker(series.system) for series in drawn)
        return [self.fill(template, self.place(wildcards), reranker=name) for name in names]

    def curves(self, wildcards: Wildcards) -> list[str]:
        """Return the values at every depth."""
        return self._of_rerankers(self.paths.depth_curve, wildcards)

    def scored(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests of the scored pairs."""
        return self._of_rerankers(self.paths.pairs.manifest, wildcards)


class Cases(Pages):
    """Inputs of the stage cases."""

    def lists(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the runs of the lists of a case study, by the lists' names."""
        place = self.place(wildcards)
        runs = binding.bind_cases(self.registry, wildcards.page).runs
        found = {name: self.fill(self.paths.run, place, run=run) for name, run in runs.items()}
        return {f"list_{name}": path for name, path in found.items()}

    def queries(self, wildcards: Wildcards) -> str:
        """Return the queries of the split."""
        return self.fill(self.paths.queries, self.place(wildcards))

    def qrels(self, wildcards: Wildcards) -> str:
        """Return the judgements of the split."""
        return self.fill(self.paths.qrels, self.place(wildcards))

    def corpus(self, wildcards: Wildcards) -> str:
        """Return the corpus of the split."""
        return self.paths.corpus.fill(dataset=self.place(wildcards).dataset)


class Ledger(Pages):
    """Inputs and options of the ledger."""

    def table_files(self, wildcards: object) -> list[str]:
        """Return the tables that are judged, in the order of their specs."""
        return [self.paths.table.fill(page=page) for page in self.tables()]

    def tests(self, wildcards: object) -> list[str]:
        """Return the tests of the tables that compare systems."""
        pages = self.registry.chosen("table")
        return [self.paths.significance.fill(page=page) for page in pages]

    def specs(self, wildcards: object) -> str:
        """Return the options that give the spec of each table."""
        found = [binding.page_spec(self.registry, page, self.hub) for page in self.tables()]
        return " ".join(f"--spec {quote(spec)}" for spec in found)

"""Bind the claims of a paper's prose to a scale, and find the files to judge them.

Usage: `bind_claims(registry, page, hub)`; its inputs: `ClaimsInputs(registry, paths, hub)
.metrics(wildcards)`.
"""

from collections.abc import Callable

from residuum.config.registry import Registry
from residuum.pages.claims.entry import Claims
from residuum.pages.claims.job import BoundClaims
from residuum.pages.dimensions.bind import DimensionsInputs, bind_dimensions
from residuum.pages.dimensions.entry import Dimensions
from residuum.pages.entries import page_id, parts_of
from residuum.pages.figure.bind import FigureInputs, bind_figure
from residuum.pages.figure.entry import Figure
from residuum.pages.inputs import PageInputs
from residuum.pages.table.bind import TableInputs, bind_table
from residuum.pages.table.job import metrics_files
from residuum.wiring.availability import Hub
from residuum.wiring.base import Wildcards
from residuum.wiring.memo import memoised

OfPage = Callable[[FigureInputs, str], list[str]]


@memoised
def bind_claims(registry: Registry, page: str, hub: Hub) -> BoundClaims:
    """Bind a paper's claims: the tables, figures and pages of dimensions that they are about."""
    claims, compares = registry.entry(page, Claims), registry.comparability(page)
    paper, _ = parts_of(page)
    short = dict.fromkeys(claim.holds.page for claim in claims.claims if claim.holds)
    named = {name: registry.pages[page_id(paper, name)] for name in short}
    drawn = [name for name, entry in named.items() if isinstance(entry, Figure)]
    theory = [name for name, entry in named.items() if isinstance(entry, Dimensions)]
    tables = [name for name in named if name not in (*drawn, *theory)]
    return BoundClaims(
        id=page,
        entry=claims,
        tests=registry.tests[claims.tests],
        tables={name: bind_table(registry, page_id(paper, name), hub) for name in tables},
        figures={name: bind_figure(registry, page_id(paper, name), hub) for name in drawn},
        dimensions={n: bind_dimensions(registry, page_id(paper, n), hub) for n in theory},
        scale=registry.config.scale,
        reason=compares.reason,
    )


class ClaimsInputs(PageInputs):
    """Inputs of the stage claims."""

    def _bound(self, wildcards: Wildcards) -> BoundClaims:
        return bind_claims(self.registry, wildcards.page, self.hub)

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of the tables and figures that claims are about."""
        bound = self._bound(wildcards)
        names = {*metrics_files(bound.tables.values())}
        names |= {name for figure in bound.figures.values() for name in figure.metrics()}
        return self.metrics_at(sorted(names))

    def learning(self, wildcards: Wildcards) -> list[str]:
        """Return the learning verdicts of the models behind the claims' tables and figures."""
        bound = self._bound(wildcards)
        return self.learning_of([*bound.tables.values(), *bound.figures.values()])

    def limits(self, wildcards: Wildcards) -> list[str]:
        """Return what says whether the data could have shown what the claims say."""
        return self.limits_of(self._bound(wildcards).bases_compared())

    def tables(self, wildcards: Wildcards) -> list[str]:
        """Return the tables and the pages of dimensions that claims are about."""
        bound, theory = self._bound(wildcards), self.paths.pages["dimensions"]
        tables = [self.paths.table.fill(page=table.id) for table in bound.tables.values()]
        return tables + [theory.fill(page=page.id) for page in bound.dimensions.values()]

    def measured(self, wildcards: Wildcards) -> list[str]:
        """Return the fidelity measurements of the pages of dimensions that claims are about."""
        of_page = DimensionsInputs(self.registry, self.paths, self.hub).of_page
        pages = [page.id for page in self._bound(wildcards).dimensions.values()]
        return list(dict.fromkeys(path for page in pages for path in of_page(page)))

    def _of_figures(self, wildcards: Wildcards, files: OfPage) -> list[str]:
        """Return the `files` of the figures that claims are about, without duplicates."""
        figures = FigureInputs(self.registry, self.paths, self.hub)
        pages = [figure.id for figure in self._bound(wildcards).figures.values()]
        return list(dict.fromkeys(path for page in pages for path in files(figures, page)))

    def curves(self, wildcards: Wildcards) -> list[str]:
        """Return the depth curves behind the figures that claims are about."""
        curve = self.paths.depth_curve
        return self._of_figures(wildcards, lambda figures, page: figures.of_rerankers(curve, page))

    def groups(self, wildcards: Wildcards) -> list[str]:
        """Return the groups of queries of the tables and figures that claims are about."""
        tables = TableInputs(self.registry, self.paths, self.hub)
        groups = tables.groups_of(*(table.id for table in self._bound(wildcards).tables.values()))
        return list(dict.fromkeys([*groups, *self._of_figures(wildcards, FigureInputs.groups_of)]))

"""Bind the claims of a paper's prose to a scale, and find the files to judge them.

Usage: `Claimed(registry, paths, hub).metrics(wildcards)`.
"""

from collections.abc import Callable

from residuum.config.registry import Registry
from residuum.config.specs import canonical_json
from residuum.pages.claims.entry import Claims
from residuum.pages.claims.job import BoundClaims
from residuum.pages.entries import parts_of
from residuum.pages.figure.bind import Figures, bind_figure
from residuum.pages.figure.entry import Figure
from residuum.pages.table.bind import bind_table
from residuum.pages.table.job import metrics_files
from residuum.wiring.availability import Hub
from residuum.wiring.base import Part, Wildcards
from residuum.wiring.memo import memoised as kept
from residuum.wiring.models import verdicts
from residuum.wiring.pages import Pages

OfPage = Callable[[Figures, str], list[str]]


@kept
def bind_claims(registry: Registry, page: str, hub: Hub) -> BoundClaims:
    """Bind a paper's claims: the tables and figures that they are about."""
    claims, (comparable, reason) = registry.entry(page, Claims), registry.comparability
    paper, _ = parts_of(page)
    short = dict.fromkeys(claim.holds.page for claim in claims.claims if claim.holds)
    named = {name: registry.pages[f"{paper}-{name}"] for name in short}
    drawn = [name for name, entry in named.items() if isinstance(entry, Figure)]
    return BoundClaims(
        id=page,
        entry=claims,
        tests=registry.tests[claims.tests],
        tables={n: bind_table(registry, f"{paper}-{n}", hub) for n in named if n not in drawn},
        figures={name: bind_figure(registry, f"{paper}-{name}", hub) for name in drawn},
        scale=registry.config.scale,
        comparable=comparable,
        reason=reason,
    )


class Claimed(Part):
    """Inputs and options of the stage that judges claims, and the claims that the ledger lists."""

    def _bound(self, wildcards: Wildcards) -> BoundClaims:
        return bind_claims(self.registry, wildcards.page, self.hub)

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a page of claims, bound to this scale."""
        return canonical_json(self._bound(wildcards).model_dump(mode="json"))

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of the tables and figures that claims are about."""
        bound = self._bound(wildcards)
        names = {*metrics_files(bound.tables.values())}
        names |= {name for figure in bound.figures.values() for name in figure.metrics()}
        return [f"{self.paths.metrics_root}/{name}" for name in sorted(names)]

    def learning(self, wildcards: Wildcards) -> list[str]:
        """Return the learning verdicts of the models behind the claims' tables and figures."""
        bound = self._bound(wildcards)
        pages = [*bound.tables.values(), *bound.figures.values()]
        return sorted({self.paths.learning.fill(**made) for made in verdicts(pages)})

    def tables(self, wildcards: Wildcards) -> list[str]:
        """Return the tables that claims are about."""
        tables = self._bound(wildcards).tables.values()
        return [self.paths.table.fill(page=table.id) for table in tables]

    def _of_figures(self, wildcards: Wildcards, files: OfPage) -> list[str]:
        """Return the `files` of the figures that claims are about, without duplicates."""
        figures = Figures(self.registry, self.paths, self.hub)
        pages = [figure.id for figure in self._bound(wildcards).figures.values()]
        return list(dict.fromkeys(path for page in pages for path in files(figures, page)))

    def curves(self, wildcards: Wildcards) -> list[str]:
        """Return the depth curves behind the figures that claims are about."""
        curve = self.paths.depth_curve
        return self._of_figures(wildcards, lambda figures, page: figures.of_rerankers(curve, page))

    def groups(self, wildcards: Wildcards) -> list[str]:
        """Return the groups of queries of the tables and figures that claims are about."""
        pages, of = Pages(self.registry, self.paths, self.hub), self._bound(wildcards).tables
        tables = pages.groups_of(*(table.id for table in of.values()))
        return list(dict.fromkeys([*tables, *self._of_figures(wildcards, Figures.groups_of)]))

    def all(self, wildcards: object) -> list[str]:
        """Return the chosen papers' pages of judged claims."""
        path = self.paths.pages["claims"]
        return [path.fill(page=page) for page in self.registry.chosen("claims")]

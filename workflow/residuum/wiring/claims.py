"""The claims of a paper's prose: bound to a scale, and what their judgement reads.

Usage: `Claimed(registry, paths, hub).metrics(wildcards)`. Must not know how a claim is judged.
"""

from residuum.cli.errors import not_bound
from residuum.config.registry import Registry
from residuum.config.schema.papers import Claims, Figure, parts_of
from residuum.config.specs import canonical_json
from residuum.wiring.answers import kept
from residuum.wiring.availability import Hub, why_unavailable
from residuum.wiring.bound import BoundClaims, metrics_files
from residuum.wiring.learned import verdicts
from residuum.wiring.pages import bind_figure, bind_table
from residuum.wiring.part import Part, Wildcards


@kept
def bind_claims(registry: Registry, page: str, hub: Hub) -> BoundClaims:
    """Bind a paper's claims: the tables and figures that they are about."""
    claims, (comparable, reason) = registry.entry(page, Claims), registry.comparability
    paper, _ = parts_of(page)
    short = dict.fromkeys(claim.holds.page for claim in claims.claims if claim.holds)
    named = {name: registry.pages[f"{paper}-{name}"] for name in short}
    drawn = {name: entry for name, entry in named.items() if isinstance(entry, Figure)}
    bound = [name for name, figure in drawn.items() if registry.binding(figure.role)]
    return BoundClaims(
        id=page,
        claims=claims,
        tests=registry.tests[claims.tests],
        tables={n: bind_table(registry, f"{paper}-{n}", hub) for n in named if n not in drawn},
        figures={name: bind_figure(registry, f"{paper}-{name}", hub) for name in bound},
        absent={name: _undrawn(registry, figure, hub) for name, figure in drawn.items()},
        scale=registry.config.scale,
        comparable=comparable,
        reason=reason,
    )


def _undrawn(registry: Registry, figure: Figure, hub: Hub) -> dict[str, str]:
    """Return why series of a figure have no runs at this scale."""
    if (place := registry.binding(figure.role)) is None:
        return dict.fromkeys(
            (series.id for series in figure.series), not_bound(registry.config.scale, figure.role)
        )
    systems = registry.players(figure).items()
    reasons = {series: why_unavailable(registry, system, place, hub) for series, system in systems}
    return {series: why for series, why in reasons.items() if why}


class Claimed(Part):
    """Inputs and options of the stage that judges claims, and the claims that the ledger lists."""

    def _bound(self, wildcards: Wildcards) -> BoundClaims:
        return bind_claims(self.registry, wildcards.page, self.hub)

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a page of claims, bound to this scale."""
        return canonical_json(self._bound(wildcards).model_dump(mode="json"))

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of the tables that claims are about."""
        names = metrics_files(self._bound(wildcards).tables.values())
        return [f"{self.paths.metrics_root}/{name}" for name in names]

    def learning(self, wildcards: Wildcards) -> list[str]:
        """Return what tells whether the models behind those tables and figures learned."""
        bound = self._bound(wildcards)
        pages = [*bound.tables.values(), *bound.figures.values()]
        return sorted({self.paths.learning.fill(**made) for made in verdicts(pages)})

    def tables(self, wildcards: Wildcards) -> list[str]:
        """Return those tables."""
        tables = self._bound(wildcards).tables.values()
        return [self.paths.table.fill(page=table.id) for table in tables]

    def curves(self, wildcards: Wildcards) -> list[str]:
        """Return the depth curves behind the figures that claims are about."""
        files: dict[str, None] = {}
        for figure in self._bound(wildcards).figures.values():
            place = self.registry.place(figure.figure.role)
            for series, system in self.registry.players(figure.figure).items():
                if series in figure.runs:
                    reranker = self.registry.reranker(system)
                    files[self.fill(self.paths.depth_curve, place, reranker=reranker)] = None
        return list(files)

    def all(self, wildcards: object) -> list[str]:
        """Return the chosen papers' claims, judged."""
        path = self.paths.pages["claims"]
        return [path.fill(page=page) for page in self.registry.chosen("claims")]

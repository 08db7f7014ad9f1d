"""Bind the case studies of the chosen papers to a scale.

Usage: `bind_cases(registry, page, hub)`.
"""

from residuum.cli.errors import not_bound
from residuum.config.registry import Registry
from residuum.config.schema.systems import RerankSystem
from residuum.pages.cases.entry import Cases
from residuum.pages.cases.job import BoundCases
from residuum.wiring.availability import Hub, why_unavailable
from residuum.wiring.base import residual_of
from residuum.wiring.memo import memoised as kept
from residuum.wiring.models import models_behind, trained_by_folds


@kept
def bind_cases(registry: Registry, page: str, hub: Hub) -> BoundCases:
    """Bind a case study: its split, and the first seed's run of each list."""
    cases, (_, reason) = registry.entry(page, Cases), registry.comparability
    split_id = registry.bound_split(cases.role)
    players = registry.players(cases)
    cells = [(system, split_id) for system in players.values()]
    systems = {name: registry.systems[system] for name, system in players.items()}
    reranked = {n: s.depth.fixed() for n, s in systems.items() if isinstance(s, RerankSystem)}
    return BoundCases(
        id=page,
        entry=cases,
        split="/".join(split_id),
        residual=residual_of(registry, [split_id]),
        by_folds=trained_by_folds(registry, cells),
        models=models_behind(registry, cells),
        runs={name: registry.runs(system)[0] for name, system in players.items()},
        depths={name: depth for name, depth in reranked.items() if depth},
        scale=registry.config.scale,
        reason=reason,
    )


def why_not_made(registry: Registry, page: str, hub: Hub) -> str | None:
    """Return why a case study cannot be made at this scale, or None."""
    cases = registry.entry(page, Cases)
    if (split_id := registry.binding(cases.role)) is None:
        return not_bound(registry.config.scale, cases.role)
    players = registry.players(cases).values()
    reasons = (why_unavailable(registry, system, split_id, hub) for system in players)
    return next(filter(None, reasons), None)

"""Bind the case studies of the chosen papers to a scale, and find the files that they read.

Usage: `bind_cases(registry, page, hub)`.
"""

from collections.abc import Callable

from residuum.cli.errors import not_bound
from residuum.config.registry import Registry, SplitId
from residuum.config.schema.systems import RerankSystem
from residuum.pages.cases.entry import Cases
from residuum.pages.cases.job import BoundCases
from residuum.pages.inputs import PageInputs, ref_of
from residuum.wiring.availability import Hub, why_unavailable
from residuum.wiring.base import Wildcards, residual_of
from residuum.wiring.memo import memoised
from residuum.wiring.models import models_behind, trained_by_folds
from residuum.wiring.paths import Template


@memoised
def bind_cases(registry: Registry, page: str, hub: Hub) -> BoundCases:
    """Bind a case study: its split, and the first seed's run of each list."""
    cases, compares = registry.entry(page, Cases), registry.comparability(page)
    split_id = registry.binding(cases.role)
    players = registry.players(cases)
    cells = [(system, split_id) for system in players.values()]
    systems = {name: registry.systems[system] for name, system in players.items()}
    reranked = {n: s.depth.fixed() for n, s in systems.items() if isinstance(s, RerankSystem)}
    return BoundCases(
        id=page,
        entry=cases,
        split=ref_of(split_id),
        residual=residual_of(registry, [split_id]),
        by_folds=trained_by_folds(registry, cells),
        models=models_behind(registry, cells),
        runs={name: registry.runs(system)[0] for name, system in players.items()},
        depths={name: depth for name, depth in reranked.items() if depth},
        scale=registry.config.scale,
        reason=compares.reason,
    )


def why_not_made(registry: Registry, page: str, hub: Hub) -> str | None:
    """Return why a case study cannot be made at this scale, or None."""
    cases = registry.entry(page, Cases)
    if (split_id := registry.binding(cases.role)) is None:
        return not_bound(registry.config.scale, cases.role)
    players = registry.players(cases).values()
    reasons = (why_unavailable(registry, system, split_id, hub) for system in players)
    return next(filter(None, reasons), None)


class CasesInputs(PageInputs):
    """Inputs and options of the stage cases."""

    def _split_id(self, wildcards: Wildcards) -> SplitId:
        return self.registry.bound_split(self.registry.entry(wildcards.page, Cases).role)

    def of_split(self, template: Template) -> Callable[[Wildcards], str]:
        """Return an input function that gives a file of the page's split."""
        return lambda wildcards: self.fill(template, self._split_id(wildcards))

    def _lists(self, wildcards: Wildcards) -> dict[str, str]:
        runs = bind_cases(self.registry, wildcards.page, self.hub).runs
        split_id = self._split_id(wildcards)
        return {name: self.fill(self.paths.run, split_id, run=run) for name, run in runs.items()}

    def lists(self, wildcards: Wildcards) -> list[str]:
        """Return the runs that the page lists."""
        return list(self._lists(wildcards).values())

    def list_options(self, wildcards: Wildcards) -> str:
        """Return `--list NAME=RUN` for each run that the page lists."""
        return " ".join(f"--list {name}={path}" for name, path in self._lists(wildcards).items())

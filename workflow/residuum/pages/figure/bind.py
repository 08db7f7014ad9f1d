"""Bind the figures of the chosen papers to a scale, and find the files that they read.

Usage: `bind_figure(registry, "clear-figure1", hub)`; its inputs:
`FigureInputs(registry, paths, hub).metrics(wildcards)`.
"""

from itertools import chain

from residuum.config.registry import Registry, SplitId
from residuum.config.schema.systems import DenseSystem
from residuum.pages.figure.entry import DEPTH, EFFORT, SNAPSHOT, Figure
from residuum.pages.figure.job import BoundFigure
from residuum.pages.inputs import PageInputs, ref_of
from residuum.pages.sides import apart, paired_runs, why_no_run
from residuum.wiring.availability import Hub
from residuum.wiring.base import Wildcards, residual_of
from residuum.wiring.memo import memoised
from residuum.wiring.models import models_behind, trained_by_folds, trained_runs
from residuum.wiring.paths import Template
from residuum.wiring.rerankers import pair_files


@memoised
def bind_figure(registry: Registry, page: str, hub: Hub) -> BoundFigure:
    """Bind a figure: its splits, the runs of available series, and why other series have none."""
    figure, compares = registry.entry(page, Figure), registry.comparability(page)
    roles = {series.id: series.role or figure.role for series in figure.series}
    split_ids = {series: registry.binding(role) for series, role in roles.items()}
    systems = registry.players(figure)
    than = [name for name in systems if name not in split_ids]
    absent = {
        series: why
        for series, split_id in split_ids.items()
        if (why := why_no_run(registry, roles[series], [systems[n] for n in (series, *than)], hub))
        or (why := _unsearched(registry, figure, systems[series], split_id))
    }
    drawn = [series for series in split_ids if series not in absent]
    shown = {name: systems[name] for name in (*drawn, *than * bool(drawn))}
    if figure.of_curves or not drawn:
        runs = {name: registry.runs(system) for name, system in shown.items()}
    elif why := apart(registry, [*shown.values()]):
        absent, drawn, runs = absent | dict.fromkeys(drawn, why), [], {}
    else:  # tests compare points seed by seed
        runs = dict(zip(shown, paired_runs(registry, [*shown.values()]), strict=True))
    cells = [(systems[name], split_ids[one]) for one in drawn for name in (one, *than)]
    return BoundFigure(
        id=page,
        entry=figure,
        tests=registry.tests[figure.tests],
        splits={name: ref_of(split_id) for name, split_id in split_ids.items()},
        residual=residual_of(registry, dict.fromkeys(split_ids.values())),
        runs=runs,
        sweep=registry.sweeps[figure.sweep] if figure.sweep else None,
        snapshots=_snapshots(registry, figure, {one: systems[one] for one in drawn}),
        absent=absent,
        by_folds=trained_by_folds(registry, cells),
        models=models_behind(registry, cells),
        trained_runs=trained_runs(registry, cells),
        scale=registry.config.scale,
        comparable=compares.comparable,
        reason=compares.reason,
        but=compares.but,
    )


def why_not_made(registry: Registry, page: str, hub: Hub) -> str | None:
    """Return why a figure cannot be made at this scale, or None.

    A figure with reported numbers is always made; another figure needs a series with runs.
    """
    bound = bind_figure(registry, page, hub)
    return None if bound.runs or bound.entry.judged else next(iter(bound.absent.values()))


def _snapshots(registry: Registry, figure: Figure, series: dict[str, str]) -> dict[str, int]:
    """Return the number of snapshots of each series of a figure over snapshots."""
    counts = {one: registry.snapshots_behind(system) for one, system in series.items()}
    return {one: n for one, n in counts.items() if n} if figure.over == SNAPSHOT else {}


def _unsearched(
    registry: Registry, figure: Figure, system: str, split_id: SplitId | None
) -> str | None:
    """Return why a figure over efforts cannot show a system on a split, or None."""
    if figure.over != EFFORT or split_id is None:
        return None
    dataset = registry.datasets[split_id.dataset]
    if earlier := dataset.judged_before(split_id.split):
        return f"a sweep leaves no docs out, as those judged in {', '.join(earlier)} would have to"
    if dataset.removes_query(split_id.split):
        return "a sweep leaves no docs out, as the doc with a query's own id would have to"
    model = registry.model_for(registry.entry(system, DenseSystem).model, split_id.dataset)
    folds = registry.folds(model)
    return f"a sweep searches for one model, not for those of {', '.join(folds)}" if folds else None


class FigureInputs(PageInputs):
    """Inputs of the stage figure."""

    def of_rerankers(self, template: Template, page: str) -> list[str]:
        """Return a file of each reranker behind a figure over depths; none for other figures."""
        return [self.fill(template, on, reranker=name) for name, on in self._rerankers(page)]

    def _rerankers(self, page: str) -> list[tuple[str, SplitId]]:
        bound = bind_figure(self.registry, page, self.hub)
        players, made = self.registry.players(bound.entry), dict[tuple[str, SplitId], None]()
        for series in bound.runs if bound.entry.over == DEPTH else ():
            split_id = SplitId(*str(bound.splits[series]).split("/"))
            made[self.registry.reranker(players[series]), split_id] = None
        return list(made)

    def of_sweeps(self, template: Template, page: str) -> list[str]:
        """Return a file of each run that a figure over efforts shows; none for other figures."""
        bound = bind_figure(self.registry, page, self.hub)
        figure = bound.entry
        if figure.over != EFFORT or (split_id := self.registry.binding(figure.role)) is None:
            return []
        runs = dict.fromkeys(chain.from_iterable(bound.runs.values()))
        return [self.fill(template, split_id, sweep=figure.sweep, run=run) for run in runs]

    def curves(self, wildcards: Wildcards) -> list[str]:
        """Return the curves of a figure over depths or efforts."""
        of_depths = self.of_rerankers(self.paths.depth_curve, wildcards.page)
        return of_depths + self.of_sweeps(self.paths.sweep, wildcards.page)

    def costs(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests of a figure's scored pairs (over depths) or searches (efforts)."""
        template, rerankers = self.paths.pairs.manifest, self._rerankers(wildcards.page)
        of_pairs = (pair_files(self.registry, template, *reranker) for reranker in rerankers)
        of_sweeps = self.of_sweeps(self.paths.sweep.manifest, wildcards.page)
        return [*chain.from_iterable(of_pairs), *of_sweeps]

    def timings(self, wildcards: Wildcards) -> list[str]:
        """Return the timings of the searches of a figure over efforts."""
        return self.of_sweeps(self.paths.timing, wildcards.page)

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics of the runs of a figure over groups or snapshots."""
        return self.metrics_at(bind_figure(self.registry, wildcards.page, self.hub).metrics())

    def groups(self, wildcards: Wildcards) -> list[str]:
        """Return the groups of queries of a figure over groups."""
        return self.groups_of(wildcards.page)

    def groups_of(self, page: str) -> list[str]:
        """Return the groups of queries of each split of a figure over groups."""
        bound = bind_figure(self.registry, page, self.hub)
        drawn = bound.drawn() if bound.entry.grouped else []
        splits = dict.fromkeys(str(bound.splits[series.id]) for series in drawn)
        split_ids = (SplitId(*split.split("/")) for split in splits)
        return [self.fill(self.paths.groups, p, grouping=bound.entry.over) for p in split_ids]

    def timed(self, wildcards: object) -> list[str]:
        """Return the drawings of search times for the chosen papers' figures over efforts."""
        pages = self.registry.chosen("figure")
        shown = [page for page in pages if self.of_sweeps(self.paths.timing, page)]
        return [self.paths.page_timing.fill(page=page) for page in shown]

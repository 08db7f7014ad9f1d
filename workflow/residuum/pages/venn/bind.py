"""Bind the circles of the chosen papers to a scale, and find the metrics that they show."""

from residuum.config.registry import Registry
from residuum.pages.inputs import PageInputs, ref_of
from residuum.pages.sides import apart, paired_runs, why_no_run
from residuum.pages.venn.entry import Venn
from residuum.pages.venn.job import BoundVenn
from residuum.wiring.availability import Hub
from residuum.wiring.base import Wildcards, residual_of
from residuum.wiring.memo import memoised
from residuum.wiring.models import models_behind, trained_by_folds


@memoised
def bind_venn(registry: Registry, page: str, hub: Hub) -> BoundVenn:
    """Bind circles: their split, the runs of both parts of each diagram, and missing runs."""
    venn, compares = registry.entry(page, Venn), registry.comparability(page)
    split_id, systems = registry.binding(venn.role), registry.players(venn)
    sides = {row.id: [f"{row.id}/dense", f"{row.id}/lexical"] for row in venn.rows}
    absent, runs = dict[str, str](), dict[str, list[str]]()
    for row, names in sides.items():
        pair = [systems[side] for side in names]
        if why := why_no_run(registry, venn.role, pair, hub) or apart(registry, pair):
            absent[row] = why
        else:
            runs |= zip(names, paired_runs(registry, pair), strict=True)
    cells = [(systems[side], split_id) for side in runs]
    return BoundVenn(
        id=page,
        entry=venn,
        split=ref_of(split_id),
        residual=residual_of(registry, [split_id]),
        runs=runs,
        absent=absent,
        by_folds=trained_by_folds(registry, cells),
        models=models_behind(registry, cells),
        scale=registry.config.scale,
        comparable=compares.comparable,
        reason=compares.reason,
        but=compares.but,
    )


class VennInputs(PageInputs):
    """Inputs of the stage venn."""

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics of the runs that the circles show."""
        return self.metrics_at(bind_venn(self.registry, wildcards.page, self.hub).metrics())

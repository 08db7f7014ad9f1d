"""Bind the chosen papers' pages of dimensions to a scale, and find their measurements."""

from residuum.cli.errors import not_bound
from residuum.config.registry import Registry, SplitId
from residuum.config.schema.models import LexicalVectors
from residuum.pages.dimensions.entry import Dimensions
from residuum.pages.dimensions.job import BoundDimensions
from residuum.pages.inputs import PageInputs, ref_of
from residuum.wiring.availability import Hub, why_unavailable
from residuum.wiring.base import Wildcards
from residuum.wiring.memo import memoised


@memoised
def bind_dimensions(registry: Registry, page: str, hub: Hub) -> BoundDimensions:
    """Bind a page of measurements: its split, and why measurements cannot be made."""
    table, compares = registry.entry(page, Dimensions), registry.comparability(page)
    split_id = registry.binding(table.role)
    absent = dict.fromkeys(
        (row.id for row in table.rows), not_bound(registry.config.scale, table.role)
    )
    if split_id:
        whys = {row.id: _why_not(registry, row.fidelity, split_id, hub) for row in table.rows}
        absent = {row: why for row, why in whys.items() if why}
    return BoundDimensions(
        id=page,
        entry=table,
        split=ref_of(split_id),
        absent=absent,
        scale=registry.config.scale,
        comparable=compares.comparable,
        reason=compares.reason,
        but=compares.but,
    )


def _why_not(registry: Registry, fidelity: str, split_id: SplitId, hub: Hub) -> str | None:
    vectors = registry.entry(registry.fidelities[fidelity].model, LexicalVectors)
    return why_unavailable(registry, vectors.system, split_id, hub)


class DimensionsInputs(PageInputs):
    """Inputs of the stage dimensions."""

    def measured(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests of the fidelity measurements that the page shows."""
        return self.of_page(wildcards.page)

    def of_page(self, page: str) -> list[str]:
        """Return the manifests of the fidelity measurements of a page."""
        folders = bind_dimensions(self.registry, page, self.hub).folders().values()
        return [
            f"{self.paths.fidelity_root}/{name}/manifest.json" for name in dict.fromkeys(folders)
        ]

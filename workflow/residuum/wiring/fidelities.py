"""What a measurement of fidelity is made from: vectors of all docs, and of a split's queries.

Usage: `Fidelities(registry, paths, hub).docs(wildcards)`. Must not know what is measured.
"""

from residuum.cli.errors import not_bound
from residuum.config import specs
from residuum.config.bindings import Place
from residuum.config.registry import Registry
from residuum.config.schema.figures import Dimensions
from residuum.config.schema.models import LexicalVectors
from residuum.wiring.answers import kept
from residuum.wiring.availability import Hub, why_unavailable
from residuum.wiring.corpora import shards_of
from residuum.wiring.drawn import BoundDimensions
from residuum.wiring.part import Part, Wildcards
from residuum.wiring.paths import Template, folder_of


@kept
def bind_dimensions(registry: Registry, page: str, hub: Hub) -> BoundDimensions:
    """Bind a page of measurements: its split, and why it has none."""
    table, (comparable, reason) = registry.entry(page, Dimensions), registry.comparability
    place = registry.binding(table.role)
    absent = dict.fromkeys(
        (row.id for row in table.rows), not_bound(registry.config.scale, table.role)
    )
    if place:
        whys = {row.id: _why_not(registry, row.fidelity, place, hub) for row in table.rows}
        absent = {row: why for row, why in whys.items() if why}
    return BoundDimensions(
        id=page,
        table=table,
        place="/".join(place) if place else None,
        absent=absent,
        scale=registry.config.scale,
        comparable=comparable,
        reason=reason,
    )


def _why_not(registry: Registry, fidelity: str, place: Place, hub: Hub) -> str | None:
    """Return why a measurement cannot be made of a split: that of BM25, or None."""
    vectors = registry.entry(registry.fidelities[fidelity].model, LexicalVectors)
    return why_unavailable(registry, vectors.system, place, hub)


class Fidelities(Part):
    """Inputs and options of the stages fidelity and dimensions."""

    def shown(self, wildcards: Wildcards) -> list[str]:
        """Return the measurements that a page shows."""
        folders = bind_dimensions(self.registry, wildcards.page, self.hub).folders().values()
        return [
            f"{self.paths.fidelity_root}/{name}/manifest.json" for name in dict.fromkeys(folders)
        ]

    def spec(self, wildcards: Wildcards) -> str:
        """Return the spec of a measurement."""
        return specs.of_entry(self.registry.fidelities[wildcards.fidelity])

    def docs(self, wildcards: Wildcards) -> list[str]:
        """Return the vectors of all shards of a corpus."""
        return self._vectors(self.paths.embeddings, wildcards)

    def queries(self, wildcards: Wildcards) -> list[str]:
        """Return the vectors of the queries of the splits that are searched."""
        return self._vectors(self.paths.query_embeddings, wildcards)

    def asked(self, wildcards: Wildcards) -> str:
        """Return the option that names the folder of those of one split."""
        [path] = self.queries(wildcards)
        return f"--queries {folder_of(path)}/{wildcards.split}"

    def _vectors(self, template: Template, wildcards: Wildcards) -> list[str]:
        model = self.registry.fidelities[wildcards.fidelity].model
        return shards_of(self.registry, template, wildcards.dataset, model, None)

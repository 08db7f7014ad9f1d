"""What a measurement of fidelity is made from: vectors of all docs, and of a split's queries.

Usage: `Fidelities(registry, paths, hub).docs(wildcards)`. Must not know what is measured.
"""

from residuum.config import specs
from residuum.pages.dimensions.bind import bind_dimensions
from residuum.wiring.corpora import shards_of
from residuum.wiring.part import Part, Wildcards
from residuum.wiring.paths import Template, folder_of


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

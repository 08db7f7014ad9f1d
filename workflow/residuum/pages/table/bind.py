"""Bind the tables of the chosen papers to a scale, and find the manifests behind them.

Usage: `bind_table(registry, "clear-table1", hub)`.
"""

from collections.abc import Iterator, Mapping
from itertools import product

from residuum.config.registry import Registry, SplitId
from residuum.config.schema.systems import RerankSystem
from residuum.config.schema.tests import Tests
from residuum.config.specs import FOR_READERS
from residuum.pages.entries import parts_of
from residuum.pages.table.entry import Table
from residuum.pages.table.job import BoundTable
from residuum.pages.table.sides import reasons_of, sides_of
from residuum.wiring.availability import Hub
from residuum.wiring.base import Part, Wildcards, residual_of
from residuum.wiring.memo import memoised as kept
from residuum.wiring.models import models_behind, trained_by_folds
from residuum.wiring.runs import played_rerankers


@kept
def bind_table(registry: Registry, page: str, hub: Hub) -> BoundTable:
    """Bind a table: its splits, the runs of its rows, and why cells have no runs at this scale."""
    table, (comparable, reason) = registry.entry(page, Table), registry.comparability
    systems = registry.players(table)
    split_ids = {column.id: registry.binding(column.role) for column in table.columns}
    reasons = reasons_of(registry, systems, table, hub)
    run = [(row, column) for row, of in reasons.items() for column, why in of.items() if not why]
    cells = [(systems[table.part(row, column)], split_ids[column]) for row, column in run]
    return BoundTable(
        id=page,
        entry=table,
        tests=registry.tests[table.tests],
        splits={
            name: "/".join(split_id) if split_id else None for name, split_id in split_ids.items()
        },
        runs={part: registry.runs(system) for part, system in systems.items()},
        systems={
            p: registry.systems[n].model_dump(exclude=FOR_READERS) for p, n in systems.items()
        },
        absent={row: {c: why for c, why in of.items() if why} for row, of in reasons.items()},
        rerankers=played_rerankers(registry, systems.values()),
        derived={r: sides for r in reasons if (sides := sides_of(registry, systems, r, table))},
        residual=residual_of(registry, split_ids.values()),
        by_folds=trained_by_folds(registry, cells),
        models=models_behind(registry, cells),
        scale=registry.config.scale,
        comparable=comparable,
        reason=reason,
    )


def family(registry: Registry, page: str) -> list[str]:
    """Return the other tables whose comparisons are corrected together with a table's."""
    tables = {n: entry for n, entry in registry.pages.items() if isinstance(entry, Table)}
    return corrected_with(page, tables, registry.tests[tables[page].tests])


def corrected_with(page: str, tables: Mapping[str, Table], tests: Tests) -> list[str]:
    """Return the other tables whose comparisons are corrected together with a table's.

    `tables` holds the tables of all papers; `tests` are the table's own tests.
    """
    if tests.family != "paper":
        return []
    paper, own = parts_of(page)[0], tables[page].tests
    return [
        other
        for other, table in tables.items()
        if other != page and parts_of(other)[0] == paper and table.tests == own
    ]


class Arithmetic(Part):
    """The manifests of models, query embeddings and scored pairs behind a table."""

    def of_table(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests behind a table's measured cells, without duplicates."""
        table = bind_table(self.registry, wildcards.page, self.hub)
        players = self.registry.players(table.entry)
        cells = {(players[row.part(column.id)], column.role): None for row, column in table.cells()}
        return list(
            dict.fromkeys(
                path
                for system, role in cells
                for path in self._behind(system, self.registry.bound_split(role))
            )
        )

    def _behind(self, system: str, split_id: SplitId) -> Iterator[str]:
        registry, paths = self.registry, self.paths
        for name in registry.trained_behind(system):
            trainings = registry.trainings(registry.model_for(name, split_id.dataset))
            for model, seed in product(trainings, registry.seeds_of(system)):
                yield paths.checkpoint.fill(model=model, seed=seed)
                if name in registry.of_kind("dual-encoder"):
                    of = {"dataset": split_id.dataset, "model": model, "seed": seed}
                    yield paths.query_embeddings.fill(**of)
        if isinstance(registry.systems[system], RerankSystem):
            yield self.fill(paths.pairs.manifest, split_id, reranker=registry.reranker(system))

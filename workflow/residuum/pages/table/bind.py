"""Bind the tables of the chosen papers to a scale, and find the files that they read.

Usage: `bind_table(registry, "clear-table1", hub)`; its inputs: `TableInputs(registry, paths, hub)
.metrics(wildcards)`.
"""

from collections.abc import Iterator, Mapping
from itertools import product

from residuum.config.registry import Registry, SplitId
from residuum.config.schema.models import ReleasedEncoder
from residuum.config.schema.scales import ReleasedReranker
from residuum.config.schema.systems import DenseSystem, RerankSystem
from residuum.config.schema.tests import Tests
from residuum.config.specs import FOR_READERS
from residuum.pages.entries import parts_of
from residuum.pages.inputs import PageInputs, ref_of, spec_options
from residuum.pages.sides import apart, dense_and_lexical, paired_runs
from residuum.pages.table.entry import Column, Row, Table
from residuum.pages.table.job import ITSELF, NO_PARTS, BoundTable, Sides, metrics_files
from residuum.wiring.availability import Hub, left_out, why_unavailable
from residuum.wiring.base import Wildcards, residual_of
from residuum.wiring.memo import memoised
from residuum.wiring.models import (
    models_behind,
    models_made,
    rule_records,
    trained_by_folds,
    trained_runs,
)
from residuum.wiring.rerankers import asking_of, pair_files, played_rerankers, player_of
from residuum.wiring.runs import tuning_split


@memoised
def bind_table(registry: Registry, page: str, hub: Hub) -> BoundTable:
    """Bind a table: its splits, the runs of its rows, and why cells have no runs at this scale."""
    table, compares = registry.entry(page, Table), registry.comparability(page)
    systems = registry.players(table)
    split_ids = {column.id: registry.binding(column.role) for column in table.columns}
    absent: dict[str, dict[str, str]] = {}
    derived: dict[str, dict[str, Sides]] = {}
    cells = []
    for row, column in product(table.rows, table.columns):
        system = systems.get(table.part(row.id, column.id))
        if system is None:
            continue
        other = column.than and systems.get(table.part(column.than, column.id))
        reasons = absent.setdefault(row.id, {})
        why = ITSELF if column.than == row.id else why_empty(registry, system, column, other, hub)
        if why:
            reasons[column.id] = why
        else:
            cells.append((system, split_ids[column.id]))
        if sides := _sides(registry, system, row, column, other):
            derived.setdefault(row.id, {})[column.id] = sides
    return BoundTable(
        id=page,
        entry=table,
        tests=registry.tests[table.tests],
        splits={name: ref_of(split_id) for name, split_id in split_ids.items()},
        runs={part: registry.runs(system) for part, system in systems.items()},
        systems={
            p: registry.systems[n].model_dump(exclude=FOR_READERS) for p, n in systems.items()
        },
        absent=absent,
        rerankers=played_rerankers(registry, systems.values()),
        derived=derived,
        left_out=[row.id for row in table.rows if _left_out(registry, row, systems, split_ids)],
        vectors={part: n for part, name in systems.items() if (n := _vectors(registry, name)) > 1},
        residual=residual_of(registry, split_ids.values()),
        by_folds=trained_by_folds(registry, cells),
        models=models_behind(registry, cells),
        trained_runs=trained_runs(registry, cells),
        scale=registry.config.scale,
        comparable=compares.comparable,
        reason=compares.reason,
        but=compares.but,
    )


def _left_out(
    registry: Registry,
    row: Row,
    systems: Mapping[str, str],
    split_ids: Mapping[str, SplitId | None],
) -> bool:
    """Say whether a scale leaves a row out in each column to which it binds a split."""
    named = {
        (systems[row.part(column)], split_id.dataset)
        for column, split_id in split_ids.items()
        if split_id and row.part(column) in systems
    }
    return bool(named) and all(left_out(registry, *each) for each in named)


def _vectors(registry: Registry, system: str) -> int:
    """Return the most vectors of a text by a dense system; 1 for other systems."""
    entry = registry.systems[system]
    return registry.vectors_of_text(entry.model) if isinstance(entry, DenseSystem) else 1


def why_empty(
    registry: Registry, system: str, column: Column, other: str | None, hub: Hub
) -> str | None:
    """Return why a cell has no runs, or None if it has runs.

    `other` is the system of the row `than`.
    """
    split_id = registry.binding(column.role)
    for name in filter(None, [system, column.over]):
        if why := why_unavailable(registry, name, split_id, hub):
            return why
    if column.than is None:
        return NO_PARTS if column.of_parts and not dense_and_lexical(registry, system) else None
    if other is None:
        return f"{column.than}, whose values are to be beaten, is not run"
    return why_unavailable(registry, other, split_id, hub) or apart(registry, [system, other])


def _sides(
    registry: Registry, system: str, row: Row, column: Column, other: str | None
) -> Sides | None:
    """Return the runs of both sides of a cell; None if the cell is not derived from two runs."""
    pair = dense_and_lexical(registry, system) if column.of_parts else None
    if other and column.than != row.id:
        pair = system, other
    if pair is None:
        return None
    first, second = paired_runs(registry, pair)
    return Sides(first=first, second=second)


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
    paper, named = parts_of(page)[0], tables[page].tests
    return [
        other
        for other, table in tables.items()
        if other != page and parts_of(other)[0] == paper and table.tests == named
    ]


class TableInputs(PageInputs):
    """Inputs and options of the stages table and significance."""

    def _bound(self, *pages: str) -> list[BoundTable]:
        return [bind_table(self.registry, page, self.hub) for page in pages]

    def _tested(self, wildcards: Wildcards) -> list[str]:
        """Return all tables whose tests are corrected together with a table's, itself first."""
        return [wildcards.page, *family(self.registry, wildcards.page)]

    def _metrics(self, *pages: str) -> list[str]:
        return self.metrics_at(metrics_files(self._bound(*pages)))

    def metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of all cells of a table."""
        return self._metrics(wildcards.page)

    def tested_metrics(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics files of all tables whose tests are corrected together."""
        return self._metrics(*self._tested(wildcards))

    def records(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests of metrics files that a table's notes read."""
        [table] = self._bound(wildcards.page)
        return self.metrics_at(table.metrics_records())

    def groups_of(self, *pages: str) -> list[str]:
        """Return the groups of queries that columns of tables show, without duplicates."""
        named = dict.fromkeys(group for table in self._bound(*pages) for group in table.groups())
        return [
            self.fill(self.paths.groups, SplitId(*split_ref.split("/")), grouping=grouping)
            for split_ref, grouping in named
        ]

    def groups(self, wildcards: Wildcards) -> list[str]:
        """Return the groups of queries that columns of a table show."""
        return self.groups_of(wildcards.page)

    def tested_groups(self, wildcards: Wildcards) -> list[str]:
        """Return the groups of queries of all tables whose tests are corrected together."""
        return self.groups_of(*self._tested(wildcards))

    def tested_learning(self, wildcards: Wildcards) -> list[str]:
        """Return the learning verdicts for all tables whose tests are corrected together."""
        return self.learning_of(self._bound(*self._tested(wildcards)))

    def limits(self, wildcards: Wildcards) -> list[str]:
        """Return what says whether the data could have shown a difference between rows."""
        tables = self._bound(*self._tested(wildcards))
        return self.limits_of(basis for table in tables for basis in table.bases_compared())

    def together(self, wildcards: Wildcards) -> str:
        """Return `--together SPEC` for each other table whose tests are corrected together."""
        return spec_options(
            self.registry, self.hub, "together", family(self.registry, wildcards.page)
        )

    def tuning(self, wildcards: Wildcards) -> list[str]:
        """Return the records of what was chosen behind a table's available cells."""
        [table] = self._bound(wildcards.page)
        files: dict[str, None] = {}
        players = self.registry.players(table.entry)
        for row, column in table.available():
            split_id = self.registry.bound_split(column.role)
            system = players[row.part(column.id)]
            if tuned := tuning_split(self.registry, system, split_id):
                runs = table.runs_at(row.id, column)
                files |= {self.fill(self.paths.tuning, tuned, run=run): None for run in runs}
            for model in dict.fromkeys(models_made(self.registry, system, split_id.dataset)):
                files |= dict.fromkeys(rule_records(self.registry, self.paths, model).values())
        return list(files)

    def computed(self, wildcards: Wildcards) -> list[str]:
        """Return the manifests of models, query embeddings and scored pairs behind a table.

        They say in which precision the measured cells were computed.
        """
        [table] = self._bound(wildcards.page)
        players = self.registry.players(table.entry)
        cells = {(players[row.part(column.id)], column.role): None for row, column in table.cells()}
        split_ids = ((system, self.registry.bound_split(role)) for system, role in cells)
        return list(dict.fromkeys(path for cell in split_ids for path in self._behind(*cell)))

    def _behind(self, system: str, split_id: SplitId) -> Iterator[str]:
        registry, paths = self.registry, self.paths
        for name in registry.trained_behind(system):
            trainings = registry.trainings(registry.model_for(name, split_id.dataset))
            for model, seed in product(trainings, registry.seeds_of(system)):
                yield paths.checkpoint.fill(model=model, seed=seed)
                if name in registry.of_kind("dual-encoder"):
                    dataset = split_id.dataset
                    yield paths.query_embeddings.fill(dataset=dataset, model=model, seed=seed)
        for name in registry.given_behind(system):
            made = {"model": name, "seed": ReleasedEncoder.seed}
            if isinstance(entry := registry.models[name], ReleasedEncoder):
                yield from map(self.taken, filter(None, [name, entry.queries]))
            yield paths.query_embeddings.fill(dataset=split_id.dataset, **made)
        if isinstance(registry.systems[system], RerankSystem):
            reranker = registry.reranker(system)
            yield from pair_files(registry, paths.pairs.manifest, reranker, split_id)
            player = player_of(registry, reranker)
            if isinstance(player, ReleasedReranker):
                read = player.model, asking_of(registry, player)
                yield from map(self.taken, filter(None, read))

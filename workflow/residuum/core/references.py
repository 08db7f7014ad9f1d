"""Cross-references between the entries of config/: every name that an entry uses must exist.

Called by `residuum.core.registry.load`. Must not know the form of entries beyond their names.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residuum.core import schema
from residuum.core.errors import unknown

if TYPE_CHECKING:
    from residuum.core.registry import Registry


def faults_between(
    registry: "Registry", others: list[schema.Scale], folder: Path, complete: bool
) -> list[str]:
    """Return one line per broken reference; `others` are the scales that were not chosen.

    `complete` says whether every entry loaded: what the tables need is followed only then.
    """
    faults = _all_faults(registry, others, folder)
    return faults or [*(_reachable_faults(registry, folder) if complete else [])]


def _all_faults(registry: "Registry", others: list[schema.Scale], folder: Path) -> list[str]:
    roles = set().union(*(scale.roles for scale in [registry.scale, *others]))
    backbones = set().union(*(scale.backbones for scale in [registry.scale, *others]))
    budgets = set().union(*(scale.budgets for scale in [registry.scale, *others]))
    return [
        *_scale_faults(registry, folder),
        *_model_faults(registry, folder, roles, backbones),
        *_budget_faults(registry, folder, budgets),
        *_system_faults(registry, folder, roles),
        *_table_faults(registry, folder, roles),
        *_overlay_faults(registry),
        *_dataset_faults(registry, folder),
        *_paper_faults(registry, folder),
    ]


def _has_faults(folder: Path, kind: str, name: str) -> bool:
    """An entry whose file exists but did not load is reported as such, not as unknown."""
    return (folder / kind / f"{name}.yaml").exists()


def _scale_faults(registry: "Registry", folder: Path) -> Iterator[str]:
    file = folder / "scales" / f"{registry.config.scale}.yaml"
    for role, cast in registry.scale.roles.items():
        dataset, split = cast.split("/")
        add = f"{folder}/datasets/{dataset}.yaml"
        if dataset not in registry.datasets:
            if not _has_faults(folder, "datasets", dataset):
                text = unknown("dataset", dataset, registry.datasets, add)
                yield f"{file}: roles.{role}: {text}"
        elif split not in registry.datasets[dataset].splits:
            splits = registry.datasets[dataset].splits
            yield f"{file}: roles.{role}: {unknown('split', split, splits, add)}"
    for role, backbone in registry.scale.backbones.items():
        if not isinstance(backbone, schema.FromModel) or backbone.model in registry.models:
            continue
        if not _has_faults(folder, "models", backbone.model):
            add = f"{folder}/models/{backbone.model}.yaml"
            text = unknown("model", backbone.model, registry.models, add)
            yield f"{file}: backbones.{role}: {text}"


def _model_faults(
    registry: "Registry", folder: Path, roles: set[str], backbones: set[str]
) -> Iterator[str]:
    for name, model in registry.models.items():
        file = folder / "models" / f"{name}.yaml"
        if model.kind == "backbone":
            yield from _role_fault(file, "corpus", model.corpus, roles)
            continue
        yield from _role_fault(file, "train_on", model.train_on, roles)
        if model.backbone not in backbones:
            yield f"{file}: backbone: {unknown('backbone role', model.backbone, backbones)}"
        if model.negatives.kind == "same_as":
            yield from _same_as_faults(file, model.negatives.model, registry)
        elif model.negatives.kind != "in_batch":
            key = "negatives.system"
            yield from _system_fault(file, key, model.negatives.system, registry, ["lexical"])


def _budget_faults(registry: "Registry", folder: Path, budgets: set[str]) -> Iterator[str]:
    for name, model in registry.models.items():
        for budget in model.budgets:
            if budget not in budgets:
                file = folder / "models" / f"{name}.yaml"
                add = "budgets: of a config/scales/*.yaml"
                yield f"{file}: budgets: {unknown('budget', budget, budgets, add)}"


def _same_as_faults(file: Path, name: str, registry: "Registry") -> Iterator[str]:
    other = registry.models.get(name)
    if other is None and _has_faults(file.parents[1], "models", name):
        return
    if other is None:
        yield f"{file}: negatives.model: {unknown('model', name, registry.models)}"
    elif other.kind != "dual-encoder" or other.negatives.kind in ("same_as", "in_batch"):
        yield f"{file}: negatives.model: '{name}' has no tuples of its own"


def _system_faults(registry: "Registry", folder: Path, roles: set[str]) -> Iterator[str]:
    for name, system in registry.systems.items():
        file = folder / "systems" / f"{name}.yaml"
        if system.kind == "dense":
            model = registry.models.get(system.model)
            if model is None and _has_faults(folder, "models", system.model):
                continue
            if model is None or model.kind != "dual-encoder":
                known = [m for m, e in registry.models.items() if e.kind == "dual-encoder"]
                add = f"{folder}/models/{system.model}.yaml"
                yield f"{file}: model: {unknown('model', system.model, known, add)}"
        elif system.kind == "fusion":
            yield from _system_fault(file, "lexical", system.lexical, registry, ["lexical"])
            yield from _system_fault(file, "dense", system.dense, registry, ["dense"])
            yield from _role_fault(file, "weight.tune_on", system.weight.tune_on, roles)
            yield from _measure_fault(file, "weight.measure", system.weight.measure)
            yield from _true_score_fault(file, system, registry)


def _true_score_fault(file: Path, system: Any, registry: "Registry") -> Iterator[str]:
    lexical = registry.systems.get(system.lexical)
    if (
        lexical is not None
        and getattr(lexical, "rm3", None)
        and (system.missing.lexical == "true_score")
    ):
        yield (
            f"{file}: missing.lexical: true_score is computed for plain BM25 only and "
            f"'{system.lexical}' uses RM3; write minimum"
        )


def _table_faults(registry: "Registry", folder: Path, roles: set[str]) -> Iterator[str]:
    for table_id, table in registry.tables.items():
        paper, _, name = table_id.partition("-")
        file = folder / "papers" / paper / f"{name}.yaml"
        columns = [column.id for column in table.columns]
        rows = [row.id for row in table.rows]
        yield from _twice(file, "columns", columns)
        yield from _twice(file, "rows", rows)
        for column in table.columns:
            yield from _role_fault(file, f"columns.{column.id}.role", column.role, roles)
            yield from _measure_fault(file, f"columns.{column.id}.measure", column.measure)
        for row in table.rows:
            if row.system is not None:
                yield from _system_fault(file, f"rows.{row.id}.system", row.system, registry)
            if row.below is not None and row.below not in rows:
                yield f"{file}: rows.{row.id}.below: {unknown('row', row.below, rows)}"
        yield from _reported_faults(file, table, rows, columns)


def _reported_faults(
    file: Path, table: schema.Table, rows: list[str], columns: list[str]
) -> Iterator[str]:
    known = {row.index for row in table.rows}
    for row, cells in table.reported.items():
        if row not in rows:
            yield f"{file}: reported.{row}: {unknown('row', row, rows)}"
        for column, text in cells.items():
            below = {r.id: r.below for r in table.rows}.get(row, "unknown row")
            if schema.Cell.parse(text).below and below is None:
                yield f"{file}: reported.{row}.{column}: an arrow, but the row has no `below:`"
            if column not in columns:
                yield f"{file}: reported.{row}.{column}: {unknown('column', column, columns)}"
            for index in schema.Cell.parse(text).beats:
                if index not in known:
                    yield f"{file}: reported.{row}.{column}: no row has the index {index}"
    for column in table.tolerance:
        if column not in [*columns, "default"]:
            yield f"{file}: tolerance.{column}: {unknown('column', column, columns)}"


def _dataset_faults(registry: "Registry", folder: Path) -> Iterator[str]:
    for name, dataset in registry.datasets.items():
        file = folder / "datasets" / f"{name}.yaml"
        for split, entry in dataset.splits.items():
            for measure in entry.measures:
                yield from _measure_fault(file, f"splits.{split}.measures", measure)


def _overlay_faults(registry: "Registry") -> Iterator[str]:
    for name in registry.models:
        try:
            registry.model(name)
        except ValueError as error:
            yield str(error)


def _paper_faults(registry: "Registry", folder: Path) -> Iterator[str]:
    papers = sorted(p.name for p in (folder / "papers").iterdir() if any(p.glob("*.yaml")))
    for paper in registry.config.papers:
        if paper not in papers:
            add = f"{folder}/papers/{paper}/<table>.yaml"
            yield f"config: papers: {unknown('paper', paper, papers, add)}"


def _reachable_faults(registry: "Registry", folder: Path) -> Iterator[str]:
    """What the chosen tables need of the chosen scale; columns whose role it lacks are left out."""
    file = folder / "scales" / f"{registry.config.scale}.yaml"
    for table_id, table in registry.tables.items():
        if table_id.partition("-")[0] not in registry.config.papers:
            continue
        if any(registry.cast(column.role) for column in table.columns):
            for system in sorted({row.system for row in table.rows if row.system}):
                yield from _system_needs(registry, file, system)


def _system_needs(registry: "Registry", file: Path, name: str) -> Iterator[str]:
    system = registry.systems[name]
    if system.kind == "fusion":
        yield from _uncast(registry, file, system.weight.tune_on, f"systems/{name}.yaml")
    model = registry.model_of(name)
    if model:
        yield from _model_needs(registry, file, model)


def _model_needs(registry: "Registry", file: Path, name: str) -> Iterator[str]:
    model = registry.models[name]
    if model.kind == "backbone":
        yield from _uncast(registry, file, model.corpus, f"models/{name}.yaml")
        return
    yield from _uncast(registry, file, model.train_on, f"models/{name}.yaml")
    cast = registry.scale.backbones.get(model.backbone)
    if cast is None:
        yield f"{file}: backbones: nothing plays {model.backbone}, which models/{name}.yaml needs"
    elif isinstance(cast, schema.FromModel):
        yield from _model_needs(registry, file, cast.model)


def _uncast(registry: "Registry", file: Path, role: str, user: str) -> Iterator[str]:
    if registry.cast(role) is None:
        yield f"{file}: roles: nothing plays {role}, which {user} needs"


def _role_fault(file: Path, key: str, role: str, roles: Iterable[str]) -> Iterator[str]:
    if role not in roles:
        yield f"{file}: {key}: {unknown('role', role, roles, 'roles: of a config/scales/*.yaml')}"


def _measure_fault(file: Path, key: str, measure: str) -> Iterator[str]:
    from residuum.core.registry import MEASURE

    if not MEASURE.match(measure):
        yield (
            f"{file}: {key}: no measure '{measure}'; write such as RR@10, nDCG@10, AP@1000 or "
            "R(rel=2)@1000 (P, R, Success and Judged need a cut-off)"
        )


def _system_fault(
    file: Path, key: str, name: str, registry: "Registry", kinds: list[str] | None = None
) -> Iterator[str]:
    system = registry.systems.get(name)
    fitting = [n for n, s in registry.systems.items() if kinds is None or s.kind in kinds]
    config = next(p for p in file.parents if (p / "systems").is_dir())
    if system is None and _has_faults(config, "systems", name):
        return
    if system is None:
        add = f"config/systems/{name}.yaml"
        yield f"{file}: {key}: {unknown('system', name, fitting, add)}"
    elif name not in fitting:
        yield f"{file}: {key}: '{name}' is a {system.kind} system; fitting: {', '.join(fitting)}"


def _twice(file: Path, key: str, ids: list[str]) -> Iterator[str]:
    for name in sorted({name for name in ids if ids.count(name) > 1}):
        yield f"{file}: {key}: '{name}' stands twice"

"""Cross-references between the entries of config/: every name that an entry uses must exist.

Called by `residuum.core.loading.load`. Must not know the form of entries beyond their names.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residuum.core import schema
from residuum.core.errors import unknown

LEVEL = r"(\(rel=\d+\))?"
MEASURE = re.compile(
    rf"^((AP|RR|nDCG){LEVEL}(@\d+)?|(P|R|Success){LEVEL}@\d+|(Bpref|Rprec){LEVEL}|Judged@\d+)$"
)
BY_ANSWERS = re.compile(r"^AnswerAccuracy@\d+$")
STARTS = ("backbone", "masked-language", "dual-encoder", "cross-encoder")

if TYPE_CHECKING:
    from residuum.core.registry import Registry


def faults_between(registry: "Registry", others: list[schema.Scale], folder: Path) -> list[str]:
    """Return one line per broken reference; `others` are the scales that were not chosen."""
    from residuum.core.page_references import judgement_faults, page_faults

    scales = [registry.scale, *others]
    roles, backbones, rerankers, budgets = (
        set().union(*(getattr(scale, key) for scale in scales))
        for key in ("roles", "backbones", "rerankers", "budgets")
    )
    return [
        *_scale_faults(registry, folder),
        *_model_faults(registry, folder, roles, backbones),
        *_budget_faults(registry, folder, budgets),
        *_cycle_faults(registry, folder),
        *_system_faults(registry, folder, roles, rerankers),
        *page_faults(registry, folder, roles),
        *_overlay_faults(registry),
        *judgement_faults(registry),
        *_dataset_faults(registry, folder),
        *_paper_faults(registry, folder),
    ]


def _has_faults(folder: Path, kind: str, name: str) -> bool:
    """Say whether an entry's file is there but did not load: its own fault is told instead."""
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
    for key in ("backbones", "rerankers"):
        for role, cast in getattr(registry.scale, key).items():
            yield from _cast_faults(registry, folder, f"{file}: {key}.{role}", cast, key)
    casts = registry.scale.backbones.values()
    if registry.config.encoder and all(isinstance(cast, schema.FromModel) for cast in casts):
        yield (
            f"config: encoder: {registry.config.encoder} would replace nothing: scale "
            f"{registry.config.scale} makes its backbones itself. Leave it out, or take a scale "
            "with backbones of a hub or a path, as nfcorpus"
        )


def _cast_faults(
    registry: "Registry", folder: Path, where: str, cast: Any, key: str
) -> Iterator[str]:
    if not isinstance(cast, schema.FromModel):
        return
    if cast.model not in registry.models and _has_faults(folder, "models", cast.model):
        return
    fits = ("cross-encoder",) if key == "rerankers" else STARTS
    known = [name for name, model in registry.models.items() if model.kind in fits]
    if cast.model not in known:
        add = f"{folder}/models/{cast.model}.yaml"
        yield f"{where}: {unknown('model', cast.model, known, add)}"


def _model_faults(
    registry: "Registry", folder: Path, roles: set[str], backbones: set[str]
) -> Iterator[str]:
    for name, model in registry.models.items():
        file = folder / "models" / f"{name}.yaml"
        for role in getattr(model, "corpora", []):
            yield from role_fault(file, "corpora", role, roles)
        if hasattr(model, "backbone") and model.backbone not in backbones:
            yield f"{file}: backbone: {unknown('backbone role', model.backbone, backbones)}"
        if hasattr(model, "train_on"):
            yield from role_fault(file, "train_on", model.train_on, roles)
            yield from _negatives_faults(file, model, registry)


def _negatives_faults(file: Path, model: Any, registry: "Registry") -> Iterator[str]:
    if model.negatives.same_as:
        yield from _same_as_faults(file, model, registry)
    elif model.negatives.pools:
        key, scores = "negatives.scores", model.negatives.scores
        yield from system_fault(file, key, scores, registry, ["lexical"])
        lexical = registry.systems.get(scores)
        if getattr(lexical, "expands", False) or getattr(lexical, "weights", None):
            yield f"{file}: {key}: '{scores}' is no plain BM25; its scores are kept"
        for source in model.negatives.runs:
            fits = ["lexical", "dense"]
            yield from system_fault(file, "negatives.pools", source.system, registry, fits)


def _budget_faults(registry: "Registry", folder: Path, budgets: set[str]) -> Iterator[str]:
    for kind in ("models", "systems"):
        for name, entry in getattr(registry, kind).items():
            for budget in getattr(entry, "budgets", []):
                if budget not in budgets:
                    file = folder / kind / f"{name}.yaml"
                    add = "budgets: of a config/scales/*.yaml"
                    yield f"{file}: budgets: {unknown('budget', budget, budgets, add)}"


def _same_as_faults(file: Path, model: Any, registry: "Registry") -> Iterator[str]:
    """Tell of tuples that are not there: pairs alone will do for a term-weights model only."""
    name = model.negatives.same_as
    other = registry.models.get(name)
    if other is None and _has_faults(file.parents[1], "models", name):
        return
    own = getattr(other, "negatives", None)
    if other is None:
        yield f"{file}: negatives.same_as: {unknown('model', name, registry.models)}"
    elif own is None or own.same_as or not (own.pools or model.kind == "term-weights"):
        yield f"{file}: negatives.same_as: '{name}' has no tuples of its own"


def _cycle_faults(registry: "Registry", folder: Path) -> Iterator[str]:
    """Tell of a model that, at this scale, would be made from itself."""
    for name in registry.models:
        seen, waiting = set(), _made_from(registry, name)
        while waiting and name not in seen:
            step = waiting.pop()
            waiting += [] if step in seen else _made_from(registry, step)
            seen.add(step)
        if name in seen:
            file, scale = folder / "models" / f"{name}.yaml", registry.config.scale
            yield f"{file}: at scale {scale} the model would be made from itself"


def _made_from(registry: "Registry", name: str) -> list[str]:
    """Return the models behind a model: what it starts from, and whose errors it learns from."""
    model = registry.models.get(name)
    cast = registry.scale.backbones.get(getattr(model, "backbone", ""))
    negatives = getattr(model, "negatives", None)
    if negatives and negatives.same_as:
        negatives = getattr(registry.models.get(negatives.same_as), "negatives", None)
    mined = [registry.systems.get(source.system) for source in negatives.runs] if negatives else []
    found = [getattr(cast, "model", None), *(_model_of(system) for system in mined)]
    return [step for step in found if step]


def _model_of(system: Any) -> str | None:
    return getattr(system, "model", None) or getattr(system, "weights", None)


def _system_faults(
    registry: "Registry", folder: Path, roles: set[str], rerankers: set[str]
) -> Iterator[str]:
    for name, system in registry.systems.items():
        file = folder / "systems" / f"{name}.yaml"
        if system.kind == "lexical":
            yield from _lexical_faults(file, system, registry, roles)
        elif system.kind == "dense":
            yield from _model_kind_fault(file, "model", system.model, "dual-encoder", registry)
        elif system.kind == "fusion":
            yield from _fusion_faults(file, system, registry, roles)
        elif system.kind == "rerank":
            yield from _rerank_faults(file, system, registry, roles, rerankers)
        else:
            for role in system.runs:
                yield from role_fault(file, "runs", role, roles)


def _lexical_faults(
    file: Path, system: Any, registry: "Registry", roles: set[str]
) -> Iterator[str]:
    if system.weights:
        yield from _model_kind_fault(file, "weights", system.weights, "term-weights", registry)
    for role, measure in (system.rm3_sweep.measures if system.rm3_sweep else {}).items():
        yield from role_fault(file, "rm3_sweep.measures", role, roles)
        yield from measure_fault(file, f"rm3_sweep.measures.{role}", measure)


def _model_kind_fault(
    file: Path, key: str, name: str, kind: str, registry: "Registry"
) -> Iterator[str]:
    known = [model for model, entry in registry.models.items() if entry.kind == kind]
    loaded = name in registry.models or not _has_faults(file.parents[1], "models", name)
    if name not in known and loaded:
        add = f"{file.parents[1]}/models/{name}.yaml"
        yield f"{file}: {key}: {unknown(f'{kind} model', name, known, add)}"


def _fusion_faults(file: Path, system: Any, registry: "Registry", roles: set[str]) -> Iterator[str]:
    yield from system_fault(file, "lexical", system.lexical, registry, ["lexical"])
    yield from system_fault(file, "dense", system.dense, registry, ["dense"])
    if system.weight.tune_on:
        yield from role_fault(file, "weight.tune_on", system.weight.tune_on, roles)
        yield from measure_fault(file, "weight.measure", system.weight.measure)
    lexical = registry.systems.get(system.lexical)
    if getattr(lexical, "expands", False) and system.missing.lexical == "true_score":
        yield (
            f"{file}: missing.lexical: true_score is computed for plain BM25 only and "
            f"'{system.lexical}' uses RM3; write minimum"
        )


def _rerank_faults(
    file: Path, system: Any, registry: "Registry", roles: set[str], rerankers: set[str]
) -> Iterator[str]:
    kinds = ["lexical", "dense", "fusion"]
    yield from system_fault(file, "first_stage", system.first_stage, registry, kinds)
    yield from role_fault(file, "depth.tune_on", system.depth.tune_on, roles)
    yield from measure_fault(file, "depth.measure", system.depth.measure)
    if not isinstance(system.reranker, str):
        yield from _cast_faults(
            registry, file.parents[1], f"{file}: reranker", system.reranker, "rerankers"
        )
    elif system.reranker not in rerankers:
        add = "rerankers: of a config/scales/*.yaml"
        yield f"{file}: reranker: {unknown('reranker role', system.reranker, rerankers, add)}"


def _dataset_faults(registry: "Registry", folder: Path) -> Iterator[str]:
    for name, dataset in registry.datasets.items():
        file = folder / "datasets" / f"{name}.yaml"
        for split, entry in dataset.splits.items():
            for measure in entry.measures:
                yield from measure_fault(file, f"splits.{split}.measures", measure, answers=True)


def _overlay_faults(registry: "Registry") -> Iterator[str]:
    for names, overlaid in (
        (registry.models, registry.model),
        (registry.systems, registry.system),
    ):
        for name in names:
            try:
                overlaid(name)
            except ValueError as error:
                yield str(error)


def _paper_faults(registry: "Registry", folder: Path) -> Iterator[str]:
    papers = sorted(p.name for p in (folder / "papers").iterdir() if any(p.glob("*.yaml")))
    for paper in registry.config.papers:
        if paper not in papers:
            add = f"{folder}/papers/{paper}/<table>.yaml"
            yield f"config: papers: {unknown('paper', paper, papers, add)}"


def role_fault(file: Path, key: str, role: str, roles: Iterable[str]) -> Iterator[str]:
    """Tell of a role that no scale casts."""
    if role not in roles:
        yield f"{file}: {key}: {unknown('role', role, roles, 'roles: of a config/scales/*.yaml')}"


def measure_fault(file: Path, key: str, measure: str, answers: bool = False) -> Iterator[str]:
    """Tell of a name that is no measure; `answers` says whether one by answers will do."""
    if MEASURE.match(measure) or (answers and BY_ANSWERS.match(measure)):
        return
    also = " or AnswerAccuracy@20" if answers else ""
    yield (
        f"{file}: {key}: no measure '{measure}'; write such as RR@10, nDCG@10, AP@1000, "
        f"R(rel=2)@1000{also} (P, R, Success and Judged need a cut-off)"
    )


def system_fault(
    file: Path, key: str, name: str, registry: "Registry", kinds: list[str] | None = None
) -> Iterator[str]:
    """Tell of a system that is not there or is not of a fitting kind."""
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

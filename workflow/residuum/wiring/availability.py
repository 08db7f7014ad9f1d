"""Why a system makes no run at this scale: an unbound role, missing data or a missing hub model.

Usage: `why_unavailable(registry, "clear-bert-large", split_id, hub)`, with `hub` a `Hub`. The rows
of such systems are not run; all other rows are. Only `hub` may use the network.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from residuum.cli.errors import ResiduumError, not_bound
from residuum.config import roots
from residuum.config.registry import Registry, SplitId
from residuum.config.schema.base import OWN, references
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.models import (
    Given,
    LexicalVectors,
    Program,
    ReleasedEncoder,
    ReleasedVectors,
    ReleasedWeights,
    VectorFile,
)
from residuum.config.schema.scales import FromHub, FromModel, FromPath, ReleasedReranker, Start
from residuum.config.schema.systems import (
    DenseSystem,
    ExternalSystem,
    FunctionSystem,
    HybridSystem,
    LexicalSystem,
    System,
)
from residuum.wiring.memo import memoised

SCRIPTS = (".py", ".sh", ".pl", ".jl", ".R", ".js")  # ends of words of a command that are files
Hub = Callable[[FromHub], str | None]  # why a model cannot be downloaded or read, or None
Reasons = Iterator[str | None]


def all_available(model: FromHub) -> str | None:
    """Suppose, as a dry run does, that every hub model can be downloaded."""
    return None


@memoised
def why_unavailable(
    registry: Registry, system: str, split_id: SplitId | None, hub: Hub
) -> str | None:
    """Return why a system has no run on a split, or None if it has a run."""
    return next(filter(None, _system(registry, system, split_id, hub)), None)


def _system(registry: Registry, system: str, split_id: SplitId | None, hub: Hub) -> Reasons:
    entry = registry.systems[system]
    yield left_out(registry, system, split_id and split_id.dataset)
    if isinstance(entry, ExternalSystem):
        paths = external_files(registry, system, split_id)
        if not paths:
            yield f"{system} is an external run of {', '.join(entry.runs)} only"
        yield from (f"no such file: {p}. {entry.source}" for p in paths if not p.is_file())
    if isinstance(entry, FunctionSystem) and not Path(entry.function.file).is_file():
        yield f"no such file: {entry.function.file}, which {system} names"
    if isinstance(entry, LexicalSystem) and entry.term_weights:
        yield _released(registry, entry.term_weights, split_id)
    dataset, split_ids = split_id and split_id.dataset, [split_id]
    for _, name in references(entry, "backbone"):  # whose tokenizer cuts the texts
        yield from _start(registry, registry.backbone(name, dataset), name, dataset, hub)
    yield split_id and why_no_export(registry, split_id.dataset, None, split_id.split, hub=hub)
    setting = registry.on_queries(system)
    tune = split_id if setting and setting.drawn else None
    if role := registry.tuned_on(system):
        tune, why = role_of(registry, role, "tune", dataset, hub, split_id and split_id.split)
        yield why
        split_ids.append(tune)
    chosen = setting and setting.measure
    if tune and chosen and (lacking := registry.lacks(tune, chosen)):
        yield f"{'/'.join(tune)} has no {lacking}, by which {system} is tuned ({chosen})"
    if isinstance(entry, DenseSystem):
        yield from _untrained(registry, entry.model, split_id, hub)
    if isinstance(entry, HybridSystem) and dataset:
        yield _by_folds(registry, entry, dataset)
    for part in registry.parts(system):
        for at in split_ids:
            yield why_unavailable(registry, part, at, hub)
    if trained := registry.trained_for(system):
        yield from _model(registry, trained, dataset, hub)
        yield split_id and why_not_by_folds(registry, entry, trained, split_id)
    tuned = isinstance(entry, LexicalSystem) and entry.tunes_rm3
    if tuned and split_id and not rm3_measure(registry, system, split_id):
        yield f"{system}: rm3.measures names no role that this scale binds to {'/'.join(split_id)}"
    if entry.kind == "rerank":
        name = registry.reranker(system)
        player = registry.reranker_binding(name)
        if isinstance(player, ReleasedReranker):
            yield from _untrained(registry, player.model, split_id, hub)
        else:
            yield from _start(registry, player, name, dataset, hub)
        if isinstance(player, FromModel):
            for at in filter(None, split_ids):
                yield why_not_by_folds(registry, entry, player.model, at)


def _by_folds(registry: Registry, system: HybridSystem, dataset: str) -> str | None:
    """Say which part of a hybrid is trained for each fold, or None if each part has one model."""
    named = [registry.entry(part, DenseSystem).model for part in system.parts]
    parted = [name for name in named if registry.folds(registry.model_for(name, dataset))]
    text = "is trained for each fold, and a hybrid needs one model for all queries"
    return f"{parted[0]} {text}" if parted else None


def left_out(registry: Registry, system: str, dataset: str | None) -> str | None:
    """Return that a scale leaves a system out on a dataset, to save time; None if it does not."""
    name, out = registry.config.scale, registry.scale.leaves_out(system, dataset)
    return f"scale {name} leaves {system} {out} (left_out)" if out else None


def _untrained(registry: Registry, name: str, split_id: SplitId | None, hub: Hub) -> Reasons:
    """Yield why a model of vectors that nothing trains is unavailable.

    Nothing is yielded for trained models.
    """
    model = registry.models[name]
    if isinstance(model, LexicalVectors):
        yield why_unavailable(registry, model.system, split_id, hub)
    if isinstance(model, ReleasedEncoder):
        yield from _start(registry, registry.released(name), name, None, hub)
        if model.queries:
            yield from _untrained(registry, model.queries, split_id, hub)
    if isinstance(model, ReleasedVectors):
        yield _vectors(registry, name, model, split_id)
    if isinstance(model, Program):
        if shutil.which(model.command[0]) is None:
            yield f"no such program: {model.command[0]}, which {name} runs"
        scripts = [word for word in model.command[1:] if word.endswith(SCRIPTS)]
        absent = [file for file in [*scripts, *model.files] if not os.path.isfile(file)]
        yield f"no such file: {absent[0]}, which {name} names" if absent else None


def _vectors(
    registry: Registry, name: str, model: ReleasedVectors, split_id: SplitId | None
) -> str | None:
    """Say why released vectors cannot be used, on a split or on any, or None."""
    named: Iterable[VectorFile] = [f for dataset in model.docs for f in model.of_docs(dataset)]
    if split_id:
        if split_id.dataset not in model.docs:
            return f"{name} has vectors of {', '.join(model.docs)} only"
        queries = registry.vector_files(name, split_id)
        if queries is None:
            return f"{name} has vectors of the queries of {', '.join(model.queries)} only"
        named = [*model.of_docs(split_id.dataset), *queries]
    absent = [path for path in paths_of(named) if not path.exists()]
    return f"no such file: {absent[0]}. {model.source}" if absent else None


def _released(registry: Registry, name: str, split_id: SplitId | None) -> str | None:
    """Say why released term weights cannot be used, or None. Trained weights give None."""
    model = registry.models[name]
    if not isinstance(model, ReleasedWeights):
        return None
    if split_id and split_id.dataset != model.dataset:
        return f"{name} has weights of {model.dataset} only"
    absent = not released_files(registry, name)
    return f"no such file: {roots.data() / model.path}. {model.source}" if absent else None


def _model(registry: Registry, name: str, dataset: str | None, hub: Hub) -> Reasons:
    """Yield what a model lacks on a dataset: training splits, negatives, backbones."""
    model = registry.models[name]
    roles = [role for _, role in references(model, "role")]
    splits = [role_of(registry, role, "train", dataset, hub) for role in roles]
    yield from (why for _, why in splits)
    split_id = splits[0][0]
    if split_id and registry.negatives(name).triples:
        yield why_no_docpairs(registry, split_id)
    on = split_id and split_id.dataset  # the models behind this model train on its collection
    for other in filter(None, [*registry.mined_models(name), registry.gate_of(name)]):
        yield from _model(registry, other, on, hub)
    for _, system in references(registry.negatives(name), "system"):
        yield left_out(registry, system, on)
    if fixed := registry.fixed_by(name):
        yield from _untrained(registry, fixed, split_id, hub)
    for _, role in references(model, "backbone"):
        yield from _start(registry, registry.backbone(role, on), role, on, hub)


@memoised
def why_no_model(registry: Registry, name: str, hub: Hub) -> str | None:
    """Return why a model cannot be made for any collection, or None if nothing prevents it."""
    model = registry.models[name]
    if isinstance(model, ReleasedWeights):
        return _released(registry, name, None)
    untrained = isinstance(model, LexicalVectors | Given)
    made = _untrained if untrained else _model
    return next(filter(None, made(registry, name, None, hub)), None)


def _start(
    registry: Registry, bound: Start | None, role: str, dataset: str | None, hub: Hub
) -> Reasons:
    if bound is None:
        yield not_bound(registry.config.scale, role)
    elif isinstance(bound, FromModel):
        yield from _model(registry, bound.model, dataset, hub)
    elif isinstance(bound, FromPath):
        if not Path(bound.path).is_dir():
            yield f"no such folder: {bound.path}, which {role} names"
    else:
        yield hub(bound)


def role_of(
    registry: Registry,
    role: str,
    use: Literal["train", "tune"],
    dataset: str | None,
    hub: Hub = all_available,
    searched: str | None = None,
) -> tuple[SplitId | None, str | None]:
    """Return the split that plays a role, and why it cannot be read.

    The role `own` stands for the dataset's own training or tuning split. The `searched` split of
    the dataset may have a tuning split of its own.
    """
    if role == OWN and dataset is None:
        return None, None  # no split is bound to the column's role
    try:
        if role == OWN:
            split_id: SplitId | None = registry.own_split(str(dataset), use, searched)
        else:
            split_id = registry.binding(role)
    except ResiduumError as error:
        return None, str(error)
    if split_id is None:
        return None, not_bound(registry.config.scale, role)
    return split_id, why_no_export(registry, split_id.dataset, None, split_id.split, hub=hub)


def why_not_by_folds(
    registry: Registry, system: System, name: str, split_id: SplitId
) -> str | None:
    """Say why a model that is trained for each fold cannot make a system's run on a split, or None.

    A query is answered by the training that has not seen its fold.
    """
    if getattr(registry.models[name], "train_on", None) != OWN:
        return None
    model = registry.model_for(name, split_id.dataset)
    if not registry.folds(model):
        return None
    trained = f"{name} is trained for each fold of {'/'.join(registry.train_split(model))}"
    if isinstance(system, LexicalSystem):
        return f"{trained}, and an index has the weights of one"
    if any(
        registry.folds(registry.model_for(m, split_id.dataset)) for m in registry.mined_models(name)
    ):
        return f"{trained}, and so is what gives its negatives, which has seen every fold"
    try:
        registry.answering(model, split_id.split)
    except ResiduumError as error:
        return str(error)
    return None


def external_files(registry: Registry, system: str, split_id: SplitId | None) -> list[Path]:
    """Return the files of an external system for a split by its seeds, whether they exist or not.

    A system without seeds has one file. Without a role that is bound to the split there is none.
    """
    entry = registry.entry(system, ExternalSystem)
    roles = [role for role in entry.runs if split_id and registry.binding(role) == split_id]
    return [roots.data() / name for role in roles[:1] for name in entry.files(role)]


def released_files(registry: Registry, name: str) -> list[Path]:
    """Return the files of released term weights, sorted by name."""
    path = roots.data() / registry.entry(name, ReleasedWeights).path
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [file for file in files if file.is_file()]


def paths_of(named: Iterable[VectorFile]) -> list[Path]:
    """Return the files or folders of released vectors, each with its file of ids if it has one."""
    both = ([f] if isinstance(f, str) else [f.vectors, f.ids] for f in named)
    return [roots.data() / name for names in both for name in names]


def program_files(registry: Registry, name: str) -> list[str]:
    """Return the files that a program's answers depend on: those in its command, and `files`."""
    program = registry.entry(name, Program)
    return [*filter(os.path.isfile, dict.fromkeys([*program.command, *program.files]))]


def why_no_export(
    registry: Registry, name: str, *splits: str | None, hub: Hub = all_available
) -> str | None:
    """Return what a dataset's corpus (split None) or splits lack: files, a role, a generator.

    None means that nothing is missing.
    """
    dataset, folders = registry.datasets[name], (roots.data(), roots.irds())
    for split in splits:
        if why := _behind(registry, name, split, hub):
            return why
    return _lacking(
        name, dataset, [p for split in splits for p in dataset.missing(split, *folders)]
    )


def _behind(registry: Registry, name: str, split: str | None, hub: Hub) -> str | None:
    """Return why the data behind a derived corpus or split is unavailable, or None.

    A corpus can be cut from another corpus. A split can take another split's questions, or be
    written by a question generator.
    """
    dataset = registry.datasets[name]
    cut = [(role, False) for _, role in references(dataset.source, "role")]
    taken = dataset.source_of(split).questions_of if split else None
    for role, whole in [*cut, *([(taken, True)] if taken else [])]:
        if (split_id := registry.binding(role)) is None:
            return not_bound(registry.config.scale, role)
        if why := why_no_export(registry, split_id.dataset, split_id.split if whole else None):
            return why
    if split and (synthetic := dataset.splits[split].synthetic):
        start = registry.generator(SplitId(name, split))
        return next(filter(None, _start(registry, start, synthetic.generator, name, hub)), None)
    return None


def _lacking(name: str, dataset: Dataset, absent: list[Path]) -> str | None:
    listed = ", ".join(dict.fromkeys(map(str, absent)))
    access = f". Access to {name}: {dataset.access}" if dataset.access else ""
    return f"no such file: {listed}{access}" if absent else None


def why_no_docpairs(registry: Registry, split_id: SplitId) -> str | None:
    """Return why a split has no training triples of its own, or None if it has triples."""
    name, split = split_id
    dataset, file = registry.datasets[name], registry.file("dataset", name)
    if dataset.splits[split].docpairs is None:
        return f"{name}/{split} has no training triples: {file}: splits.{split}.docpairs"
    paths = [roots.as_it_lies(roots.data() / path) for path in dataset.docpairs_file(split)]
    downloads = [d for d in dataset.downloads if d.docpairs and split in d.splits]
    paths += filter(None, (d.by_hand(roots.data(), roots.irds()) for d in downloads))
    return _lacking(name, dataset, [path for path in paths if not path.exists()])


def rm3_measure(registry: Registry, system: str, split_id: SplitId) -> str | None:
    """Return the measure by which RM3 is tuned on a split, or None if the system names none."""
    rm3 = registry.entry(system, LexicalSystem).rm3
    measures = rm3.measures if rm3 else {}
    dataset, searched = split_id
    roles = (role_of(registry, role, "tune", dataset, searched=searched)[0] for role in measures)
    return next(
        (measures[r] for r, at in zip(measures, roles, strict=True) if at == split_id), None
    )

"""Find a checkpoint below a results folder, with its manifest and its results.

Usage: `find(results, provenance.read(results), "clear", 1)`, then `results_of(checkpoint)`. This
module reads manifests only.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

from residuum.artefacts import files, manifest
from residuum.cli.errors import ResiduumError, unknown
from residuum.config.specs import OrderId, RunId, Snapshot
from residuum.inspect.citing import UNKNOWN
from residuum.inspect.provenance import Graph, Manifest
from residuum.inspect.text import flat
from residuum.tuning.learned import Learned
from residuum.wiring.paths import Paths, folder_of

PATHS = Paths()
# A checkpoint's tokenizer may have cut the texts of these folders into words.
DATA, INDEXES = (f"{PurePosixPath(form).parts[0]}/" for form in (PATHS.corpus, PATHS.index))


class Result(NamedTuple):
    """The means of a run on a split.

    `made_of` names other systems, rerankers or checkpoints of the run. It is empty if only this
    checkpoint made the run.
    """

    dataset: str
    split: str
    run: str
    queries: int
    means: dict[str, float]
    made_of: tuple[str, ...]


class Checkpoint(NamedTuple):
    """A checkpoint below a results folder, with its manifest and the folder's graph."""

    results: Path
    graph: Graph
    path: str
    made: Manifest

    @property
    def name(self) -> str:
        """The model's id, followed by the split if the model was made for a single split."""
        return PurePosixPath(self.path).parts[1]

    @property
    def settings(self) -> dict[str, Any]:
        """The model's own settings in the spec."""
        model = self.made.spec.get("model")
        return dict(model) if isinstance(model, dict) and model else dict(self.made.spec)

    @property
    def kind(self) -> str:
        """The kind of the model's entry."""
        if not isinstance(kind := self.settings.get("kind"), str):
            raise ResiduumError(
                f"{self.results / self.path}: its manifest names no kind of model. {files.REMAKE}"
            )
        return kind

    @property
    def trained(self) -> bool:
        """Whether the checkpoint was trained for a step or more; an untrained backbone was not."""
        steps = self.made.artefact.get("steps", 1)
        return bool(self.settings.get("training")) and steps != 0


def verdict(checkpoint: Checkpoint) -> Learned | None:
    """Return the verdict on whether a checkpoint learned, or None if no verdict was made."""
    place = PATHS.checkpoint.parse(f"{checkpoint.path}/{manifest.FOLDER}")
    path = checkpoint.results / PATHS.learning.fill(**place) if place else None
    return Learned.read(path) if path and path.is_file() else None


def find(results: Path, graph: Graph, model: str, seed: int) -> Checkpoint:
    """Find the checkpoint of a model's id and seed, below models/ or backbones/."""
    trained, backbone = (
        PATHS.checkpoint.fill(model=model, seed=seed),
        PATHS.backbone.fill(model=model),
    )
    for path in map(folder_of, (trained, backbone)):
        if made := graph[path].manifest:
            return Checkpoint(results, graph, path, made)
    known = sorted(filter(None, map(named, graph)))
    seeds = [name for name in known if name.partition(" ")[0] == model]
    if seeds:
        raise ResiduumError(f"model {model} has no seed {seed}; made: {', '.join(seeds)}")
    names = list(dict.fromkeys(name.partition(" ")[0] for name in known))
    near = [name for name in names if name.partition("@")[0] == model]
    meant = f" Its models are made for collections: {', '.join(near)}." if near else ""
    raise ResiduumError(f"{results}: {unknown('checkpoint', model, names)}{meant}")


def named(path: str) -> str | None:
    """Return a checkpoint's name, `clear seed 1` or `mini-bert`; None for any other path."""
    if trained := PATHS.checkpoint.parse(f"{path}/{manifest.FOLDER}"):
        return f"{trained['model']} seed {trained['seed']}"
    made = PATHS.backbone.parse(f"{path}/{manifest.FOLDER}")
    return made["model"] if made else None


def results_of(checkpoint: Checkpoint) -> list[Result]:
    """Return the means of all runs made from a checkpoint; runs of no other parts come first."""
    made = []
    for path in _behind(checkpoint):
        record = checkpoint.graph[path].manifest
        if record is None or not (place := PATHS.metrics.parse(path)):
            continue
        if isinstance(RunId.parse(OrderId.parse(place["run"]).run).seed, Snapshot):
            continue  # a snapshot's
        facts = record.artefact
        means = {name: float(mean) for name, mean in facts["means"].items()}
        queries, made_of = int(facts["queries"]), tuple(_made_of(checkpoint, path))
        made.append(Result(**place, queries=queries, means=means, made_of=made_of))
    return sorted(made, key=lambda r: (bool(r.made_of), r.dataset, r.split, r.run))


def scales_of(graph: Graph) -> dict[str, str]:
    """Return the scales that pages name, and whether their numbers compare with the papers'."""
    compares = {}
    for path, artefact in graph.items():
        spec: Mapping[str, object] = artefact.manifest.spec if artefact.manifest else {}
        if PATHS.page_of(path) and "comparable" in spec:
            answer = "numbers compare" if spec["comparable"] else "numbers do not compare"
            compares[str(spec["scale"])] = f"{answer} with the papers'; {spec['reason']}"
    return compares


def scale_of(results: Path, graph: Graph) -> str:
    """Return the scale in the pages' specs, or without pages the results folder's name."""
    return next(iter(scales_of(graph)), results.resolve().name)


def pages_of(checkpoint: Checkpoint) -> dict[str, str]:
    """Return {page that depends on a checkpoint: its place in the paper}."""
    pages: dict[str, str] = {}
    for path in _behind(checkpoint, joint=True):
        record = checkpoint.graph[path].manifest
        if record and (page := PATHS.page_of(path)):
            printed = [value for key, value in flat(record.spec) if key.endswith("printed_in")]
            pages[page] = str(printed[0]) if printed else UNKNOWN
    return dict(sorted(pages.items()))


def _behind(checkpoint: Checkpoint, joint: bool = False) -> list[str]:
    """Return the artefacts made from a checkpoint, but not through another trained model.

    Some files join several lists, such as a reranker's scores for several first stages. Results
    made from such a file need not depend on this checkpoint's list. The file is therefore left out
    unless `joint` is true. Also left out: tuned choices that used the checkpoint, and texts cut
    with its tokenizer.
    """
    children: dict[str, list[str]] = {}
    for path, artefact in checkpoint.graph.items():
        for parent in artefact.parents:
            children.setdefault(parent, []).append(path)
    seen: dict[str, None] = {}
    waiting = [checkpoint.path]
    while waiting:
        path, first = waiting[-1], waiting.pop() == checkpoint.path
        made = [c for c in children.get(path, []) if c not in seen and not named(c)]
        made = [c for c in made if not c.startswith((DATA, INDEXES) if first else DATA)]
        new = [c for c in made if first or joint or not (_joins(c, path) or PATHS.tuning.parse(c))]
        seen |= dict.fromkeys(new)
        waiting += new
    return sorted(seen)


def _joins(path: str, parent: str) -> bool:
    """Say whether a file joins several systems' lists, and the file it was made from does not."""
    if PATHS.scores.parse(path):
        return PATHS.run.parse(parent) is not None
    several = any(form.parse(path) for form in (PATHS.pairs, PATHS.depth_curve))
    return several and not _joins(parent, "")


def _made_of(checkpoint: Checkpoint, metrics: str) -> list[str]:
    """Return the parts of a run: its spec's systems, or the other checkpoints it used."""
    named_in: list[str] = []
    for path in checkpoint.graph[metrics].parents:
        record = checkpoint.graph[path].manifest
        if record and (PATHS.run.parse(path) or PATHS.scores.parse(path)):
            over = (PATHS.scores.parse(path) or {}).get("other")
            named_in += [*systems_of(record.spec), *([over] if over else [])]
    return named_in or _others(checkpoint, metrics)


def _others(checkpoint: Checkpoint, path: str) -> list[str]:
    """Return the names of the other checkpoints behind a run, ignoring those used as tokenizers."""
    seen, waiting = set[str](), [path]
    while waiting:
        child = waiting.pop()
        parents = {p for p in checkpoint.graph[child].parents if not p.startswith(DATA)}
        if child.startswith(INDEXES):
            parents = {p for p in parents if not named(p)}
        new = parents - seen - {checkpoint.path}
        seen |= new
        waiting += [p for p in new if not named(p)]
    return sorted(filter(None, map(named, seen)))


def trained_on(checkpoint: Checkpoint) -> list[str]:
    """Return the training data: <dataset>/<split>, or <dataset> if only its corpus was used."""
    data = [PurePosixPath(p).parts for p in checkpoint.graph[checkpoint.path].parents]
    places = [parts[1:] for parts in data if f"{parts[0]}/" == DATA and len(parts) > 2]
    splits = ["/".join(parts) for parts in places if parts[1] != "corpus"]
    return splits or [parts[0] for parts in places]


def summed(spec: Mapping[str, object]) -> list[str]:
    """Return the systems that a run combines, in the order of its spec.

    The systems may contribute lists, scores or docs. Fusion, hybrid and rrf specs name systems; a
    spec of candidates says how many docs each system contributes.
    """
    entries = cast(list[object], spec.get("parts") or [])
    return [str(part["system"] if isinstance(part, dict) else part) for part in entries]


def systems_of(spec: Mapping[str, object]) -> list[str]:
    """Return every part of a run, with first stage and reranker; [] for a single search."""
    return [*summed(spec), *_reranked(spec)]


def _reranked(spec: Mapping[str, object]) -> Iterator[str]:
    if first := spec.get("first_stage"):
        yield str(first)
    match spec.get("reranker"):
        case str(role):
            yield role
        case {"model": name} | {"hub": name}:
            yield str(name)

"""A checkpoint below a results folder: its manifest, and what was made of it.

Usage: `find(results, provenance.read(results), "clear", 1)`, then `results_of(checkpoint)`. Reads
manifests only. Must not know how a card words it.
"""

from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from residuum.artefacts import manifest
from residuum.cli.errors import ResiduumError, unknown
from residuum.inspect.provenance import Graph, Manifest
from residuum.inspect.text import flat
from residuum.wiring.paths import Paths, folder_of

PATHS = Paths()
UNKNOWN = "not recorded"
LISTS, MODELS = "with other lists", "with other models"


class Result(NamedTuple):
    """The means of a run on a split, and what else is in the run: lists, or other checkpoints."""

    dataset: str
    split: str
    run: str
    queries: int
    means: dict[str, float]
    others: str


class Checkpoint(NamedTuple):
    """A checkpoint below a results folder, with what is known of it."""

    results: Path
    graph: Graph
    path: str
    made: Manifest

    @property
    def name(self) -> str:
        """The model's id, with the split that it was made for, if it was."""
        return PurePosixPath(self.path).parts[1]

    @property
    def settings(self) -> dict[str, Any]:
        """The model's own settings in the spec."""
        spec: dict[str, Any] = dict(self.made.spec)
        return dict(spec.get("model") or spec)

    @property
    def kind(self) -> str:
        """The kind of the model's entry."""
        return str(self.settings["kind"])


def find(results: Path, graph: Graph, model: str, seed: int) -> Checkpoint:
    """Return a checkpoint by its model's id, from models/ or backbones/."""
    paths = [
        folder_of(PATHS.checkpoint.fill(model=model, seed=seed)),
        folder_of(PATHS.backbone.fill(model=model)),
    ]
    for path in paths:
        if made := graph[path].manifest:
            return Checkpoint(results, graph, path, made)
    known = sorted(filter(None, map(named, graph)))
    seeds = [name for name in known if name.partition(" ")[0] == model]
    if seeds:
        raise ResiduumError(f"model {model} has no seed {seed}; made: {', '.join(seeds)}")
    names = list(dict.fromkeys(name.partition(" ")[0] for name in known))
    raise ResiduumError(f"{results}: {unknown('checkpoint', model, names)}")


def named(path: str) -> str | None:
    """Return how a checkpoint is named, `clear seed 1` or `mini-bert`; None for another path."""
    if trained := PATHS.checkpoint.parse(f"{path}/{manifest.FOLDER}"):
        return f"{trained['model']} seed {trained['seed']}"
    made = PATHS.backbone.parse(f"{path}/{manifest.FOLDER}")
    return made["model"] if made else None


def results_of(checkpoint: Checkpoint) -> list[Result]:
    """Return the means of all runs that a checkpoint stands behind, those of it alone first."""
    made = []
    for path in _behind(checkpoint):
        record = checkpoint.graph[path].manifest
        if record is None or not (place := PATHS.metrics.parse(path)):
            continue
        facts = record.artefact
        means = {name: float(mean) for name, mean in facts["means"].items()}
        others, queries = _others(checkpoint, path), int(facts["queries"])
        made.append(Result(**place, queries=queries, means=means, others=others))
    order = ("", LISTS, MODELS)
    return sorted(made, key=lambda r: (order.index(r.others), r.dataset, r.split, r.run))


def pages_of(checkpoint: Checkpoint) -> dict[str, str]:
    """Return the pages that a checkpoint stands behind, and where the papers print them."""
    pages: dict[str, str] = {}
    for path in _behind(checkpoint, joint=True):
        record = checkpoint.graph[path].manifest
        if record and any(form.parse(path) is not None for form in PATHS.pages.values()):
            printed = [value for key, value in flat(record.spec) if key.endswith("printed_in")]
            pages[PurePosixPath(path).stem] = str(printed[0]) if printed else UNKNOWN
    return dict(sorted(pages.items()))


def _behind(checkpoint: Checkpoint, joint: bool = False) -> list[str]:
    """Return what was made of a checkpoint, but not of what another model made of it.

    A reranker scores the lists of several first stages in one file. That such a file has a list of
    the checkpoint's says nothing of what is made of the others: unless `joint`, it is left out.
    """
    children: dict[str, list[str]] = {}
    for path, artefact in checkpoint.graph.items():
        for parent in artefact.parents:
            children.setdefault(parent, []).append(path)
    seen: dict[str, None] = {}
    waiting = [checkpoint.path]
    while waiting:
        path = waiting.pop()
        made = [c for c in children.get(path, []) if c not in seen and not named(c)]
        new = [c for c in made if joint or path == checkpoint.path or not _of_several(c, path)]
        seen |= dict.fromkeys(new)
        waiting += new
    return sorted(seen)


def _others(checkpoint: Checkpoint, path: str) -> str:
    """Return what else a run rests on: other checkpoints, or lists of systems without one."""
    seen, waiting = set[str](), [path]
    while waiting:
        parents = checkpoint.graph[waiting.pop()].parents
        new = {p for p in parents if p not in seen and p != checkpoint.path}
        for shared in filter(_of_several, new):  # of its lists, others are of other runs
            new = new | {
                p for p in checkpoint.graph[shared].parents if named(p) and p != checkpoint.path
            }
        seen |= new
        waiting += [p for p in new if not named(p) and not _of_several(p)]
    if any(map(named, seen)):
        return MODELS
    return LISTS if sum(PATHS.run.parse(p) is not None for p in seen) > 1 else ""


def _of_several(path: str, of: str = "") -> bool:
    """Say whether a file is of several first stages, and not made `of` such a file."""
    several = [form.parse(path) is not None for form in (PATHS.pairs, PATHS.depth_curve)]
    return any(several) and not (of and _of_several(of))


def trained_on(checkpoint: Checkpoint) -> list[str]:
    """Return what it was trained on: <dataset>/<split>, or <dataset> of a corpus alone."""
    data = [PurePosixPath(p).parts for p in checkpoint.graph[checkpoint.path].parents]
    places = [parts[1:] for parts in data if parts[0] == "data" and len(parts) > 2]
    splits = ["/".join(parts) for parts in places if parts[1] != "corpus"]
    return splits or [parts[0] for parts in places]

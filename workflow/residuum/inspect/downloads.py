"""What planned jobs read that no job makes: files of datasets, models of the hub.

Usage: `downloads.required(registry, jobs)`. Looks at names and sizes of local files, not at the
network. Must not know what else the jobs do.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from residuum.config import roots
from residuum.config.registry import Registry, Start
from residuum.config.schema.scales import FromHub
from residuum.inspect import local_files
from residuum.inspect.dryrun import Job
from residuum.inspect.local_files import File
from residuum.wiring import sizes
from residuum.wiring.corpora import start_of
from residuum.wiring.runs import player_of

HUB = "hub"
BYTES_PER_PARAMETER = 4  # float32, as nearly all of these checkpoints are stored


def required(registry: Registry, jobs: Iterable[Job]) -> dict[str, list[File]]:
    """Return the files that jobs export each dataset from, and `HUB`'s models, each once."""
    files: dict[str, dict[str, File]] = {}
    hub: dict[str, File] = {}
    for job in jobs:
        if job.rule.startswith("data_"):
            name = job.wildcards["dataset"]
            read = local_files.needed(registry.datasets[name], job.wildcards.get("split"))
            files.setdefault(name, {}).update({file.name: file for file in read})
        if isinstance(start := _start(registry, job), FromHub):
            hub[f"{start.hub}@{start.revision}"] = _hub_file(start)
    return {name: [*of.values()] for name, of in {**files, HUB: hub}.items() if of}


def _start(registry: Registry, job: Job) -> Start | None:
    """Return what a job starts from or scores with."""
    if "reranker" in job.wildcards:
        return player_of(registry, job.wildcards["reranker"])
    if job.rule in ("train_train", "pretrain_adapt"):
        return start_of(registry, job.wildcards["model"])
    return None


def _hub_file(model: FromHub) -> File:
    """Return a model as a file whose size follows from the shape that its name states."""
    folder = hub_home() / f"models--{model.hub.replace('/', '--')}"
    ref = folder / "refs" / model.revision
    commit = ref.read_text().strip() if ref.is_file() else model.revision
    url = f"https://huggingface.co/{model.hub}/tree/{model.revision}"
    size = BYTES_PER_PARAMETER * sizes.shape_of_hub(model.hub).parameters
    made = [folder / "snapshots" / commit / "config.json"]
    return File(model.hub, None, url, size, None, [], made, False)


def hub_home() -> Path:
    """Return the hub's cache: HF_HUB_CACHE, or hub/ in HF_HOME, which is in your home's .cache."""
    home = os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE", Path(home) / "hub"))


def absent(files: Iterable[File]) -> int:
    """Return the bytes of the files that are not local, as far as they are known."""
    return sum(file.bytes or 0 for file in files if not file.available)


def homes(registry: Registry, files: dict[str, list[File]]) -> dict[Path, float]:
    """Return the bytes still to be written into each folder outside the project."""
    data = sum(unpacked(registry, name, of) for name, of in files.items() if name != HUB)
    hub = absent(files.get(HUB, []))
    return {path: size for path, size in ((roots.irds(), data), (hub_home(), hub)) if size}


def unpacked(registry: Registry, dataset: str, files: list[File]) -> float:
    """Return the bytes still to be written where a dataset's files lie, or the downloads' sum."""
    if all(file.available for file in files):
        return 0.0
    local = sum(file.bytes or 0 for file in files if file.available)
    return max(absent(files), 1e9 * registry.datasets[dataset].disk_gb - local)

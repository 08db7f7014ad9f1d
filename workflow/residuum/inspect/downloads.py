"""What planned jobs read that no job makes: files of datasets, models of the hub.

Usage: `downloads.dataset_files(registry, jobs)`, `downloads.hub_models(registry, jobs)`. Looks at
names and sizes of local files, not at the network. Must not know what else the jobs do.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from residuum.core import roots
from residuum.core.registry import Registry, Start
from residuum.core.schema.datasets import Dataset
from residuum.core.schema.scales import FromHub
from residuum.inspect import local_files
from residuum.inspect.dryrun import Job
from residuum.inspect.local_files import File
from residuum.wiring import sizes
from residuum.wiring.models import start_of
from residuum.wiring.runs import player_of

BYTES_PER_PARAMETER = 4  # float32, as nearly all of these checkpoints are stored


class HubModel(NamedTuple):
    """A model of the hub; its bytes follow from the shape that its name says."""

    name: str
    revision: str
    bytes: int
    available: bool

    @property
    def url(self) -> str:
        """Return the page of the revision."""
        return f"https://huggingface.co/{self.name}/tree/{self.revision}"


def dataset_files(registry: Registry, jobs: Iterable[Job]) -> dict[str, list[File]]:
    """Return the files that the jobs export datasets from, each once, by dataset."""
    found: dict[str, dict[str, File]] = {}
    for job in jobs:
        if name := job.wildcards.get("dataset") if job.rule.startswith("data_") else None:
            dataset = registry.datasets[name]
            files = local_files.needed(dataset, job.wildcards.get("split"))
            found.setdefault(name, {}).update({file.name: file for file in files})
    return {name: list(files.values()) for name, files in found.items() if files}


def unpacked(dataset: Dataset, files: list[File]) -> float:
    """Return the bytes still to be written where a dataset's files lie, or the downloads' sum."""
    if all(file.available for file in files):
        return 0.0
    absent = sum(file.bytes or 0 for file in files if not file.available)
    local = sum(file.bytes or 0 for file in files if file.available)
    return max(absent, 1e9 * dataset.disk_gb - local)


def hub_models(registry: Registry, jobs: Iterable[Job]) -> list[HubModel]:
    """Return the models of the hub that the jobs start from or score with, each once."""
    starts = [start for job in jobs for start in _starts(registry, job)]
    needed = {(s.hub, s.revision): None for s in starts if isinstance(s, FromHub)}
    return [_model(name, revision) for name, revision in needed]


def _starts(registry: Registry, job: Job) -> Iterator[Start]:
    if "reranker" in job.wildcards:
        yield player_of(registry, job.wildcards["reranker"])
    elif job.rule in ("train_train", "pretrain_adapt"):
        yield start_of(registry, job.wildcards.get("model") or job.wildcards["backbone"])


def _model(name: str, revision: str) -> HubModel:
    size = BYTES_PER_PARAMETER * sizes.shape_of_hub(name).parameters
    folder = hub_home() / f"models--{name.replace('/', '--')}"
    named = folder / "refs" / revision
    commit = named.read_text().strip() if named.is_file() else revision
    return HubModel(name, revision, size, (folder / "snapshots" / commit / "config.json").exists())


def hub_home() -> Path:
    """Return the hub's cache: HF_HUB_CACHE, or hub/ in HF_HOME, which is in your home's .cache."""
    home = os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE", Path(home) / "hub"))


def homes(
    registry: Registry, files: dict[str, list[File]], models: list[HubModel]
) -> dict[Path, float]:
    """Return the bytes still to be written into each folder outside the project."""
    data = sum(unpacked(registry.datasets[name], of) for name, of in files.items())
    hub = sum(model.bytes for model in models if not model.available)
    return {path: size for path, size in ((roots.irds(), data), (hub_home(), hub)) if size}

"""What jobs take: threads, memory, cards, and the options that say where and how they compute.

Usage: `Resources(registry).compute`. Functions of a rule's `mem_mb`, and those of `runtime` and
`disk_mb` beside them, are methods here. Must not know paths or what the jobs make.
"""

from collections.abc import Callable, Iterable

from residuum.core.registry import Registry
from residuum.wiring.part import Wildcards

Memory = int | Callable[[Wildcards], int]
VECTOR_KB = 4  # float32 of 1024 dimensions
JUDGEMENT_BYTES = 400


class Resources:
    """Resources and compute options of a scale."""

    def __init__(self, registry: Registry) -> None:
        scale, config = registry.scale, registry.config
        self._registry = registry
        self.threads = scale.threads
        self.compute = f"--threads {scale.threads} --device {config.device}"
        self.precise = f"{self.compute} --precision {config.precision}"
        self.batches = f"--batch-size {scale.batch_size} {self.precise}"
        self.shard_mb = VECTOR_KB * 1024 * scale.shard_docs // 10**6
        self.gpu = int(config.device == "cuda")
        self.gpus = config.gpus  # of a training job, each with a process of its own
        self.neural_env = "neural-gpu" if self.gpu else "neural"
        several = f"torchrun --standalone --nproc-per-node {config.gpus} --no-python --"
        self.torchrun = several if config.gpus > 1 else ""

    def cpu(self, mem_mb: Memory) -> dict[str, Memory]:
        """Return the resources of a job that needs no card."""
        return {"mem_mb": mem_mb, "gpu": 0}

    def card(self, mem_mb: int) -> dict[str, int]:
        """Return the resources of a job that computes on a card, if there is one."""
        return {"mem_mb": mem_mb, "gpu": self.gpu}

    def training(self, mem_mb: int) -> dict[str, int]:
        """Return the resources of a training, which has a process for each card."""
        return {"mem_mb": mem_mb * self.gpus, "gpu": self.gpu * self.gpus}

    def corpus_mb(self, wildcards: Wildcards) -> int:
        """Return the memory of a corpus's export; a sample reads judgements."""
        sample = getattr(self._registry.datasets[wildcards.dataset].source, "sample", None)
        return self._export_mb(wildcards.dataset, sample.keep if sample else [])

    def split_mb(self, wildcards: Wildcards) -> int:
        """Return the memory of a split's export."""
        dataset = self._registry.datasets[wildcards.dataset]
        return self._export_mb(wildcards.dataset, [dataset.origin(wildcards.split)])

    def _export_mb(self, dataset: str, read: Iterable[str]) -> int:
        """Return the memory of an export that holds the judgements of splits whole."""
        editions = self._registry.datasets[dataset].editions
        pins = [sum(e.splits[s].qrels for s in read if s in e.splits) for e in editions]
        return 2000 + max(pins) * JUDGEMENT_BYTES // 10**6

"""What jobs take: threads, memory, disk, time, cards, and the options that say where they compute.

Usage: `resources: **RESOURCES.cpu(ESTIMATES.search, mem_mb=4000)`. A cluster limits a job by
`runtime` and `mem_mb`; `residuum plan` sums the others. Must not know paths or what the jobs make.
"""

from collections.abc import Callable, Iterable
from math import ceil

from residuum.config.registry import Registry
from residuum.wiring.assumptions import CORE_GFLOPS, START_S, STEP_S
from residuum.wiring.estimates import Estimate
from residuum.wiring.part import Wildcards

Estimator = Callable[[Wildcards], Estimate]
Memory = int | Callable[[Wildcards], int]
Runtime = Callable[[Wildcards, int, int], int]
Declared = dict[str, Memory | Runtime]
LEAST_MINUTES, MARGIN = 60, 4  # a job may run for an hour and four times its estimate
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
        self._carded = config.device != "cpu"
        self._flops = config.tflops * 1e12 * config.utilisation
        self.gpus = config.gpus  # of a training job, each with a process of its own
        self.neural_env = "neural-gpu" if self.gpu else "neural"
        several = f"torchrun --standalone --nproc-per-node {config.gpus} --no-python --"
        self.torchrun = several if config.gpus > 1 else ""

    def cpu(self, estimate: Estimator, mem_mb: Memory) -> Declared:
        """Return the resources of a job that needs no card."""
        return self._declared(estimate, mem_mb, gpu=0)

    def card(self, estimate: Estimator, mem_mb: int) -> Declared:
        """Return the resources of a job that computes on a card, if there is one."""
        return self._declared(estimate, mem_mb, self.gpu) | self._on_card(estimate)

    def training(self, estimate: Estimator, mem_mb: int) -> Declared:
        """Return the resources of a training, which has a process for each card."""
        every = self._declared(estimate, mem_mb * self.gpus, self.gpu * self.gpus)
        return every | self._on_card(estimate)

    def _declared(self, estimate: Estimator, mem_mb: Memory, gpu: int) -> Declared:
        return {
            "mem_mb": mem_mb,
            "gpu": gpu,
            "disk_mb": lambda wildcards: ceil(estimate(wildcards).disk / 1e6),
            "core_s": lambda wildcards: round(START_S + estimate(wildcards).core_s),
            "runtime": self._runtime(estimate),
        }

    def _on_card(self, estimate: Estimator) -> Declared:
        """Return what a job takes of a card, `gpu_s` of one that is as fast as config.yaml says."""
        return {
            "gpu_s": lambda wildcards: ceil(self._card_s(estimate(wildcards))),
            "gpu_mb": lambda wildcards: ceil(estimate(wildcards).card / 1e6),
            "gflop": lambda wildcards: ceil(estimate(wildcards).operations / 1e9),
        }

    def _card_s(self, estimate: Estimate) -> float:
        return max(estimate.operations / self._flops, estimate.steps * STEP_S)

    def _runtime(self, estimate: Estimator) -> Runtime:
        """Return a function of a job's limit in minutes; each attempt has as much again."""

        def runtime(wildcards: Wildcards, threads: int, attempt: int) -> int:
            job = estimate(wildcards)
            cores = job.core_s + (0 if self._carded else job.operations / 1e9 / CORE_GFLOPS)
            seconds = cores / threads + (self._card_s(job) if self._carded else 0)
            return attempt * ceil(LEAST_MINUTES + MARGIN * seconds / 60)

        return runtime

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

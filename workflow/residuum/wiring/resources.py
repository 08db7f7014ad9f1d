"""The resources of jobs (threads, memory, disk, time, cards) and their compute options.

Usage: `resources: **RESOURCES.cpu(ESTIMATES.search, mem_mb=4000)`. A cluster limits a job by
`runtime` and `mem_mb`; `residuum plan` sums the others.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from math import ceil
from typing import Protocol, TypeVar

from residuum.config.registry import Registry, SplitId
from residuum.config.schema.generated import GENERATED_SPLITS
from residuum.config.schema.models import OnPairs, ReleasedEncoder
from residuum.config.schema.sources import Containing
from residuum.wiring import sizes
from residuum.wiring.base import Wildcards, Workflow
from residuum.wiring.estimates import Estimate
from residuum.wiring.models import corpora_of
from residuum.wiring.rerankers import encoder_of, player_of
from residuum.wiring.sizes import CORE_GFLOPS, DOC_TERMS, START_S, STEP_S, TOKEN_BYTES

Estimator = Callable[[Wildcards], Estimate]
Memory = int | Callable[[Wildcards], int]


Declared = dict[
    str, Memory | Callable[[Wildcards, int, int], int] | Callable[[Wildcards, int], int]
]


VECTOR_KB = 4  # float32 of 1024 dimensions
JUDGEMENT_BYTES = 400
PAIR_BYTES = 1500  # a training pair in memory with its texts (300,000 pairs: 1,470 each)
WORD_BYTES = 12  # a wordpiece of a doc in latent semantic analysis: its weight and its number
LSA_MATRICES, LSA_SPARE = 4, 10  # float64 matrices (docs, dimensions) at once; extra dimensions
GENERATED_BYTES = 900  # a generated doc without its text (a million docs: 1,100 with 250 of text)
HELD_BYTES = 12  # a token of a collection that is cut for queries: its id, marks, segments


class Resources:
    """Resources and compute options of a scale; `cards` is how many jobs take a card at once."""

    def __init__(self, registry: Registry, cards: int = 0) -> None:
        scale, config = registry.scale, registry.config
        self._registry = registry
        self._requested = config.device == "cuda" or cards > 0
        self.threads = scale.threads
        self.compute = f"--threads {scale.threads} --device {config.device}"
        self.precise = self._precise(None)
        self.batches = f"--batch-size {scale.batch_size} {self.precise}"
        self.shard_mb = VECTOR_KB * 1024 * scale.shard_docs // 10**6
        self.gpus = config.gpus  # of a training job, each with a process of its own
        self.neural_env = "neural-gpu" if self._requested else "neural"
        take = f"python -m residuum.neural.cards {config.gpus}"
        several = f"{take} torchrun --standalone --nproc-per-node {config.gpus} --no-python --"
        self.torchrun = several if config.gpus > 1 else ""

    def _precise(self, model: str | None) -> str:
        """Return the compute options of a model that is not trained, given its id, or of others.

        The precision of a released encoder's entry goes before that of the configuration.
        """
        config = self._registry.config
        entry = self._registry.models.get(model or "")
        own = entry.precision if isinstance(entry, ReleasedEncoder) else None
        precise = f"{self.compute} --precision {own or config.precision}"
        return f"{precise} --arithmetic {config.arithmetic}"

    def encoding(self, wildcards: Wildcards) -> str:
        """Return the batch size and the compute options of a job that encodes texts."""
        size = self._registry.scale.batch_size
        return f"--batch-size {size} {self._precise(wildcards.model)}"

    def reranking(self, wildcards: Wildcards) -> str:
        """Return the compute options of a job that scores pairs."""
        player = player_of(self._registry, wildcards.reranker)
        return self._precise(encoder_of(self._registry, player))

    def training(self, estimate: Estimator, mem_mb: int) -> Declared:
        """Return the resources of a training, which has a process for each card.

        Each process needs `mem_mb` and the memory of all training pairs.
        """

        def held(wildcards: Wildcards) -> int:
            return self.gpus * (mem_mb + self.pairs_mb(wildcards))

        return self.card(estimate, held, self.gpus)

    def pairs_mb(self, wildcards: Wildcards) -> int:
        """Return the MB of a model's training pairs; 0 for a model that learns from texts."""
        if not isinstance(self._registry.model(wildcards.model), OnPairs):
            return 0
        return sizes.examples(self._registry, wildcards.model) * PAIR_BYTES // 10**6

    def tuples_mb(self, wildcards: Wildcards) -> int:
        """Return the MB of the job that makes tuples, which holds all judgements and queries."""
        pairs = sizes.examples(self._registry, wildcards.model)
        return 4000 + pairs * JUDGEMENT_BYTES // 10**6

    def card(self, estimate: Estimator, mem_mb: Memory, cards: int = 1) -> Declared:
        """Return the resources of a job that computes on cards, if there are any.

        The job requests cards with `device: cuda`. With `device: auto` it requests cards if jobs
        run on this machine and it has a card. `gpu_s` is seconds of a card with config.yaml's
        `tflops`.
        """
        return {
            **self.cpu(estimate, mem_mb),
            "gpu": cards * self._requested,
            "gpu_s": lambda wildcards: ceil(self._card_s(estimate(wildcards))),
            "gpu_mb": lambda wildcards: ceil(estimate(wildcards).card / 1e6),
            "gflop": lambda wildcards: ceil(estimate(wildcards).operations / 1e9),
        }

    def cpu(self, estimate: Estimator, mem_mb: Memory) -> Declared:
        """Return the resources of a job that needs no card.

        Attempt n gets n times the time and memory, because the attempt before may have run out.
        If no card is requested, operations count as core time.
        """
        carded = self._requested or self._registry.config.device == "mps"

        def memory(wildcards: Wildcards, attempt: int) -> int:
            return attempt * (mem_mb(wildcards) if callable(mem_mb) else mem_mb)

        def runtime(wildcards: Wildcards, threads: int, attempt: int) -> int:
            job = estimate(wildcards)
            cores = job.core_s + (0 if carded else job.operations / 1e9 / CORE_GFLOPS)
            seconds = cores / threads + (self._card_s(job) if carded else 0)
            return attempt * ceil(LEAST_MINUTES + MARGIN * seconds / 60)

        alike: Declared = {"shards": lambda wildcards: estimate(wildcards).shards}
        return {
            **(alike if self._registry.config.docs else {}),
            "mem_mb": memory,
            BATCH: 1,
            "gpu": 0,
            "disk_mb": lambda wildcards: ceil(estimate(wildcards).disk / 1e6),
            "core_s": lambda wildcards: round(START_S + estimate(wildcards).core_s),
            "runtime": runtime,
        }

    def _card_s(self, job: Estimate) -> float:
        config = self._registry.config
        return max(job.operations / (config.tflops * 1e12 * config.utilisation), job.steps * STEP_S)

    def backbone_mb(self, wildcards: Wildcards) -> int:
        """Return the MB of the job that makes a backbone by analysing all docs of its corpora."""
        held = 0.0
        dimensions = sizes.shape(self._registry, wildcards.model).hidden + LSA_SPARE
        for dataset in corpora_of(self._registry, wildcards.model):
            words = WORD_BYTES * sizes.doc_bytes(self._registry, dataset) / TOKEN_BYTES
            doc_bytes = words + LSA_MATRICES * 8 * dimensions
            held += doc_bytes * sizes.docs(self._registry, dataset)
        return max(4000, 1000 + int(held) // 10**6)

    def grid_mb(self, wildcards: Wildcards) -> int:
        """Return the MB of the job that ranks docs at every setting of RM3.

        Each thread needs up to 45 bytes of each doc (two million docs of random words).
        """
        docs = sizes.docs(self._registry, wildcards.dataset)
        return 5000 + self.threads * 48 * docs // 10**6

    def fidelity_mb(self, wildcards: Wildcards) -> int:
        """Return the MB of a measurement of fidelity, which holds all docs' sparse vectors.

        A term takes 8 bytes as read (float32 and its number), 12 (float64) in the parts and 12 in
        the whole matrix. A doc id takes some 200 bytes.
        """
        doc_bytes = (8 + 12 + 12) * DOC_TERMS / 2 + 200  # DOC_TERMS counts two numbers a term
        docs = sizes.docs(self._registry, wildcards.dataset)
        return 4000 + 3000 * self.threads + int(doc_bytes * docs) // 10**6

    def export_mb(self, wildcards: Wildcards) -> int:
        """Return the MB of an export, which holds all judgements that it reads.

        A split reads its qrels, published or made from answers. A sampled corpus reads the qrels of
        the splits that it keeps. A corpus cut for queries holds all tokens of its source. A
        generated collection holds all docs.
        """
        dataset, made = self._registry.datasets[wildcards.dataset], 0
        if split := getattr(wildcards, "split", None):
            read = [dataset.origin(split)]
            if dataset.source_of(split).relevant_by:
                made = sizes.pairs(self._registry, SplitId(wildcards.dataset, split))
        else:
            read = getattr(getattr(dataset.source, "sample", None), "keep", [])
            if isinstance(dataset.source, Containing):
                text = sizes.segmented_bytes(self._registry, wildcards.dataset)
                return 2000 + int(text / TOKEN_BYTES * HELD_BYTES) // 10**6
        counts = [sum(e.splits[s].qrels for s in read if s in e.splits) for e in dataset.editions]
        judged = 2000 + (max(counts, default=0) + made) * JUDGEMENT_BYTES // 10**6
        return max(judged, self._generated_mb(wildcards.dataset))

    def _generated_mb(self, name: str) -> int:
        """Return the MB of a generated collection, which each export generates whole; else 0."""
        if self._registry.datasets[name].source.kind not in GENERATED_SPLITS:
            return 0
        doc = GENERATED_BYTES + 2 * sizes.doc_bytes(self._registry, name)
        return 500 + int(doc * sizes.docs(self._registry, name)) // 10**6


BATCH = "batch"  # a group's name in profiles, and a resource: each job requests one of it
LEAST_MINUTES, MARGIN = 15, 4  # a job may run for a quarter of an hour and four times its estimate
LONGEST_MINUTES = LEAST_MINUTES + MARGIN * 10  # jobs in batches: at most ten estimated minutes
STEP_MB = 8000  # a batch holds jobs whose memory lies between the same two steps
SHARD = "shard"  # the wildcard of jobs by shard
T = TypeVar("T", bound=Hashable)


class Job(Protocol):
    """What a batch needs to know of Snakemake's job."""

    threads: int
    resources: Mapping[str, int]
    wildcards_dict: Mapping[str, str]


class Batches:
    """The batches of short jobs, as Snakemake groups. They are known once its graph is known."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._groups: dict[tuple[str, frozenset[tuple[str, str]]], str | None] = {}

    def apply(self) -> None:
        """Give rules their group, which Snakemake looks up once the graph is known.

        A rule without a command gets no group, because a group would make it a cluster job.
        """
        for rule in self._workflow.rules:
            if not rule.norun:
                rule.group = partial(self._group, rule.name)

    def _group(self, rule: str, wildcards: Mapping[str, str]) -> str | None:
        """Return a job's group, a name that the profile's `batch` stands for, or None.

        There are no groups inside a batch, whose jobs run in their own Snakemake, nor without
        batches in the profile.
        """
        components = self._workflow.group_settings.group_components
        if components.get(BATCH, 1) == 1 or self._workflow.remote_exec:
            return None
        if not self._groups:
            dag = self._workflow.dag
            level = levels(dag.jobs, lambda job: dag.dependencies[job])
            for job in dag.jobs:
                self._groups[_key(job.rule.name, job.wildcards_dict)] = name(job, level[job])
        group = self._groups[_key(rule, dict(wildcards))]
        if group is not None:
            self._workflow.parent_groupids[group] = BATCH
        return group


def levels(jobs: Iterable[T], dependencies: Callable[[T], Iterable[T]]) -> dict[T, int]:
    """Return the level of each job: the length of its longest chain of dependencies, from 1.

    A job depends only on jobs of lower levels. So a batch of jobs of one level never waits for
    itself.
    """
    level: dict[T, int] = {}
    for job in jobs:
        open_ = [job]
        while open_:
            before = [other for other in dependencies(open_[-1]) if other not in level]
            if before:
                open_ += before
            else:
                last = open_.pop()
                level[last] = 1 + max((level[other] for other in dependencies(last)), default=0)
    return level


def name(job: Job, level: int) -> str | None:
    """Return the group of a short job, named by its level and resources; None for a long job.

    A batch reserves the resources of its largest job. So jobs with different needs of cards,
    threads or memory go into different batches.
    """
    takes = job.resources
    cards, threads = takes.get("gpu", 0), job.threads
    gb = ceil(takes.get("mem_mb", 0) / STEP_MB) * STEP_MB // 1000
    if SHARD in job.wildcards_dict or takes.get("runtime", 0) > LONGEST_MINUTES:
        return None
    return f"{BATCH}-{level}-{threads}-threads-{cards}-cards-{gb}-gb"


def _key(rule: str, wildcards: Mapping[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    return rule, frozenset(wildcards.items())

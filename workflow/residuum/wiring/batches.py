"""Which jobs a cluster starts together: short ones that wait for the same number of others.

Usage: `Batches(workflow).apply()` once all rules are read; a profile says how many go together,
`group-components: batch=20`, and they then run one after another in one job of the cluster. Jobs
by shard are left alone: they are what job arrays are for. Must not know what jobs compute.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from math import ceil
from typing import Any, TypeVar

Workflow = Any  # Snakemake's, which has no types
BATCH = "batch"  # what profiles call it, and the resource of which a batch has one
LEAST_MINUTES, MARGIN = 15, 4  # a job may run for a quarter of an hour and four times its estimate
LONGEST_MINUTES = LEAST_MINUTES + MARGIN * 10  # of a job that goes with others: ten, estimated
STEP_MB = 8000  # jobs whose memory is between the same two steps go together
SHARD = "shard"  # the wildcard of jobs by shard
T = TypeVar("T", bound=Hashable)


class Batches:
    """The groups of Snakemake's jobs, known when its graph is."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._groups: dict[tuple[str, frozenset[tuple[str, str]]], str | None] = {}

    def apply(self) -> None:
        """Give rules their group, which Snakemake looks up once the graph is known.

        A rule that runs nothing has none: with one, it would be a job of the cluster.
        """
        for rule in self._workflow.rules:
            if not rule.norun:
                rule.group = partial(self._group, rule.name)

    def _group(self, rule: str, wildcards: Mapping[str, str]) -> str | None:
        """Return a job's group: a name that the profile's `batch` stands for, or None.

        The jobs of a batch, which a Snakemake of their own runs, have none; nor has any job where
        the profile asks for no batches.
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
    """Return how many jobs stand one behind another before each, itself included.

    No job needs one of its own level, and what it needs is of a lower one: however jobs of a level
    are put together, no batch waits for itself.
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


def name(job: Any, level: int) -> str | None:
    """Return the group of a job that is short: its level, and what it takes; None of others.

    A batch holds what the largest of its jobs takes: cards, threads and much memory are not held
    for jobs that need less.
    """
    takes = job.resources
    cards, threads = takes.get("gpu", 0), job.threads
    gb = ceil(takes.get("mem_mb", 0) / STEP_MB) * STEP_MB // 1000
    if SHARD in job.wildcards_dict or takes.get("runtime", 0) > LONGEST_MINUTES:
        return None
    return f"{BATCH}-{level}-{threads}-threads-{cards}-cards-{gb}-gb"


def _key(rule: str, wildcards: Mapping[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    return rule, frozenset(wildcards.items())

"""Snakemake's dry run: its jobs, and what their rules declare that they take.

Usage: `pending, every = plans(["scale=full"], results)`. Every hub model counts as available
(`--summary` and `--d3dag` would ask the hub). Must not know how a job is estimated.
"""

import importlib.util
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from subprocess import PIPE, Popen
from typing import NamedTuple

from residuum.cli.errors import ResiduumError

JOB = re.compile(r"^rule (\w+):\n((?:    .*\n)*)", re.MULTILINE)
FIELD = re.compile(r"^    ([\w-]+): (.*)$", re.MULTILINE)
WILDCARD = re.compile(r"(\w+)=([^,]*)")
NUMBER = re.compile(r"\b(\w+)=(\d+)(?=,|$)")
CORES = 1_000_000  # so that Snakemake does not lower any job's threads to what this machine has
ALL = "--forceall"  # finished jobs too


class Job(NamedTuple):
    """A planned job, and what its rule declares that it takes (residuum.wiring.resources)."""

    rule: str
    wildcards: dict[str, str]
    inputs: list[str]
    outputs: list[str]
    threads: int
    resources: Counter[str]  # 0 where the rule declares none

    @property
    def alike(self) -> int:
        """How many jobs alike it stands for: shards, where a plan is of other sizes; else 1."""
        return self.resources["shards"] or 1

    @property
    def seconds(self) -> float:
        """How long it takes with the threads of its rule, on a card if it computes on one."""
        return max(self.resources["gpu_s"], self.resources["core_s"] / self.threads)


def sums(jobs: Iterable[Job]) -> Counter[str]:
    """Return what jobs take together, with all that they stand for."""
    total: Counter[str] = Counter()
    for job in jobs:
        for name, each in job.resources.items():
            total[name] += job.alike * each
    return total


def plans(config: Sequence[str], results: Path) -> tuple[list[Job], list[Job]]:
    """Return the jobs that have to run, and all jobs, finished ones too.

    `config` are values of `--config`. A ResiduumError says why Snakemake cannot plan.
    """
    jobs = dry_runs([(config, [])] + [(config, [ALL])] * results.exists())  # else all have to run
    return jobs[0], jobs[-1]


def dry_runs(requests: Iterable[tuple[Sequence[str], Sequence[str]]]) -> list[list[Job]]:
    """Return the jobs of several dry runs at once, each of values of `--config` and options."""
    if importlib.util.find_spec("snakemake") is None:
        raise ResiduumError(
            "no Snakemake in this environment, and it is Snakemake that plans the jobs. Install "
            "the project whole: make, or pip install '.[graph]'"
        )
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--nocolor", "--cores", str(CORES)]
    command += ["--quiet", "host"]  # in place of the profile's quiet rules
    runs = [
        (config, Popen([*command, *more, "--config", *config], stdout=PIPE, stderr=PIPE, text=True))
        for config, more in requests
    ]
    try:
        return list(_finished(runs))
    finally:
        for _, run in runs:  # of which one may have failed before others have ended
            run.kill()
            run.communicate()


def _finished(runs: Iterable[tuple[Sequence[str], "Popen[str]"]]) -> Iterator[list[Job]]:
    for config, run in runs:
        printed, faults = run.communicate()
        if run.returncode:
            text = faults + printed
            start = re.search(r"^\w*(Error|Exception)\b", text, re.MULTILINE)
            message = text[start.start() if start else 0 :].strip()
            raise ResiduumError(f"Snakemake cannot plan {' '.join(config)}:\n{message}")
        yield read(printed)


def read(printed: str) -> list[Job]:
    """Return the jobs that a dry run prints; a rule without outputs, such as all, is none."""
    jobs = []
    for rule, body in JOB.findall(printed):
        fields = defaultdict(str, FIELD.findall(body))
        if fields["output"]:
            inputs, outputs = (fields[name].split(", ") for name in ("input", "output"))
            wildcards, threads = WILDCARD.findall(fields["wildcards"]), int(fields["threads"] or 1)
            takes = Counter({name: int(n) for name, n in NUMBER.findall(fields["resources"])})
            jobs.append(Job(rule, dict(wildcards), inputs, outputs, threads, takes))
    return jobs

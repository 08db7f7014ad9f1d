"""Run Snakemake's dry run, and read the jobs that it prints with what each takes.

Usage: `pending, every = plans(["scale=mini", "papers=[clear]"], Path("results/mini"))`.
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
CORES = 1_000_000  # more than any rule's threads, so that Snakemake lowers none
ALL = "--forceall"  # includes finished jobs


class Job(NamedTuple):
    """A planned job, with the resources that its rule declares (residuum.wiring.resources)."""

    rule: str
    wildcards: dict[str, str]
    inputs: list[str]
    outputs: list[str]
    threads: int
    resources: Counter[str]  # missing ones count as 0

    @property
    def alike(self) -> int:
        """The number of equal jobs it stands for: shards in a plan of other sizes, else 1."""
        return self.resources["shards"] or 1

    @property
    def seconds(self) -> float:
        """The job's duration in seconds, on a card if it uses a card, with its rule's threads."""
        return max(self.resources["gpu_s"], self.resources["core_s"] / self.threads)


def sums(jobs: Iterable[Job]) -> Counter[str]:
    """Return the sums of the jobs' resources; a job counts once for each job it stands for."""
    total: Counter[str] = Counter()
    for job in jobs:
        for name, quantity in job.resources.items():
            total[name] += job.alike * quantity
    return total


def plans(config: Sequence[str], results: Path) -> tuple[list[Job], list[Job]]:
    """Return the unfinished jobs, and all jobs."""
    jobs = dry_runs([(config, [])] + [(config, [ALL])] * results.exists())  # else all are pending
    return jobs[0], jobs[-1]


def dry_runs(requests: Iterable[tuple[Sequence[str], Sequence[str]]]) -> list[list[Job]]:
    """Run dry runs together, each with its values of `--config` and options; return their jobs."""
    if importlib.util.find_spec("snakemake") is None:
        raise ResiduumError(
            "no Snakemake in this environment, but Snakemake plans the jobs. Install the whole "
            "project: make, or pip install '.[graph]'"
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
        for _, run in runs:  # the other runs may still be going after a failure
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
    """Return the jobs that a dry run prints; a rule without outputs, such as `all`, is skipped."""
    jobs = []
    for rule, body in JOB.findall(printed):
        fields = defaultdict(str, FIELD.findall(body))
        if fields["output"]:
            inputs, outputs = (fields[name].split(", ") for name in ("input", "output"))
            wildcards, threads = WILDCARD.findall(fields["wildcards"]), int(fields["threads"] or 1)
            takes = Counter({name: int(n) for name, n in NUMBER.findall(fields["resources"])})
            jobs.append(Job(rule, dict(wildcards), inputs, outputs, threads, takes))
    return jobs

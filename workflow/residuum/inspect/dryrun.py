"""The jobs that Snakemake plans for a scale and papers: its own dry run, read.

Usage: `todo, every = dryrun.plans(["scale=full"], Path("results/full"))`, in the project's folder.
Nothing is made, and every hub model counts as available: `--summary` and `--d3dag` would ask the
hub. Must not know what a job does.
"""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from residuum.cli.errors import ResiduumError

JOB = re.compile(r"^rule (\w+):\n((?:    .*\n)*)", re.MULTILINE)
FIELD = re.compile(r"^    ([\w-]+): (.*)$", re.MULTILINE)
NUMBER = re.compile(r"\b(\w+)=(\d+)(?=,|$)")
CORES = 1_000_000  # so that Snakemake does not lower any job's threads to what this machine has


class Job(NamedTuple):
    """A planned job, and what its rule declares that it takes (residuum.wiring.resources)."""

    rule: str
    wildcards: dict[str, str]
    outputs: list[str]
    threads: int
    resources: dict[str, int]

    def takes(self, resource: str) -> int:
        """Return a resource, 0 where the rule declares none."""
        return self.resources.get(resource, 0)

    @property
    def seconds(self) -> float:
        """Return how long it runs."""
        return max(self.takes("gpu_s"), self.takes("core_s") / self.threads)


def plans(config: Sequence[str], results: Path) -> tuple[list[Job], list[Job]]:
    """Return the jobs that have to run, and all jobs, finished ones too.

    `config` are values of `--config`. Raises ResiduumError without Snakemake or a Snakefile, and
    where Snakemake cannot plan.
    """
    if importlib.util.find_spec("snakemake") is None:
        raise ResiduumError(
            "no Snakemake in this environment, and it is Snakemake that plans the jobs. Install "
            "the project whole: make, or pip install -r requirements.lock"
        )
    if not Path("Snakefile").is_file():
        raise ResiduumError(f"no Snakefile in {Path.cwd()}. Run this in the project's folder.")
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--nocolor", "--cores", str(CORES)]
    command += [
        "--quiet",
        "host",
        "--config",
        *config,
    ]  # overrides the profile's `rules`: jobs show
    commands = [command]
    if results.exists():  # else all jobs have to run, and a second dry run takes longer
        commands.append([*command, "--forceall"])
    pipe = subprocess.PIPE
    runs = [subprocess.Popen(args, stdout=pipe, stderr=pipe, text=True) for args in commands]
    jobs = []
    for run in runs:
        printed, faults = run.communicate()
        if run.returncode:
            text = faults + printed
            start = re.search(r"^\w*(Error|Exception)\b", text, re.MULTILINE)
            message = text[start.start() if start else 0 :].strip()
            raise ResiduumError(f"Snakemake cannot plan {' '.join(config)}:\n{message}")
        jobs.append(read(printed))
    return jobs[0], jobs[-1]


def read(printed: str) -> list[Job]:
    """Return the jobs that a dry run prints; a rule without outputs, such as all, is none."""
    jobs = []
    for rule, body in JOB.findall(printed):
        fields = dict(FIELD.findall(body))
        pairs = [pair.partition("=") for pair in fields.get("wildcards", "").split(", ") if pair]
        if outputs := [path for path in fields.get("output", "").split(", ") if path]:
            wildcards = {name: value for name, _, value in pairs}
            numbers = NUMBER.findall(fields.get("resources", ""))
            resources = {name: int(number) for name, number in numbers}
            jobs.append(Job(rule, wildcards, outputs, int(fields.get("threads", 1)), resources))
    return jobs

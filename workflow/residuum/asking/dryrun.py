"""The jobs that Snakemake plans for a scale and papers: its own dry run, read.

Usage: `todo, every = dryrun.plans("full", ["clear"])`, in the project's folder. Nothing is made. A
dry run supposes that every hub model can be had. `--summary` and `--d3dag` would ask the hub.
Must not know what a job does or costs.
"""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from residuum.core.errors import ResiduumError
from residuum.wiring.paths import results_of

JOB = re.compile(r"^rule (\w+):\n((?:    .*\n)*)", re.MULTILINE)
FIELD = re.compile(r"^    ([\w-]+): (.*)$", re.MULTILINE)
MEMORY = re.compile(r"\bmem_mb=(\d+)")
CORES = 1_000_000  # so that Snakemake does not lower any job's threads to what this machine has


class Job(NamedTuple):
    """A planned job; memory in bytes, 0 where its rule asks for none."""

    rule: str
    wildcards: dict[str, str]
    outputs: list[str]
    threads: int
    memory: int


def plans(scale: str, papers: Sequence[str]) -> tuple[list[Job], list[Job]]:
    """Return the jobs that have to run, and all jobs there are, done ones too.

    Raises ResiduumError without Snakemake or a Snakefile, and where Snakemake cannot plan.
    """
    _require()
    runs = [_start(scale, papers)]
    if Path(results_of(scale)).exists():  # else all jobs have to run, and asking twice takes longer
        runs.append(_start(scale, papers, "--forceall"))
    jobs = [_jobs(run, scale) for run in runs]
    return jobs[0], jobs[-1]


def _jobs(run: "subprocess.Popen[str]", scale: str) -> list[Job]:
    said, faults = run.communicate()
    if run.returncode:
        raise ResiduumError(f"Snakemake cannot plan scale {scale}:\n{_fault(faults + said)}")
    return read(said)


def _require() -> None:
    if importlib.util.find_spec("snakemake") is None:
        raise ResiduumError(
            "no Snakemake in this environment, and it is Snakemake that plans the jobs. Install "
            "the project whole: make, or pip install -r requirements.lock"
        )
    if not Path("Snakefile").is_file():
        raise ResiduumError(f"no Snakefile in {Path.cwd()}. Run this in the project's folder.")


def _start(scale: str, papers: Sequence[str], *options: str) -> "subprocess.Popen[str]":
    """Start a dry run; `--quiet host` stands in place of the profile's `rules`, so jobs show."""
    command = [sys.executable, "-m", "snakemake", "--dry-run", *options, "--quiet", "host"]
    command += ["--nocolor", "--cores", str(CORES)]
    command += ["--config", f"scale={scale}", f"papers=[{','.join(papers)}]"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


def _fault(said: str) -> str:
    """Return what Snakemake says from the word error on, and all it said where there is none."""
    start = re.search(r"^\w*(Error|Exception)\b", said, re.MULTILINE)
    return said[start.start() if start else 0 :].strip()


def read(said: str) -> list[Job]:
    """Return the jobs that a dry run prints; a rule without outputs, such as all, is none."""
    jobs = [_job(rule, dict(FIELD.findall(body))) for rule, body in JOB.findall(said)]
    return [job for job in jobs if job.outputs]


def _job(rule: str, told: dict[str, str]) -> Job:
    pairs = [pair.partition("=") for pair in told.get("wildcards", "").split(", ") if pair]
    memory = MEMORY.search(told.get("resources", ""))
    return Job(
        rule=rule,
        wildcards={name: value for name, _, value in pairs},
        outputs=[path for path in told.get("output", "").split(", ") if path],
        threads=int(told.get("threads", 1)),
        memory=int(memory[1]) * 10**6 if memory else 0,
    )

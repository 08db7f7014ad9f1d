"""Run a scale through SLURM: the same bytes as here, and the same after each of four faults.

Usage: `make cluster`, or, with the packages of requirements-slurm.lock, `python
tests/cluster/run.py [--work FOLDER] [--papers clear] [--faults memory node]`. It sets up a cluster
of two nodes on this machine (slurm.py), which needs root, and takes it down again. What it prints
says what was seen.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import slurm

from contents import contents
from projects import choose, copy_project

SCALE = "smoke"
LUCENE = "/lucene/"  # whose segments have random ids
VARIES = {"benchmarks", "logs", "report", "timings", "work"}  # seconds, and what tells of them
# What is behind one run, an encoder trained and its vectors searched among it.
ROAD = f"results/{SCALE}/metrics/generated-smoke/dev/clear.seed1.tsv"
TRAINING = "-m residuum.train train"
TELLING = re.compile(
    r"^.*(?:SLURM-job|failed|Trying to restart|Exiting|NODE_FAIL|Error).*$", re.MULTILINE
)
# One machine: less than a cluster waits for files of another node.
HERE = ["--latency-wait", "15", "--slurm-init-seconds-before-status-checks", "10"]


class Run(NamedTuple):
    """A Snakemake that has ended: its status, what it printed, its seconds."""

    status: int
    text: str
    seconds: float


class Fault(NamedTuple):
    """What is done to a training in the middle, and how Snakemake was started."""

    what: str
    do: Callable[[slurm.Job], None]
    options: Sequence[str]


def main() -> None:
    """Run all of it; the exit status says if bytes are equal everywhere."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, help="a folder that is not there yet, and stays")
    parser.add_argument("--papers", nargs="+", help="fewer than config.yaml names")
    parser.add_argument("--target", help="a file to make in place of the whole scale")
    parser.add_argument("--faults", nargs="*", choices=FAULTS, default=[*FAULTS])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary) / "work"
        work.mkdir(parents=True)
        made = ["--", options.target] if options.target else []
        equal = check(work, options.papers or [], made, options.faults)
    sys.exit(0 if equal else 1)


def check(work: Path, papers: Sequence[str], target: Sequence[str], faults: Sequence[str]) -> bool:
    """Run the scale here and on the cluster, then each fault; return whether bytes are equal."""
    here, there = project(work / "here", papers), project(work / "there", papers)
    local = snakemake(here, *target)
    say(f"here: status {local.status}, {local.seconds:.0f} s, {jobs_of(local.text)}")
    before = project(work / "before", papers)
    runs = [local, snakemake(before, "--omit-from", "train_train", "--", ROAD)]
    road = copy(before, work / "road")
    runs.append(snakemake(road, "--", ROAD))
    if failed := [run.text[-3000:] for run in runs if run.status]:
        raise SystemExit(f"without a cluster it fails already:\n{failed[0]}")
    with slurm.Cluster(work / "slurm") as cluster:
        done = on_cluster(there, *target)
        (work / "cluster.log").write_text(done.text)
        say(f"cluster: status {done.status}, {done.seconds:.0f} s, {jobs_of(done.text)}")
        say(f"jobs of the cluster: {slurm.jobs()}")
        equal = [done.status == 0, compare(hashes(here), hashes(there), "cluster")]
        for name in faults:
            folder = copy(before, work / name)
            equal += [
                see(cluster, folder, FAULTS[name]),
                compare(hashes(road), hashes(folder), name),
            ]
    return all(equal)


def see(cluster: slurm.Cluster, folder: Path, fault: Fault) -> bool:
    """Do a fault to the training of the road, and run what is left; say if all came to its end."""
    log, start = folder.with_suffix(".log"), time.monotonic()
    with open(log, "w") as output:
        command = cluster_command([*fault.options, "--", ROAD])
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
        try:
            job = cluster.job_of(TRAINING)
            say(f"\n{folder.name}: {fault.what}; job {job.number} on {job.node}")
            fault.do(job)
            status = process.wait(1200)
        finally:
            process.kill()
    seconds = time.monotonic() - start
    say(f"status {status} after {seconds:.0f} s; state {slurm.state_of(job.number)}")
    for line in dict.fromkeys(TELLING.findall(log.read_text())):
        say(f"    {line.strip()}")
    left = slurm.processes_left(TRAINING)
    say(f"processes left of the training: {len(left)}")
    again = on_cluster(folder, "--", ROAD)
    say(f"the next run: status {again.status}, {again.seconds:.0f} s, {jobs_of(again.text)}")
    cluster.resume()
    return again.status == 0 and not left


def copy(folder: Path, other: Path) -> Path:
    """Copy a project with its results and what Snakemake remembers of them."""
    shutil.copytree(folder, other, symlinks=True)
    return other


def project(folder: Path, papers: Sequence[str]) -> Path:
    """Return a copy of the project with fewer papers, where some are named."""
    folder.mkdir()
    copy_project(folder)
    if papers:
        choose(folder, *papers)
    return folder


def snakemake(folder: Path, *options: str) -> Run:
    """Run Snakemake in a folder to its end, here."""
    command = [sys.executable, "-m", "snakemake", "--cores", "all", "--config", f"scale={SCALE}"]
    command += options
    return ended(command, folder)


def on_cluster(folder: Path, *options: str) -> Run:
    """Run Snakemake in a folder through SLURM to its end."""
    return ended(cluster_command(options), folder)


def cluster_command(options: Sequence[str]) -> list[str]:
    """Return the command that runs the scale through SLURM."""
    profile = ["--workflow-profile", "profiles/slurm", "--config", f"scale={SCALE}"]
    return [sys.executable, "-m", "snakemake", *profile, *HERE, *options]


def ended(command: Sequence[str], folder: Path) -> Run:
    """Run a command, and time it."""
    start = time.monotonic()
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return Run(done.returncode, done.stdout, time.monotonic() - start)


def jobs_of(text: str) -> str:
    """Return Snakemake's last line on how many jobs have ended."""
    steps = re.findall(r"^(\d+ of \d+) steps \(.*\) done$", text, re.MULTILINE)
    return f"{steps[-1]} jobs" if steps else "no job"


def hashes(folder: Path) -> dict[str, str]:
    """Return a hash of each file below the results that does not tell of time."""
    results = folder / "results" / SCALE
    made = {}
    for part in sorted(results.iterdir()):
        if part.name not in VARIES:
            for name, held in contents(part).items():
                data = held if isinstance(held, bytes) else json.dumps(held).encode()
                made[f"{part.name}/{name}"] = hashlib.sha256(data).hexdigest()
    return {name: digest for name, digest in made.items() if LUCENE not in name}


def compare(expected: dict[str, str], made: dict[str, str], name: str) -> bool:
    """Say how many files are equal, and which are not."""
    names = expected.keys() | made.keys()
    differ = sorted(path for path in names if expected.get(path) != made.get(path))
    total = hashlib.sha256(json.dumps(sorted(made.items())).encode()).hexdigest()
    say(f"{name}: {len(names) - len(differ)} of {len(names)} files as here; all: {total[:16]}")
    for path in differ[:20]:
        say(f"    differs: {path}")
    return not differ


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def cancel(job: slurm.Job) -> None:
    """Have the scheduler cancel it."""
    slurm.run("scancel", job.number)


def wait(job: slurm.Job) -> None:
    """Leave it stopped until its time is over."""


def resume(job: slurm.Job) -> None:
    """Let it go on: its memory ends it."""
    for process in slurm.processes_left(TRAINING):
        subprocess.run(["kill", "-CONT", str(process)], check=True)


def set_down(job: slurm.Job) -> None:
    """Take its node away."""
    slurm.run("scontrol", "update", f"nodename={job.node}", "state=down", "reason=test")


FAULTS = {
    "cancelled": Fault("cancelled by the scheduler", cancel, ["--retries", "0"]),
    "memory": Fault(
        "out of its memory limit, 450 MB, in place of the 6,000 that the rule requests",
        resume,
        ["--set-resources", "train_train:mem_mb=450 if attempt == 1 else 6000 * attempt"],
    ),
    "time": Fault(
        "out of its time limit, of a minute",
        wait,
        ["--set-resources", "train_train:runtime=1 if attempt == 1 else 15 * attempt"],
    ),
    "node": Fault("its node set down in the middle", set_down, []),
}

if __name__ == "__main__":
    main()

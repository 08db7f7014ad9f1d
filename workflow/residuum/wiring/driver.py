"""What the Snakefile does around the jobs: a lock that dies with its process, the hub, messages.

Usage: see Snakefile and rules/wiring.smk. Must not know rules or stages.
"""

import fcntl
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.config.registry import Registry
from residuum.config.schema.scales import Config
from residuum.pages.layout import MORE
from residuum.preload import benchmarks, server
from residuum.wiring import binding

LOCK = Path(".snakemake/residuum.lock")
NVIDIA = Path("/proc/driver/nvidia")
_held: list[IO[str]] = []


class Workflow(Protocol):
    """What is read of Snakemake's workflow."""

    basedir: str
    dryrun: bool
    local_exec: bool
    remote_exec: bool
    scheduler: Any
    dag_settings: Any
    deployment_settings: Any


@contextmanager
def in_snakemakes_words() -> Iterator[None]:
    """Turn a ResiduumError into what Snakemake prints without a traceback."""
    from snakemake.exceptions import WorkflowError  # type: ignore[import-untyped]

    try:
        yield
    except ResiduumError as error:
        raise WorkflowError(str(error)) from None


def shell_prefix(workflow: Workflow) -> str:
    """Return what stands before every command.

    Jobs find the package by PYTHONPATH, so that a rule's environment holds dependencies only;
    without conda they run the Python that runs Snakemake. Where `preload` has started parents, the
    function `python` has one of them fork the job.
    """
    conda = "conda" in str(workflow.deployment_settings.deployment_method).lower()
    path = "" if conda else f"export PATH='{Path(sys.executable).parent}':\"$PATH\"; "
    package = Path(workflow.basedir) / "workflow"
    client = package / "residuum" / "preload" / "client.py"
    python = (
        f'python() {{{{ if [ -n "${{{{{server.FOLDER}-}}}}" ]; '
        f'then command python -I -S \'{client}\' "$@"; else command python "$@"; fi; }}}}; '
    )
    return f"set -euo pipefail; export PYTHONUTF8=1 PYTHONPATH='{package}'; {path}{python}"


def preload(workflow: Workflow, config: Config) -> None:
    """Start the processes that fork the jobs, where all of these run here, as they are and on CPUs.

    Elsewhere jobs start by themselves, whatever a Snakemake around this one has started.
    """
    os.environ.pop(server.FOLDER, None)
    deployed = workflow.deployment_settings.deployment_method
    cards = config.device == "cuda" or (config.device == "auto" and NVIDIA.exists())
    if config.preload and workflow.local_exec and not deployed and not cards:
        server.start()
        benchmarks.adopt()


def hold_lock(path: Path = LOCK) -> None:
    """Let only one Snakemake process work in this folder, for as long as it lives.

    Snakemake's own lock is a file that outlives a killed process and then blocks the same
    command; the kernel drops this one with the process, so that a rerun just resumes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = open(path, "w")  # noqa: SIM115 - open for as long as the process lives
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ResiduumError(
            f"another snakemake process works in {path.parent.parent.resolve()}. "
            "Wait until it ends, or stop it."
        ) from None
    _held.append(handle)


def calm_scheduler(workflow: Workflow) -> None:
    """Lift Snakemake's limit on job starts, which is there for clusters, where jobs run here.

    With it, each look of Snakemake 9's scheduler orders another one a second later: looks multiply
    with the jobs done, and took an eighth of two cores. (Tried with 9.27; where a Snakemake has no
    such attribute, this does nothing.)
    """
    if workflow.local_exec and hasattr(workflow.scheduler, "job_rate_limiter"):
        workflow.scheduler.job_rate_limiter = None


class HubLookup:
    """Why hub models cannot be downloaded, each looked up once; a dry run plans as if all could.

    Jobs that a cluster starts as Snakemakes of their own follow what the first one found.
    """

    def __init__(self, workflow: Workflow, record: Path) -> None:
        self._workflow, self._record = workflow, record
        self._found: dict[str, str | None] = {}

    def __call__(self, model: str, revision: str) -> str | None:
        """Return the reason, or None for a model that is cached or on the hub."""
        name = f"{model}@{revision}"
        if self._workflow.dryrun:
            return None
        if name not in self._found:
            self._found[name] = self._look_up(name, model, revision)
        return self._found[name]

    def _look_up(self, name: str, model: str, revision: str) -> str | None:
        if self._workflow.remote_exec:
            recorded: dict[str, str | None] = json.loads(self._record.read_text())
            return recorded[name]
        from residuum.neural import hub

        return hub.missing(model, revision)

    def keep(self) -> None:
        """Write down what was found, for a cluster's jobs."""
        files.write_text(self._record, json.dumps(self._found, indent=1) + "\n")


def tell_absent(registry: Registry, hub: HubLookup) -> None:
    """Say on standard error what is missing at this scale, and on which pages."""
    pages: dict[str, dict[str, None]] = {}
    for gap in binding.gaps(registry, hub):
        if not gap.uncast:
            pages.setdefault(gap.why, {})[gap.page] = None
    for why, where in pages.items():
        print(f"not run: {why} ({', '.join(where)})", file=sys.stderr)
    hub.keep()


def show(pages: Iterable[str], workflow: Workflow) -> str:
    """Return the text of the finished pages, each under its path, a long one up to its mark.

    They are those among the targets, or all where no target or the rule all is requested.
    """
    targets = set(workflow.dag_settings.targets or ["all"])
    found = (Path(p) for p in pages if targets & {p, "all"} and Path(p).is_file())
    texts = ((path, path.read_text(encoding="utf-8").partition(MORE)[0]) for path in found)
    return "\n".join(f"\n{path}\n\n{text}" for path, text in texts)

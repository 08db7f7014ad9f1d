"""The wiring of a scale, and what the Snakefile does around the jobs: a lock, the hub, messages.

Usage: `WIRING = Wiring(config, workflow)`, then `input: unpack(WIRING.runs.cut)`; see Snakefile and
rules/wiring.smk. Must not know rules or stages.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from logging.handlers import QueueHandler
from pathlib import Path
from queue import Queue
from shlex import quote
from typing import IO, Any

from residuum.artefacts import files
from residuum.artefacts.machine import ARITHMETIC
from residuum.cli import command, progress
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.registry import Registry
from residuum.config.roots import ROOT
from residuum.config.schema.scales import Config, FromHub
from residuum.preload import benchmarks, server
from residuum.wiring import defaults
from residuum.wiring.arithmetic import Arithmetic
from residuum.wiring.batches import Batches
from residuum.wiring.characteristics import Counts
from residuum.wiring.claims import Claimed
from residuum.wiring.corpora import Corpora
from residuum.wiring.ending import show
from residuum.wiring.estimates import Estimates
from residuum.wiring.evaluations import Evaluations
from residuum.wiring.exports import Exports
from residuum.wiring.fidelities import Fidelities
from residuum.wiring.figures import Figures
from residuum.wiring.gaps import gaps
from residuum.wiring.groups import Groups
from residuum.wiring.hybrids import Hybrids
from residuum.wiring.listed import Listed
from residuum.wiring.models import Models
from residuum.wiring.pages import Pages
from residuum.wiring.part import Constraints
from residuum.wiring.paths import Paths, results_of
from residuum.wiring.placement import Placement
from residuum.wiring.questions import Questions
from residuum.wiring.reported import Mark, Reported
from residuum.wiring.resources import Resources
from residuum.wiring.runs import Runs
from residuum.wiring.sweeps import Sweeps
from residuum.wiring.unions import Unions

LOCK = Path(".snakemake/residuum.lock")
KEPT = "dirty_decay_ms:-1,muzzy_decay_ms:-1"  # jemalloc's options: nothing goes back to the system
Workflow = Any  # Snakemake's, which has no types
_held: list[IO[str]] = []


class Wiring:
    """The parts, the paths and the resources of the scale that config/ chooses."""

    def __init__(self, config: Mapping[str, object], workflow: Workflow) -> None:
        """Load config/ with Snakemake's `config` over it; a ResiduumError lists all its faults."""
        self._workflow = workflow
        self.registry = registry = loading.load(Path("config"), config)
        self.paths = paths = Paths(results_of(registry.config.scale))
        self.hub = hub = HubLookup(workflow, Path(paths.absent))
        self.constraints = Constraints(registry)
        self._placement = placement = Placement(workflow, registry.config)
        placement.limit()
        self.resources = Resources(registry, placement.number)
        self.estimates = Estimates(registry)
        self.exports, self.corpora = Exports(registry, paths, hub), Corpora(registry, paths, hub)
        self.listed = Listed(registry, paths, hub)
        self.models, self.questions = Models(registry, paths, hub), Questions(registry, paths, hub)
        self.runs, self.evaluations = Runs(registry, paths, hub), Evaluations(registry, paths, hub)
        self.pages, self.claims = Pages(registry, paths, hub), Claimed(registry, paths, hub)
        self.groups, self.figures = Groups(registry, paths, hub), Figures(registry, paths, hub)
        self.fidelities = Fidelities(registry, paths, hub)
        self.sweeps, self.hybrids = Sweeps(registry, paths, hub), Hybrids(registry, paths, hub)
        self.arithmetic = Arithmetic(registry, paths, hub)
        self.counts, self.unions = Counts(registry, paths, hub), Unions(registry, paths, hub)

    def shell_prefix(self) -> str:
        """Return what stands before every command of this scale."""
        return shell_prefix(self._workflow, self.registry.config.arithmetic)

    def reported(self, mark: Mark) -> Reported:
        """Return what marks outputs for Snakemake's own report, given its function `report`."""
        return Reported(self.registry, mark)

    def complete(self, environment: str) -> None:
        """Give rules what they do not say: a benchmark file, an environment, and their batches.

        A cluster starts short jobs together, where the profile says how many.
        """
        defaults.complete(self._workflow, self.paths, environment)
        Batches(self._workflow).apply()

    def start(self) -> None:
        """Do what comes before the first job: lock the folder, preload, say what is missing."""
        with in_snakemakes_words():
            check_arrays(self._workflow)
            refuse_planned(self.registry.config)
            hold_lock()
            self._placement.start()
        calm_scheduler(self._workflow)
        preload(self._workflow, self.registry.config, self._placement.number)
        print_gaps(self.registry, self.hub)

    def finished(self) -> str:
        """Return what to print at the end, once all that is told before it has been."""
        _settle()
        targets = {*(self._workflow.dag_settings.targets or ["all"])}
        text = show(self.pages.all(None), self.paths.ledger.beside(".md"), targets)
        if targets & {"all", self.paths.report}:
            text += f"\nOpen the report in a browser: {Path(self.paths.report).resolve()}"
        return text


def _settle(seconds: float = 5.0) -> None:
    """Wait until plugins that log, in a thread of their own, have told all that they have."""
    until = time.monotonic() + seconds
    for handler in logging.getLogger("snakemake.logging").handlers:
        if isinstance(handler, QueueHandler) and isinstance(handler.queue, Queue):
            while handler.queue.unfinished_tasks and time.monotonic() < until:
                time.sleep(0.02)


@contextmanager
def in_snakemakes_words() -> Iterator[None]:
    """Turn a ResiduumError into what Snakemake prints without a traceback."""
    from snakemake.exceptions import WorkflowError  # type: ignore[import-untyped]

    try:
        yield
    except ResiduumError as error:
        raise WorkflowError(str(error)) from None


def shell_prefix(workflow: Workflow, arithmetic: str = "native") -> str:
    """Return what stands before every command.

    Jobs find the package by PYTHONPATH, so that a rule's environment holds dependencies only;
    without conda they run the Python that runs Snakemake. Where `preload` has started parents, the
    function `python` has one of them fork the job: with torch loaded, whose arithmetic the
    environment must have decided before. Polars, which would take every core that it sees, takes
    the rule's threads, as Snakemake has it of other libraries, and keeps the memory that it gives
    back, as `cli.memory` has it of C's. `tee` leaves the terminal alone
    where a line of progress stands there.
    """
    conda = "conda" in str(workflow.deployment_settings.deployment_method).lower()
    path = "" if conda else f'export PATH={_quoted(Path(sys.executable).parent)}:"$PATH"; '
    package = ROOT / "workflow"
    if os.pathsep in str(package):
        cause = f"PYTHONPATH is cut at '{os.pathsep}', so that another residuum would run"
        raise ResiduumError(f"{ROOT}: {cause}. Move or rename the folder.")
    client = _quoted(package / "residuum" / "preload" / "client.py")
    python = (
        f'python() {{{{ if [ -n "${{{{{server.FOLDER}-}}}}" ]; '
        f'then command python -I -S {client} $$ "$@"; else command python "$@"; fi; }}}}; '
    )
    tee = (
        f'tee() {{{{ if [ -n "${{{{{progress.QUIET}-}}}}" ]; '
        'then cat > "$1"; else command tee "$1"; fi; }}; '
    )
    pinned = "".join(f" {name}={value}" for name, value in ARITHMETIC[arithmetic].items())
    # Of two values of an option jemalloc takes the last; Polars, once imported, exports its own.
    given = "${{_RJEM_MALLOC_CONF:+$_RJEM_MALLOC_CONF,}}"
    polars = f'POLARS_MAX_THREADS="${{{{OMP_NUM_THREADS:-1}}}}" _RJEM_MALLOC_CONF="{given}{KEPT}"'
    home = f"export PYTHONUTF8=1 {command.JOB}=1 {polars}{pinned} PYTHONPATH={_quoted(package)}"
    return f"set -euo pipefail; {home}; {path}{python}{tee}"


def _quoted(path: Path) -> str:
    """Quote a path for the shell, and its braces for Snakemake, which fills a prefix in."""
    return quote(str(path)).replace("{", "{{").replace("}", "}}")


def preload(workflow: Workflow, config: Config, cards: int) -> None:
    """Start the processes that fork the jobs, where all of these run here, as they are and on CPUs.

    Elsewhere jobs start by themselves, whatever a Snakemake around this one has started. `cards`
    are those that jobs take.
    """
    os.environ.pop(server.FOLDER, None)
    deployed = workflow.deployment_settings.deployment_method
    carded = cards or config.device == "cuda"
    if config.preload and workflow.local_exec and not deployed and not carded:
        server.start()
        benchmarks.adopt()


def refuse_planned(config: Config) -> None:
    """Refuse to make anything of sizes that a plan was asked for: they are nobody's collections."""
    if config.docs:
        given = ", ".join(f"{name}: {docs}" for name, docs in config.docs.items())
        raise ResiduumError(
            f"config: docs: {{{given}}} is for plans alone (residuum plan --docs, or a dry run). "
            "Leave it out of --config and of config/config.yaml to run."
        )


def hold_lock(path: Path = LOCK) -> None:
    """Let only one Snakemake process work in this folder, for as long as it lives.

    Snakemake's own lock is a file that outlives a killed process and then blocks the same
    command; the kernel drops this one with the process, so that a rerun just resumes.
    """
    lock = files.locked(path.parent.parent.resolve(), path)
    files.sign(lock)
    _held.append(lock)


def calm_scheduler(workflow: Workflow) -> None:
    """Lift Snakemake's limit on job starts, which is there for clusters, where jobs run here.

    With it, each look of Snakemake 9's scheduler orders another one a second later: looks multiply
    with the jobs done, and took an eighth of two cores. (Tried with 9.27; where a Snakemake has no
    such attribute, this does nothing.) Arrays need it lifted too, see `check_arrays`.
    """
    free = workflow.local_exec or arrays_of(workflow)
    if free and hasattr(workflow.scheduler, "job_rate_limiter"):
        workflow.scheduler.job_rate_limiter = None


def arrays_of(workflow: Workflow) -> str | None:
    """Return the rules whose jobs a cluster gets as tasks of arrays; None where it has none."""
    rules: str | None = getattr(workflow.executor_settings, "array_jobs", None)
    return rules


def check_arrays(workflow: Workflow) -> None:
    """Refuse arrays where not all jobs may start at once.

    The plugin holds back jobs of an array until all that are ready have come, and never asks for
    them again; Snakemake takes them for running, and waits for ever (issue 473 of the plugin).
    """
    if not arrays_of(workflow):
        return
    limits = [f"jobs: {workflow.nodes}"] if workflow.nodes != sys.maxsize else []
    for name, resource in workflow.global_resources.items():
        if not name.startswith("_") and not workflow.resource_scopes.is_local(name):
            limits += [f"resources: {name}={resource.value}"] if resource.value is not None else []
    if limits:
        raise ResiduumError(
            f"slurm-array-jobs with {', '.join(limits)}: the SLURM plugin would lose tasks of an "
            "array that may not all start at once. Leave the limit out (`jobs: unlimited`, as "
            "profiles/slurm has it), or leave slurm-array-jobs out."
        )


class HubLookup:
    """Why hub models cannot be downloaded, each looked up once; a dry run plans as if all could.

    Jobs that a cluster starts as Snakemakes of their own follow what the first one recorded.
    """

    def __init__(self, workflow: Workflow, record: Path) -> None:
        self._workflow, self._record = workflow, record
        self._reasons: dict[str, str | None] = {}

    def __call__(self, model: FromHub) -> str | None:
        """Return the reason, or None for a model that is cached or on the hub."""
        name = f"{model.hub}@{model.revision}"
        if self._workflow.dryrun:
            return None
        if self._workflow.remote_exec and not self._reasons:
            self._reasons = json.loads(self._record.read_text())
        if name not in self._reasons and not self._workflow.remote_exec:
            from residuum.neural import hub

            self._reasons[name] = hub.missing(model.hub, model.revision, model.pickled)
        return self._reasons[name]

    def save(self) -> None:
        """Record the reasons for a cluster's jobs."""
        files.write_text(self._record, json.dumps(self._reasons, indent=1) + "\n")


def print_gaps(registry: Registry, hub: HubLookup) -> None:
    """Say on standard error what is missing at this scale, and on which pages."""
    pages: dict[str, dict[str, None]] = {}
    for gap in gaps(registry, hub):
        if not gap.unbound:
            pages.setdefault(gap.why, {})[gap.page] = None
    for why, where in pages.items():
        print(f"not run: {why} ({', '.join(where)})", file=sys.stderr)
    hub.save()

"""What the Snakefile asks for: the wiring of a scale, what precedes jobs, what is printed after.

Usage: `WIRING = Wiring(config, workflow)`, `WIRING.start()`. Cards are placed, parents preloaded,
outputs marked for Snakemake's report.
"""

import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from functools import cached_property
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
from residuum.neural import cards
from residuum.pages.characteristics.bind import Counts
from residuum.pages.claims.bind import Claimed
from residuum.pages.figure.bind import Figures
from residuum.pages.layout import MORE
from residuum.pages.table.bind import Arithmetic
from residuum.preload import benchmarks, server
from residuum.wiring import defaults
from residuum.wiring.base import Constraints, Wildcards
from residuum.wiring.corpora import Corpora, Exports, Fidelities, Questions
from residuum.wiring.estimates import Estimates
from residuum.wiring.models import Models
from residuum.wiring.pages import Pages, gaps
from residuum.wiring.paths import Paths, Template, results_of
from residuum.wiring.resources import Batches, Resources
from residuum.wiring.runs import Evaluations, Groups, Hybrids, Listed, Runs, Sweeps, Unions


def show(pages: Iterable[str], ledger: str, targets: Set[str]) -> str:
    """Return the text of the pages that were requested by name, each under its path.

    Of the rule all, whose pages are many, the ledger up to its mark, and where the others are.
    """
    made = [path for path in [*pages, ledger] if Path(path).is_file()]
    shown = targets | ({ledger} if "all" in targets else set())
    folders = Counter(str(Path(path).parent) for path in made) if "all" in targets else {}
    counts = ", ".join(f"{count} in {folder}" for folder, count in folders.items())
    texts = [f"\nPages: {counts}"] if counts else []
    for path in made:
        if path in shown:
            text = Path(path).read_text(encoding="utf-8").partition(MORE)[0]
            texts.append(f"\n{path}\n\n{text}")
    return "\n".join(texts)


CAPTIONS = "../workflow/report"  # as a file of rules/ sees it
LEDGER = "ledger"
Output = Mapping[str, str]
Labels = dict[str, str]
Mark = Callable[..., str]  # Snakemake's `report`


class Reported:
    """The outputs of a scale's pages, marked for the report."""

    def __init__(self, registry: Registry, mark: Mark) -> None:
        self._registry, self._mark = registry, mark

    def texts(self, forms: Mapping[str, Template]) -> Output:
        """Return a page's outputs with its Markdown marked, which its caption shows whole."""
        return self._page(forms, "md", "page.rst")

    def drawings(self, forms: Mapping[str, Template]) -> Output:
        """Return a page's outputs with its drawing marked; the caption shows the numbers."""
        return self._page(forms, "png", "drawing.rst")

    def ledger(self, forms: Mapping[str, Template]) -> Output:
        """Return the ledger's outputs with its Markdown marked, in a category of its own."""
        labels = {"page": LEDGER, "title": "every number and comparison, with its verdict"}
        mark = self._mark(
            forms["md"], caption=f"{CAPTIONS}/ledger.rst", category=LEDGER, labels=labels
        )
        return {**forms, "md": mark}

    def paper(self, wildcards: Wildcards) -> str:
        """Return the paper that a page belongs to: the report's category."""
        return wildcards.page.rpartition("-")[0]

    def kind(self, wildcards: Wildcards) -> str:
        """Return the kind of a page: the report's subcategory."""
        return str(self._registry.pages[wildcards.page].kind)

    def labels(self, wildcards: Wildcards) -> Labels:
        """Return what stands beside a page in the report's list: its name and its title."""
        title = str(self._registry.pages[wildcards.page].title)
        return {"page": wildcards.page.rpartition("-")[2], "title": title}

    def _page(self, forms: Mapping[str, Template], shown: str, caption: str) -> Output:
        mark = self._mark(
            forms[shown],
            caption=f"{CAPTIONS}/{caption}",
            category=self.paper,
            subcategory=self.kind,
            labels=self.labels,
        )
        return {**forms, shown: mark}


Workflow = Any  # Snakemake's, which has no types
RESOURCE = "gpu"  # what rules request, and `--resources gpu=2` limits


class Placement:
    """The cards of this machine, if its jobs run here and their device may be one."""

    def __init__(self, workflow: Workflow, config: Config) -> None:
        self._workflow, self._config = workflow, config

    @cached_property
    def number(self) -> int:
        """How many cards the jobs may request: of a cluster's node nothing is known here.

        What executor runs the jobs is not known yet while rules are read; but only with one that is
        not this machine does Snakemake have a number of `jobs`, as well as the jobs of such a one.
        """
        elsewhere = self._workflow is None or self._workflow.nodes is not None
        return 0 if elsewhere or self._workflow.remote_exec else len(self._cards.names)

    @cached_property
    def _cards(self) -> cards.Cards:
        if self._config.device not in ("auto", "cuda"):
            return cards.Cards()
        if self._workflow.deployment_settings.deployment_method:
            return cards.usable(None)  # of another torch than the one beside Snakemake
        made = cards.build()
        return cards.Cards() if made and made.hip else cards.usable(made)

    def limit(self) -> None:
        """Let Snakemake start no more jobs than there are cards, unless its user says how many."""
        if self.number >= self._config.gpus and self._limit is None:
            self._workflow.global_resources[RESOURCE] = self.number

    @property
    def _limit(self) -> int | None:
        limit: int | None = self._workflow.global_resources.get(RESOURCE).value
        return limit

    def start(self) -> None:
        """Check what is requested of cards, and name them to the jobs, which take one each.

        Raises ResiduumError for a device, for GPUs of a training and for a limit that this machine
        does not have. Says on standard error why `auto` takes no card, if there is one.
        """
        os.environ.pop(cards.NAMES, None)
        if not self._workflow.local_exec or self._config.device not in ("auto", "cuda"):
            return
        found = self._cards
        if found.names:
            self._check(found.names)
        elif self._config.device == "cuda" and found.why:
            text = "Set device: auto to compute on the CPU, or see docs/gpu.md"
            raise ResiduumError(f"device: cuda: {found.why}. {text}")
        elif found.seen:
            print(f"device auto: {found.why}. Computing on the CPU.", file=sys.stderr)
        os.environ[cards.NAMES] = ",".join(found.names)

    def _check(self, names: tuple[str, ...]) -> None:
        have = f"this machine has {len(names)}: {', '.join(names)}"
        if self._config.gpus > len(names):
            raise ResiduumError(f"gpus: {self._config.gpus} train together, but {have}. Lower it.")
        if (self._limit or 0) > len(names):
            raise ResiduumError(
                f"--resources gpu={self._limit}, but {have}. Each job takes a card for itself: "
                "leave the option out, or lower it."
            )


LOCK = Path(".snakemake/residuum.lock")
KEPT = "dirty_decay_ms:-1,muzzy_decay_ms:-1"  # jemalloc's options: nothing goes back to the system
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

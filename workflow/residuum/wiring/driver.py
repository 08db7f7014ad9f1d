"""What the Snakefile asks for: the wiring of a scale, what precedes jobs, what is printed after.

Usage: `WIRING = Wiring(config, workflow)`, `WIRING.start()`. Parents are preloaded, outputs marked
for Snakemake's report.
"""

import gc
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from functools import cache
from logging.handlers import QueueHandler
from pathlib import Path
from queue import Queue
from shlex import quote
from types import SimpleNamespace
from typing import IO

from residuum.artefacts import files
from residuum.artefacts.machine import ARITHMETIC
from residuum.cli import command, progress
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.registry import Registry
from residuum.config.roots import ROOT
from residuum.config.schema.scales import Config, FromHub
from residuum.pages.kinds import INPUTS
from residuum.pages.layout import MORE
from residuum.preload import benchmarks, server
from residuum.wiring import targets
from residuum.wiring.base import Constraints, Wildcards, Workflow
from residuum.wiring.corpora import Corpora, Exports, Fidelities, Questions
from residuum.wiring.estimates import Estimates
from residuum.wiring.models import Models
from residuum.wiring.order import Job, Order
from residuum.wiring.pages import Pages, gaps
from residuum.wiring.paths import REPRODUCTIONS, Paths, Template, results_of
from residuum.wiring.placement import Placement
from residuum.wiring.resources import Batches, Resources
from residuum.wiring.runs import Evaluations, Groups, Hybrids, Listed, Runs, Sweeps, Unions
from residuum.wiring.sizes import CORE_GFLOPS


def show(pages: Iterable[str], ledger: str, targets: Set[str]) -> str:
    """Return the text of the pages that were requested by name, each under its path.

    For the target `all`, return the ledger up to its mark and count the pages of each folder.
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
    """The outputs of a scale's pages, marked for Snakemake's report."""

    def __init__(self, registry: Registry, mark: Mark) -> None:
        self._registry, self._mark = registry, mark

    def texts(self, forms: Mapping[str, Template]) -> Output:
        """Return a page's outputs with its Markdown marked; the caption shows the whole page."""
        return self._page(forms, "md", "page.rst")

    def drawings(self, forms: Mapping[str, Template]) -> Output:
        """Return a page's outputs with its drawing marked; the caption shows the numbers."""
        return self._page(forms, "png", "drawing.rst")

    def ledger(self, forms: Mapping[str, Template]) -> Output:
        """Return the ledger's outputs with its Markdown marked, in the category `ledger`."""
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
        """Return the labels of a page in the report's list: its name and its title."""
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


# Objects after which Python looks for garbage, of each generation. A plan makes a million objects
# that it keeps, and with Python's 700, 10, 10 looks through them again and again.
COLLECTED = 100_000, 50, 100
LOCK = Path(".snakemake/residuum.lock")
KEPT = "dirty_decay_ms:-1,muzzy_decay_ms:-1"  # jemalloc keeps freed memory in the process
_held: list[IO[str]] = []


class Wiring:
    """The inputs, options, paths and resources of all rules, for the scale that config/ chooses."""

    def __init__(self, config: Mapping[str, object], workflow: Workflow) -> None:
        """Load config/ with Snakemake's `config` over it. A ResiduumError lists all faults."""
        gc.set_threshold(*COLLECTED)
        read_parameters_once()
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
        self.pages, self.groups = Pages(registry, paths, hub), Groups(registry, paths, hub)
        self.fidelities = Fidelities(registry, paths, hub)
        self.unions = Unions(registry, paths, hub)
        self.sweeps, self.hybrids = Sweeps(registry, paths, hub), Hybrids(registry, paths, hub)
        made = {kind: form(registry, paths, hub) for kind, form in INPUTS.all().items()}
        self.page = SimpleNamespace(**made)  # the inputs of each kind of page

    def shell_prefix(self) -> str:
        """Return the shell code that precedes every command of this scale."""
        return shell_prefix(self._workflow, self.registry.config.arithmetic)

    def reported(self, mark: Mark) -> Reported:
        """Return the marker of outputs for Snakemake's report, given its function `report`."""
        return Reported(self.registry, mark)

    @property
    def reproductions(self) -> list[str]:
        """Return the files of the scale's reproductions, which the report shows."""
        folder = Path(REPRODUCTIONS, self.registry.config.scale)
        return sorted(map(str, folder.glob("[!.]*/*")))

    def complete(self, environment: str) -> None:
        """Give rules a benchmark file, an environment, an order and batches; check targets.

        A cluster starts short jobs in batches if the profile sets their size.
        """
        complete(self._workflow, self.paths, environment)
        with in_snakemakes_words():
            self._refuse_unknown_targets()
        Order(self._workflow, self.pages.in_order, model_seconds).apply()
        Batches(self._workflow).apply()

    def _refuse_unknown_targets(self) -> None:
        rules = list(self._workflow.rules)
        targets.refuse_unknown(
            targets.asked(sys.argv[1:]),
            lambda path: any(rule.is_producer(path) for rule in rules),
            self.paths,
            self.registry,
        )

    def start(self) -> None:
        """Prepare for the first job: check, lock the folder, preload, print what is missing."""
        with in_snakemakes_words():
            check_arrays(self._workflow)
            refuse_planned(self.registry.config)
            hold_lock()
            self._placement.start()
        calm_scheduler(self._workflow)
        if line := sys.modules.get(LINE):
            line.EXPECTED.update(expected(self._workflow))
        preload(self._workflow, self.registry.config, self.registry.scale.threads)
        print_gaps(self.registry, self.hub)

    def finished(self) -> str:
        """Return the text to print at the end, after all log messages have been printed."""
        _settle()
        targets = {*(self._workflow.dag_settings.targets or ["all"])}
        text = show(self.pages.all(None), self.paths.ledger.beside(".md"), targets)
        if targets & {"all", self.paths.report}:
            text += f"\nOpen the report in a browser: {Path(self.paths.report).resolve()}"
        return text


def read_parameters_once() -> None:
    """Let Snakemake read the parameters of a function of a rule once, and not for every job.

    Snakemake asks `inspect` for them some 50 times a job ("Cheap starts" in docs/performance.md).
    """
    from snakemake import common, rules

    if not hasattr(common.get_function_params, "cache_info"):
        common.get_function_params = cache(common.get_function_params)
        rules.get_function_params = common.get_function_params


def complete(workflow: Workflow, paths: Paths, environment: str) -> None:
    """Give each rule that runs a command a benchmark file, and an environment if it names none.

    Snakemake itself has no such defaults. A rule's benchmark is named as its log.
    """
    for rule in workflow.rules:
        if not rule.norun:
            rule.benchmark_modifier = rule.log_modifier
            rule.benchmark = paths.time_of(str(rule.log[0]))
            rule.conda_env = rule.conda_env or environment


def _settle(seconds: float = 5.0) -> None:
    """Wait until logging plugins, which have their own threads, have written their messages."""
    until = time.monotonic() + seconds
    for handler in logging.getLogger("snakemake.logging").handlers:
        if isinstance(handler, QueueHandler) and isinstance(handler.queue, Queue):
            while handler.queue.unfinished_tasks and time.monotonic() < until:
                time.sleep(0.02)


@contextmanager
def in_snakemakes_words() -> Iterator[None]:
    """Turn a ResiduumError into a WorkflowError, which Snakemake prints without a traceback."""
    from snakemake.exceptions import WorkflowError

    try:
        yield
    except ResiduumError as error:
        raise WorkflowError(str(error)) from None


def shell_prefix(workflow: Workflow, arithmetic: str = "native") -> str:
    """Return the shell code that precedes every command.

    - Jobs find the package by PYTHONPATH, so a rule's environment holds dependencies only. Without
      conda, jobs run the Python that runs Snakemake.
    - The function `python` asks a process that `preload` started to fork the job. That process has
      torch loaded, so the environment sets the arithmetic before.
    - Polars uses the rule's threads; by default it would use every core. It keeps freed memory, as
      `cli.memory` makes C's allocator do.
    - The function `tee` writes nothing to the terminal while a progress line is shown.
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
    """Quote a path for the shell, and double its braces for Snakemake's formatting."""
    return quote(str(path)).replace("{", "{{").replace("}", "}}")


def preload(workflow: Workflow, config: Config, threads: int) -> None:
    """Start the processes that fork the jobs, if all jobs run here and without conda.

    Elsewhere each job starts its own Python, even inside another Snakemake that preloads. Rules
    have one thread, the scale's `threads`, or as many for each GPU of a training. Snakemake lowers
    them to the cores that it has. A card is no hindrance: the processes load torch, and a forked
    job is the first to look for a card.
    """
    os.environ.pop(server.FOLDER, None)
    deployed = workflow.deployment_settings.deployment_method
    if config.preload and workflow.local_exec and not deployed:
        numbers = (1, threads, threads * config.gpus)
        server.start({min(number, workflow.cores) for number in numbers})
        benchmarks.adopt()


def refuse_planned(config: Config) -> None:
    """Raise ResiduumError if `config.docs` is set: no collection has these planned sizes."""
    if config.docs:
        given = ", ".join(f"{name}: {docs}" for name, docs in config.docs.items())
        raise ResiduumError(
            f"config: docs: {{{given}}} is for plans alone (residuum plan --docs, or a dry run). "
            "Leave it out of --config and of config/config.yaml to run."
        )


def hold_lock(path: Path = LOCK) -> None:
    """Lock this folder for one Snakemake process, until the process ends.

    Snakemake's own lock file outlives a killed process and then blocks the same command. The
    kernel releases this lock with the process, so a rerun resumes at once.
    """
    lock = files.locked(path.parent.parent.resolve(), path)
    files.sign(lock)
    _held.append(lock)


def calm_scheduler(workflow: Workflow) -> None:
    """Lift Snakemake's limit on job starts if jobs run on this machine, or as arrays.

    The limit is meant for clusters. With it, each pass of Snakemake 9's scheduler orders another
    pass a second later: passes multiply with finished jobs, and took an eighth of two cores
    (version 9.27). A Snakemake without this attribute is left alone. For arrays, see
    `check_arrays`.
    """
    free = workflow.local_exec or arrays_of(workflow)
    if free and hasattr(workflow.scheduler, "job_rate_limiter"):
        workflow.scheduler.job_rate_limiter = None


def arrays_of(workflow: Workflow) -> str | None:
    """Return the rules whose jobs a cluster gets as array tasks, or None without arrays."""
    rules: str | None = getattr(workflow.executor_settings, "array_jobs", None)
    return rules


LINE = "snakemake_logger_plugin_residuum"  # the line of progress, if this run shows it


def expected(workflow: Workflow) -> dict[str, dict[str, float]]:
    """Return the seconds that models take in each waiting job, by rule and first output."""
    found: dict[str, dict[str, float]] = {}
    for job in workflow.dag.needrun_jobs():
        seconds = model_seconds(job)
        if seconds and job.output:
            found.setdefault(job.rule.name, {})[str(next(iter(job.output)))] = round(seconds, 1)
    return found


def model_seconds(job: Job) -> float:
    """Return the seconds that models take in a job: of its card, else of its threads."""
    declared = job.resources
    computing = declared.get("gflop", 0) / CORE_GFLOPS / job.threads
    return float(declared.get("gpu_s", 0) if declared.get("gpu") else computing)


def check_arrays(workflow: Workflow) -> None:
    """Raise ResiduumError for arrays with a limit that keeps jobs from starting all at once.

    The SLURM plugin holds back an array's jobs until all ready jobs have arrived. It never asks
    for the rest, and Snakemake waits for ever (issue 473 of the plugin).
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
    """Why hub models cannot be downloaded. Each model is looked up once.

    A dry run supposes that every model can be downloaded. A cluster's jobs, which run their own
    Snakemake, read the reasons that the first Snakemake recorded.
    """

    def __init__(self, workflow: Workflow, record: Path) -> None:
        self._workflow, self._record = workflow, record
        self._reasons: dict[str, str | None] = {}

    def __call__(self, model: FromHub) -> str | None:
        """Return why a model cannot be downloaded, or None if it is cached or on the hub."""
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
    """Print on standard error what is missing at this scale, and on which pages."""
    pages: dict[str, dict[str, None]] = {}
    for gap in gaps(registry, hub):
        if not gap.unbound:
            pages.setdefault(gap.why, {})[gap.page] = None
    for why, where in pages.items():
        print(f"not run: {why} ({', '.join(where)})", file=sys.stderr)
    hub.save()

"""Estimate what a run needs before it starts: downloads, jobs, disk, memory, hours, and gaps.

Command: `residuum plan --scale full --paper clear`. Jobs, and what each takes, come from
Snakemake's own dry run. Files are looked for by name and size. With `--docs` it plans sizes that
nobody has, and says which limits they break.
"""

import importlib.util
import os
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from operator import or_
from pathlib import Path
from subprocess import PIPE, Popen
from typing import NamedTuple

from pydantic import BaseModel

from residuum.cli.errors import ResiduumError, unknown
from residuum.config import entries, loading, roots
from residuum.config.registry import Registry, SplitId
from residuum.config.schema.base import references
from residuum.config.schema.scales import FromHub, Start
from residuum.inspect.datasets import File, needed
from residuum.inspect.text import amount, line, wrapped
from residuum.pages import layout
from residuum.wiring import sizes
from residuum.wiring.availability import all_available, why_no_export
from residuum.wiring.models import start_of
from residuum.wiring.pages import gaps
from residuum.wiring.paths import results_of
from residuum.wiring.runs import player_of

HUB = "hub"
BYTES_PER_PARAMETER = 4  # float32, the usual type of these checkpoints
HEAP = "2g"  # as in residuum.lucene.jvm, which needs packages that may be missing here
HEADER = ["rule", "jobs to run", "disk", "RAM", "card", "core hours", "GPU hours", "longest job"]


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


LUCENE_DOCS = 2**31 - 1 - 128  # IndexWriter.MAX_DOCS
WEEK_H = 168.0
SHARDS = 10**5
TRIED_JOBS = 20_000
ARGUMENTS = 2 * 2**20  # bytes
ARGUMENT = 20  # bytes besides the letters: --, two terminators, two pointers
WITHIN = 10  # a limit is shown if it breaks below this multiple of the planned docs
NO = "no size"
LIMITS = ["limit", "of", "most", "planned", "times", "bears docs up to"]


TEXTS = [
    f"docs of an index: Lucene takes {LUCENE_DOCS:,} (IndexWriter.MAX_DOCS)",
    f"hours of a job: {WEEK_H:.0f}, a week, taken for the longest that a cluster lets a job run",
    "memory of a job: what its rule requests, of what a node has (--node)",
    f"jobs of a graph: {TRIED_JOBS:,} are the most of which a dry run was tried (docs/scaling.md); "
    "no fixed limit",
    f"shards of a corpus: {SHARDS:,}, as five digits number them (rules/wiring.smk)",
    "arguments of a command: a job that reads all shards names each; Linux takes "
    f"{ARGUMENTS / 1e6:.1f} MB (2 MiB), a quarter of a stack of 8 MiB (execve(2))",
]


Measure = Callable[[Job], float]


class Limit(NamedTuple):
    """A bounded quantity: its bound, and its value for the plan and for half the docs."""

    name: str
    of: str
    most: float
    planned: float
    half: float
    unit: str = ""

    @property
    def borne(self) -> float:
        """The factor on the planned docs at which the bound is reached, from 0 to infinity.

        It is 0 if the bound is exceeded at every size, and infinity if it is never reached.
        """
        growth = 2 * (self.planned - self.half)
        if growth <= 0:
            return 0.0 if self.passed else float("inf")
        return max(0.0, 1 + (self.most - self.planned) / growth)

    @property
    def passed(self) -> bool:
        """Whether the plan exceeds the limit."""
        return self.planned > self.most


class Limits:
    """The limits of a plan for the given docs; the same plan at half the docs gives the growth."""

    def __init__(
        self, docs: Mapping[str, int], planned: Sequence[Job], half: Sequence[Job], memory: float
    ) -> None:
        self._docs, self._memory = docs, memory
        self._planned, self._half = planned, {job.outputs[0]: job for job in half}
        self._rules = list(dict.fromkeys(job.rule for job in planned))

    def rows(self) -> list[list[str]]:
        """Return the cells of each limit that is (nearly) exceeded, the first to break first."""
        shown = [limit for limit in self.all() if limit.passed or limit.borne <= WITHIN]
        return [self._cells(limit) for limit in sorted(shown, key=lambda one: (one.borne, one.of))]

    def all(self) -> Iterator[Limit]:
        """Yield the limits of all datasets and rules, whether exceeded or not."""
        indexes = [job for job in self._planned if job.rule == "lexical_index"]
        indexed = {job.wildcards.get("dataset") for job in indexes}
        for name, docs in self._docs.items():
            if name in indexed:
                yield Limit("docs of an index", name, LUCENE_DOCS, docs, docs / 2)
        total, half = (sum(j.alike for j in jobs) for jobs in (self._planned, self._half.values()))
        yield Limit("jobs of a graph", "all", TRIED_JOBS, total, half)
        for rule in self._rules:
            yield self._largest("hours of a job", rule, WEEK_H, _hours)
            yield self._largest("memory of a job", rule, self._memory, _memory, "MB")
            yield self._largest("shards of a corpus", rule, SHARDS, _alike)
        yield from self._arguments()

    def _largest(
        self, name: str, rule: str, most: float, measure: Measure, unit: str = ""
    ) -> Limit:
        """Return the limit of a rule, measured on the rule's largest job."""
        job = max((job for job in self._planned if job.rule == rule), key=measure)
        return Limit(name, rule, most, measure(job), measure(self._half[job.outputs[0]]), unit)

    def _arguments(self) -> Iterator[Limit]:
        """Yield a limit on the bytes of arguments, for rules whose jobs name every shard."""
        now, before = _made(self._planned), _made(self._half.values())
        for rule in self._rules:
            of = [job for job in self._planned if job.rule == rule and job.alike == 1]
            job = max(of, key=lambda job: _named(job, now), default=None)
            if job and _named(job, now):
                halved = _named(self._half[job.outputs[0]], before)
                yield Limit(
                    "arguments of a command", rule, ARGUMENTS, _named(job, now), halved, "B"
                )

    def _cells(self, limit: Limit) -> list[str]:
        times = limit.planned / limit.most
        numbers = [_number(value, limit.unit) for value in (limit.most, limit.planned)]
        bears = ", ".join(large(limit.borne * docs) for docs in self._docs.values())
        digits = ".2f" if 0.9 < times < 1.1 else ".2g" if times < 10 else ",.0f"  # 1.01 is above 1
        return [limit.name, limit.of, *numbers, f"{times:{digits}}", bears if limit.borne else NO]


def sizes_of(docs: Iterable[str], folder: Path, base: object) -> dict[str, int]:
    """Return {dataset: docs} of `--docs` over config.yaml's; bad texts raise ResiduumError."""
    known = [*entries.Folder(folder / "datasets").locations]
    sized, named = dict(base) if isinstance(base, dict) else {}, set[str]()
    for text in docs:
        name, given, number = text.partition("=")
        if name not in known:
            raise ResiduumError(f"--docs {text}: {unknown('dataset', name, known)}")
        if not given:
            raise ResiduumError(f"--docs {text}: write DATASET=DOCS, as {name}=1e9")
        if name in named:
            raise ResiduumError(f"--docs {text}: {name} is given twice; give it once")
        named.add(name)
        try:
            value = float(number.replace(",", ""))
        except ValueError:
            value = 0
        if not (1 <= value < 1e15 and value.is_integer()):
            raise ResiduumError(
                f"--docs {text}: '{number}' is no number of docs; write {name}=1e9, "
                f"{name}=138_364_198 or any other whole number from 1 to below 1e15"
            )
        sized[name] = int(value)
    return sized


def named_by(registry: Registry) -> set[str]:
    """Return the datasets that the chosen pages name, directly or through other entries.

    A plan uses no other datasets. It may use fewer; finding these takes a dry run of seconds.
    """
    scale = registry.scale
    known = {**registry.entries, "backbone": scale.backbones, "reranker": scale.rerankers}
    waiting: list[BaseModel] = [registry.pages[page] for page in registry.chosen()]
    waiting += [scale.learning] if scale.learning else []
    seen = set[tuple[str, str]]()
    while waiting:
        for ref, named in references(waiting.pop(), *known, "role"):
            kind, name = ref.to, named
            if kind == "role":
                kind, name = "dataset", scale.roles.get(named, "").partition("/")[0]
            elif kind == "system":
                name = scale.systems.get(named, named)
            if name in known[kind] and (kind, name) not in seen:
                seen.add((kind, name))
                waiting.append(known[kind][name])
    return {name for kind, name in seen if kind == "dataset"}


def refuse_unused(docs: Iterable[str], used: Iterable[str]) -> None:
    """Raise ResiduumError if docs were given for a dataset that is not used."""
    used = sorted(filter(None, {*used}))
    if unused := [name for name in docs if name not in used]:
        raise ResiduumError(
            f"docs of {unused[0]}: nothing that is planned uses it, but {', '.join(used)}. "
            "Give docs of these, or choose other papers or another scale"
        )


def limits_page(rows: list[list[str]]) -> Iterator[str]:
    """Yield the limits as a grid, with an explanation of each kind of limit."""
    if not rows:
        return
    yield "What breaks first, and up to how many docs each would do:"
    yield layout.grid(LIMITS, rows)
    yield from (wrapped(text, "- ") for text in TEXTS)


def _hours(job: Job) -> float:
    return job.seconds / 3600


def _memory(job: Job) -> float:
    return job.resources["mem_mb"]


def _alike(job: Job) -> float:
    return job.alike


def _made(jobs: Iterable[Job]) -> dict[str, int]:
    """Return {output path: number of files it stands for}, for jobs that stand for several."""
    return {path: job.alike for job in jobs if job.alike > 1 for path in job.outputs}


def _named(job: Job, made: Mapping[str, int]) -> float:
    """Return the bytes of the arguments by which a job names folders of shards.

    The option's name is the third part of the path: --hits results/full/hits/...
    """
    folders = ((path.rpartition("/")[0], made[path]) for path in job.inputs if path in made)
    return sum(
        count * (len(folder.encode()) + len(folder.split("/")[2]) + ARGUMENT)
        for folder, count in folders
    )


def _number(value: float, unit: str) -> str:
    if unit:
        return amount(value * {"MB": 1e6, "B": 1.0}[unit])
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def large(value: float) -> str:
    """Write a large number with a unit prefix: 113 M, 2.15 G."""
    for unit, worth in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= worth:
            return f"{value / worth:.3g} {unit}"
    return f"{value:.0f}"


def plan(
    scale: str | None,
    papers: Sequence[str],
    tflops: float | None,
    utilisation: float | None,
    docs: Sequence[str] = (),
    node_gb: float = 256.0,
) -> str:
    """Return the page of a plan; config.yaml gives the options that are None or empty.

    `docs` replace pinned sizes, as `msmarco-passage=1e9`; then `node_gb` limits a job's memory. A
    fault in config/, or a failure of Snakemake to plan, raises ResiduumError.
    """
    file = Path("config/config.yaml")
    for name in (file, Path("Snakefile")):
        if not name.is_file():
            raise ResiduumError(f"no {name} in {Path.cwd()}. Run this in the project's folder.")
    base = entries.parse(file, dict[str, object])
    keys = ("scale", "papers", "tflops", "utilisation", "docs")
    sized = sizes_of(docs, file.parent, base.get("docs"))
    given = zip(keys, (scale, [*papers], tflops, utilisation, sized), strict=True)
    chosen = {key: value for key, value in given if value not in (None, [], {})}
    registry = loading.load(file.parent, {**base, **chosen})
    results = Path(results_of(registry.config.scale))
    if registry.config.docs:
        pending, parts = _imagined(registry, chosen, results, 1000 * node_gb)
    else:
        pending, parts = _real(registry, chosen, results)
    parts += [_assumptions(registry, pending)] if pending else []
    return "\n\n".join(text for part in parts if (text := "\n".join(part)))


def _real(
    registry: Registry, chosen: Mapping[str, object], results: Path
) -> tuple[list[Job], list[Iterable[str]]]:
    """Return the unfinished jobs of a real plan, and the parts of its page."""
    pending, every = plans(_pairs(chosen), results)
    files = required(registry, pending)
    jobs = f"{len(pending)} of {len(every)} jobs have to run"
    head = _head(registry, f": {jobs if pending else f'all {len(every)} jobs are finished'}. ")
    room = {results: 1e6 * sums(pending)["disk_mb"], **homes(registry, files)}
    parts = [head, _downloads(registry, files), _rules(pending, every), _gaps(registry)]
    return pending, [*parts, disks(room)]


def _imagined(
    registry: Registry, chosen: Mapping[str, object], results: Path, node_mb: float
) -> tuple[list[Job], list[Iterable[str]]]:
    """Return all jobs of a plan of other sizes, and the parts of its page."""
    docs = registry.config.docs
    refuse_unused(docs, named_by(registry))
    for name in docs:
        if why := why_no_export(registry, name, None):
            raise ResiduumError(f"docs of {name}: nothing that is planned can use it: {why}")
    half = {name: max(1, size // 2) for name, size in docs.items()}
    configs = [_pairs({**chosen, "docs": sized}) for sized in (docs, half)]
    every, halved = dry_runs((config, [ALL]) for config in configs)
    refuse_unused(docs, [job.wildcards.get("dataset", "") for job in every])
    given = ", ".join(f"{size:,} docs of {name}" for name, size in docs.items())
    total = sum(job.alike for job in every)
    head = _head(registry, f", as if there were {given}: {total:,} jobs, none of them finished. ")
    broken = Limits(docs, every, halved, node_mb).rows()
    room = disks({results: 1e6 * sums(every)["disk_mb"]})
    return every, [head, _rules(every, every), room, limits_page(broken)]


def _pairs(chosen: Mapping[str, object]) -> list[str]:
    return [f"{key}={value}" for key, value in chosen.items()]


def _head(registry: Registry, jobs: str) -> list[str]:
    chosen = f"Scale {registry.config.scale}, papers {', '.join(registry.config.papers)}"
    text = "Sizes, memory and hours are estimates; their assumptions are listed at the end."
    return [wrapped(f"{chosen}{jobs}{text}")]


def required(registry: Registry, jobs: Iterable[Job]) -> dict[str, list[File]]:
    """Return {dataset: files that its jobs read}, with the hub's models under `HUB`."""
    files: dict[str, dict[str, File]] = {}
    for job in jobs:
        if job.rule.startswith("data_"):
            name = job.wildcards["dataset"]
            triples = job.rule == "data_docpairs"
            read = needed(registry.datasets[name], job.wildcards.get("split"), triples)
            files.setdefault(name, {}).update({file.name: file for file in read})
        start: Start | None = None
        if "reranker" in job.wildcards:
            start = player_of(registry, job.wildcards["reranker"])
        elif job.rule == "questions_generate":
            start = registry.generator(SplitId(job.wildcards["dataset"], job.wildcards["split"]))
        elif job.rule in ("train_train", "pretrain_adapt"):
            start = start_of(registry, job.wildcards["model"])
        if isinstance(start, FromHub):
            files.setdefault(HUB, {})[f"{start.hub}@{start.revision}"] = _hub_file(start)
    return {n: [*files[n].values()] for n in sorted(files, key=lambda n: n == HUB) if files[n]}


def _hub_file(model: FromHub) -> File:
    """Return a hub model as a file; its size is estimated from the shape that its name states."""
    url = f"https://huggingface.co/{model.hub}/tree/{model.revision}"
    size = BYTES_PER_PARAMETER * sizes.shape_of_hub(model.hub).parameters
    made = [roots.snapshot("models", model.hub, model.revision) / "config.json"]
    return File(model.hub, None, url, size, None, [], made, by_hand=False)


def homes(registry: Registry, files: dict[str, list[File]]) -> dict[Path, float]:
    """Return {folder outside the project: bytes still to be written there, unpacked}."""
    needs: dict[Path, float] = {}
    counted: set[str] = set()  # files that several datasets share count once
    for name, listed in files.items():
        if all(file.available for file in listed):
            continue
        local = sum(file.bytes or 0 for file in listed if file.available or file.name in counted)
        counted |= {file.name for file in listed}
        unpacked = 0 if name == HUB else 1e9 * registry.datasets[name].disk_gb
        size = max(sum(file.bytes or 0 for file in listed), unpacked) - local
        of_hub = name == HUB or any(roots.HUB.fullmatch(f.name) for f in listed if not f.available)
        home = roots.hub() if of_hub else roots.irds()
        needs[home] = needs.get(home, 0) + size
    return {home: size for home, size in needs.items() if size}


def _downloads(registry: Registry, files: dict[str, list[File]]) -> Iterator[str]:
    if not files:
        yield "Downloads: none."
        return
    each = {file.name: file for of in files.values() for file in of}  # datasets may share files
    missing = sum(file.bytes or 0 for file in each.values() if not file.available)
    yield f"Downloads: {amount(missing)} to come" if missing else "Downloads: all available"
    rows = []
    for name, of in files.items():
        for file in of:
            size = "about " * (name == HUB) + (amount(file.bytes) if file.bytes else "unknown")
            rows.append([name, file.name, size, file.state, file.url or _hand(registry, name)])
    yield layout.grid(["of", "file", "size", "local", "from"], rows)
    for name in files:
        yield name
        dataset = registry.datasets.get(name)
        own = "each model's own, on its page at its address"
        stated = [("licence", dataset.licence if dataset else own)]
        stated += [("access", dataset.access)] if dataset else []
        yield from (line(key, text) for key, text in stated if text)


def _hand(registry: Registry, name: str) -> str:
    """Say where a file comes from that has no download address."""
    dataset = registry.datasets.get(name)
    return "see access" if dataset and dataset.access else "yours"


def _rules(pending: list[Job], every: list[Job]) -> Iterator[str]:
    yield layout.grid(HEADER, table(pending, every))
    heap = os.environ.get("RESIDUUM_JVM_HEAP", HEAP)
    yield (
        "disk: what stays below results/. RAM, card: of the largest job; RAM is what its rule "
        "requests.\ncore hours: without the cores that feed a card. longest job: hours, with the "
        f"threads of its rule.\nJVM heap in jobs of lexical and negatives: {heap} "
        "(RESIDUUM_JVM_HEAP)."
    )
    if gflop := sums(pending)["gflop"]:
        instead = hours(gflop / sizes.CORE_GFLOPS)
        yield f"Without a card: {instead} core hours in place of the GPU hours."


def table(pending: list[Job], every: list[Job]) -> list[list[str]]:
    """Return the cells of a row per rule, in the order in which rules can run, and of a total."""
    read = {path: job.inputs for job in every for path in job.outputs}
    level = cache(lambda path: 1 + max(map(level, read[path]), default=0) if path in read else 0)
    last = {rule: row for row, rule in sorted((level(j.outputs[0]), j.rule) for j in every)}
    rows = []
    for rule in [*sorted(last, key=lambda rule: (last[rule], rule)), "total"]:
        waiting, total = (
            [j for j in jobs if rule in (j.rule, "total")] for jobs in (pending, every)
        )
        took, largest = (
            sums(waiting),
            reduce(or_, (job.resources for job in waiting), Counter[str]()),
        )
        seconds = (job.seconds for job in waiting)
        megabytes = (took["disk_mb"], largest["mem_mb"], largest["gpu_mb"])
        row = [amount(1e6 * mb) if mb else "" for mb in megabytes]
        row += map(hours, (took["core_s"], took["gpu_s"], max(seconds, default=0)))
        counts = (sum(job.alike for job in jobs) for jobs in (waiting, total))
        rows.append([rule, " of ".join(f"{number:,}" for number in counts), *row])
    return rows


def hours(seconds: float) -> str:
    """Write seconds as hours, rounded as an estimate deserves; "" for 0."""
    value = seconds / 3600
    if value < 0.1:
        return "<0.1" if seconds else ""
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _gaps(registry: Registry) -> Iterator[str]:
    """Yield each reason why rows are not run at this scale, with its pages and rows."""
    reasons: dict[str, dict[str, None]] = {}
    for gap in gaps(registry, all_available):
        reasons.setdefault(gap.why, {})[f"{gap.page}/{gap.row}".removesuffix("/")] = None
    if reasons:
        yield "Not run at this scale:"
        for why, where in reasons.items():
            yield wrapped(f"{why} ({', '.join(where)})", "- ")


def disks(needs: dict[Path, float]) -> Iterator[str]:
    """Yield a grid of needed and free bytes per folder, then warnings of disks too small."""
    rows: list[list[str]] = []
    disks: dict[int, tuple[int, dict[Path, float]]] = {}  # device: free bytes, needs of its folders
    for folder, size in needs.items():
        existing = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
        free = shutil.disk_usage(existing).free
        disks.setdefault(existing.stat().st_dev, (free, {}))[1][folder] = size
        rows.append([str(folder), amount(size) if size else "nothing", amount(free)])
    yield layout.grid(["folder", "needs", "free"], rows)
    for free, folders in disks.values():
        if (size := sum(folders.values())) > free:
            names = ", ".join(map(str, folders))
            text = f"not enough disk: {amount(size)} needed, {amount(free)} free: {names}"
            yield wrapped(text, "warning: ")


def _assumptions(registry: Registry, pending: list[Job]) -> Iterator[str]:
    yield "Estimates rest on:"
    names = {job.wildcards.get("dataset", "") for job in pending}
    for name in sorted(names & registry.datasets.keys()):
        docs = f"{sizes.docs(registry, name):,} docs of {sizes.doc_bytes(name):,} bytes on average"
        guess = f", a guess: `residuum datasets pin {name}` counts them"
        pinned = registry.datasets[name].editions
        yield wrapped(f"{name} has {docs}{'' if pinned else guess}", "- ")
    speed, reached = registry.config.tflops, registry.config.utilisation
    source = "--tflops, --utilisation; 312 is an A100's in bf16"
    card = f"a card of {speed:g} TFLOPS, of which {reached:.0%} are reached ({source})"
    yield wrapped(f"{card}; a hub model is as large as its name says", "- ")
    for number in sizes.ALL:
        yield wrapped(number.text, "- ")

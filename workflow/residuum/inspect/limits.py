"""Which limits a plan of other sizes exceeds, by how much, and how many docs each of them bears.

Usage: `Limits(docs, planned, half, memory).rows()`, of two plans, the second at half the docs: what
a job takes grows evenly between two sizes, so that both tell where it passes a limit. Must not know
how a job is estimated, nor how jobs are scheduled.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from residuum.cli.errors import ResiduumError, unknown
from residuum.config.entries import Folder
from residuum.config.registry import Registry
from residuum.config.schema.base import references
from residuum.inspect.dryrun import Job
from residuum.inspect.text import amount, wrapped
from residuum.pages import layout

LUCENE_DOCS = 2**31 - 1 - 128  # IndexWriter.MAX_DOCS
WEEK_H = 168.0
SHARDS = 10**5
TRIED_JOBS = 20_000
ARGUMENTS = 2 * 2**20  # bytes
ARGUMENT = 20  # bytes of an option and a folder beside their letters: --, two ends, two pointers
WITHIN = 10  # times the planned docs, up to which a limit is shown that is not exceeded
NO = "no size"
HEADER = ["limit", "of", "most", "planned", "times", "bears docs up to"]
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
    """A quantity that may not pass a bound, as planned and at half the docs."""

    name: str
    of: str
    most: float
    planned: float
    half: float
    unit: str = ""

    @property
    def borne(self) -> float:
        """Times the planned docs at which the bound is reached: 0 to infinity, the ends for never.

        0 of one that is passed at every size.
        """
        growth = 2 * (self.planned - self.half)
        if growth <= 0:
            return 0.0 if self.passed else float("inf")
        return max(0.0, 1 + (self.most - self.planned) / growth)

    @property
    def passed(self) -> bool:
        """Whether the plan exceeds it."""
        return self.planned > self.most


class Limits:
    """The limits of a plan for docs of datasets, given the same plan at half of them.

    `memory` is a node's, in MB.
    """

    def __init__(
        self, docs: Mapping[str, int], planned: Sequence[Job], half: Sequence[Job], memory: int
    ) -> None:
        self._docs, self._memory = docs, memory
        self._planned, self._half = planned, {job.outputs[0]: job for job in half}
        self._rules = list(dict.fromkeys(job.rule for job in planned))

    def rows(self) -> list[list[str]]:
        """Return the cells of each limit that is exceeded, or nearly; the first to break first."""
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
        """Return a limit for the job of a rule that comes nearest to it."""
        job = max((job for job in self._planned if job.rule == rule), key=measure)
        return Limit(name, rule, most, measure(job), measure(self._half[job.outputs[0]]), unit)

    def _arguments(self) -> Iterator[Limit]:
        """Yield the bytes of the arguments of jobs that name every shard of something."""
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
    """Return {dataset: docs} of what `--docs` says over config.yaml's; a ResiduumError if amiss."""
    known = [*Folder(folder / "datasets").locations]
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
    """Return the datasets that the chosen pages name, or what they name, at any remove.

    A plan uses no others, and may use fewer: it takes seconds to tell which.
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
    """Raise ResiduumError if docs were given of a dataset that is not used."""
    used = sorted(filter(None, {*used}))
    if unused := [name for name in docs if name not in used]:
        raise ResiduumError(
            f"docs of {unused[0]}: nothing that is planned uses it, but {', '.join(used)}. "
            "Give docs of these, or choose other papers or another scale"
        )


def page(rows: list[list[str]]) -> Iterator[str]:
    """Yield the rows as a grid, with what each limit is."""
    if not rows:
        return
    yield "What breaks first, and up to how many docs each would do:"
    yield layout.grid(HEADER, rows)
    yield from (wrapped(text, "- ") for text in TEXTS)


def _hours(job: Job) -> float:
    return job.seconds / 3600


def _memory(job: Job) -> float:
    return job.resources["mem_mb"]


def _alike(job: Job) -> float:
    return job.alike


def _made(jobs: Iterable[Job]) -> dict[str, int]:
    """Return how many files each output of a job that is one of many stands for."""
    return {path: job.alike for job in jobs if job.alike > 1 for path in job.outputs}


def _named(job: Job, made: Mapping[str, int]) -> float:
    """Return the bytes of the arguments by which a job names the folders of shards.

    Its option is called as the folder below that of the scale: --hits results/full/hits/...
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
    """Write a large number in few letters: 113 M, 2.15 G."""
    for unit, worth in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= worth:
            return f"{value / worth:.3g} {unit}"
    return f"{value:.0f}"

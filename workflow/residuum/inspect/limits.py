"""Limits of a plan of other sizes: which of them it exceeds, and how many docs each would bear.

Usage: `rows({"msmarco-passage": 10**9}, planned, half, 256_000)`. The same plan at half the docs
says how each quantity grows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from residuum.inspect.dryrun import Job
from residuum.inspect.text import amount, wrapped
from residuum.pages import layout

LUCENE_DOCS = 2**31 - 1 - 128  # IndexWriter.MAX_DOCS
WEEK_H = 168.0
SHARDS = 10**5
TRIED_JOBS = 20_000
ARGUMENTS = 2 * 2**20  # bytes
ARGUMENT = 20  # bytes besides the letters: --, two terminators, two pointers
WITHIN = 10  # a limit is shown if it breaks below this multiple of the planned docs
HEADER = ["limit", "of", "most", "planned", "times", "bears docs up to"]
TEXTS = [
    f"docs of an index: Lucene takes {LUCENE_DOCS:,} (IndexWriter.MAX_DOCS)",
    f"hours of a job: {WEEK_H:.0f}, a week, taken for the longest that a cluster lets a job run",
    "memory of a job: what its rule requests, of what a node has (--node-gb)",
    f"jobs of a graph: {TRIED_JOBS:,} are the most of which a dry run was tried (docs/scaling.md); "
    "no fixed limit",
    f"shards of a corpus: {SHARDS:,}, as five digits number them (rules/wiring.smk)",
    "arguments of a command: a job that reads all shards names each; Linux takes "
    f"{ARGUMENTS / 1e6:.1f} MB (2 MiB), a quarter of a stack of 8 MiB (execve(2))",
]
OF_JOBS: list[tuple[str, str, Callable[[Job], float]]] = [  # name, unit, value of a job
    ("hours of a job", "", lambda job: job.seconds / 3600),
    ("memory of a job", "MB", lambda job: job.resources["mem_mb"]),
    ("shards of a corpus", "", lambda job: job.alike),
]


class Limit(NamedTuple):
    """A bound on a dataset or rule, with the bounded value for all planned docs and for half."""

    name: str
    subject: str
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


def page(rows: list[list[str]]) -> Iterator[str]:
    """Yield the limits as a grid, with an explanation of each kind of limit."""
    if rows:
        yield "Limits, the first to break first, with the docs that each would bear:"
        yield layout.grid(HEADER, rows)
        yield from (wrapped(text, "- ") for text in TEXTS)


def rows(
    docs: Mapping[str, int], planned: Sequence[Job], half: Sequence[Job], node_mb: float
) -> list[list[str]]:
    """Return the cells of each limit that is (nearly) exceeded, the first to break first.

    `docs` are the planned docs by dataset, and `half` the jobs at half of them.
    """
    every = limits(docs, planned, half, node_mb)
    shown = [limit for limit in every if limit.passed or limit.borne <= WITHIN]
    shown.sort(key=lambda limit: (limit.borne, limit.subject))
    return [_cells(limit, docs.values()) for limit in shown]


def limits(
    docs: Mapping[str, int], planned: Sequence[Job], half: Sequence[Job], node_mb: float
) -> Iterator[Limit]:
    """Yield the limits of all datasets and rules, whether exceeded or not."""
    indexed = {job.wildcards.get("dataset") for job in planned if job.rule == "lexical_index"}
    for dataset, count in docs.items():
        if dataset in indexed:
            yield Limit("docs of an index", dataset, LUCENE_DOCS, count, count / 2)
    total, halved = (sum(job.alike for job in jobs) for jobs in (planned, half))
    yield Limit("jobs of a graph", "all", TRIED_JOBS, total, halved)
    halves = {job.outputs[0]: job for job in half}
    folders, halved_folders = folders_of(planned), folders_of(half)
    by_rule: dict[str, list[Job]] = {}
    for job in planned:
        by_rule.setdefault(job.rule, []).append(job)
    for rule, jobs in by_rule.items():
        for (name, unit, value), most in zip(OF_JOBS, (WEEK_H, node_mb, SHARDS), strict=True):
            job = max(jobs, key=value)
            yield Limit(name, rule, most, value(job), value(halves[job.outputs[0]]), unit)
        job = max(jobs, key=lambda job: argument_bytes(job, folders))
        if size := argument_bytes(job, folders):
            halved = argument_bytes(halves[job.outputs[0]], halved_folders)
            yield Limit("arguments of a command", rule, ARGUMENTS, size, halved, "B")


def folders_of(jobs: Iterable[Job]) -> dict[str, int]:
    """Return {output path: number of shards it stands for}, for jobs that stand for several."""
    return {path: job.alike for job in jobs if job.alike > 1 for path in job.outputs}


def argument_bytes(job: Job, shards: Mapping[str, int]) -> int:
    """Return the bytes of the arguments by which a job names all folders of shards.

    `shards` is from `folders_of`. A job of one shard names no others, and gives 0. The option's
    name is the third part of the path: --hits results/full/hits/...
    """
    if job.alike > 1:
        return 0
    folders = ((path.rpartition("/")[0], shards[path]) for path in job.inputs if path in shards)
    return sum(
        count * (len(folder.encode()) + len(folder.split("/")[2]) + ARGUMENT)
        for folder, count in folders
    )


def _cells(limit: Limit, docs: Iterable[int]) -> list[str]:
    times = limit.planned / limit.most
    numbers = [_number(value, limit.unit) for value in (limit.most, limit.planned)]
    bears = ", ".join(large(limit.borne * count) for count in docs) if limit.borne else "no size"
    digits = ".2f" if 0.9 < times < 1.1 else ".2g" if times < 10 else ",.0f"  # 1.01 is above 1
    return [limit.name, limit.subject, *numbers, f"{times:{digits}}", bears]


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

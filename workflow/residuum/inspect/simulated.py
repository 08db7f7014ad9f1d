"""The page of a simulated schedule: how long a plan's jobs take on how many nodes, and why.

Usage: `page(registry, jobs, Cluster([10, 100], node))`. What a job takes is the plan's; must not
know how it is estimated, nor how jobs are scheduled.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from residuum.cli.errors import ResiduumError
from residuum.config.registry import Registry
from residuum.inspect import scheduling
from residuum.inspect.dryrun import Job
from residuum.inspect.scheduling import Alike, Failures, Node
from residuum.inspect.text import wrapped
from residuum.neural.resumable import SAVE_S
from residuum.pages import layout
from residuum.wiring.sizes import CORE_GFLOPS

FORM = re.compile(r"(\d+) cores?, (\d+) cards?, (\d+(?:\.\d+)?) GB")
DAYS, REPAIR_H = 264.0, 24.0
SEEDS = range(1, 12)
PART_S = 600.0  # between two parts of what is made in parts, at most
RESUMED = ("rerank_score", "termweights_predict", "questions_generate")
HEADER = ["nodes", "longest path", "work of cores", "of cards", "of memory", "binding", "makespan"]
HEADER += ["with failures", "failures", "job hours lost", "cores busy", "cards busy"]
TEXTS = [
    "a job that computes on a card holds one of its node, with its threads and memory",
    "a node fails once in {:g} days (--days-between-failures; 264: Dubey et al. 2024, The Llama 3 "
    "herd of models, 419 unexpected interruptions of 2,048 nodes of 8 H100 in 54 days), whatever "
    "runs on it; times are exponential. It is away for {:g} hours (--repair-hours, a guess)",
    "what a failed node ran begins anew elsewhere, but trainings, which go on from their last "
    f"checkpoint ({SAVE_S / 60:.0f} minutes at most), and reranking, term weights and questions, "
    f"made in parts of {PART_S / 60:.0f} minutes at most",
    f"with failures: the median of {len(SEEDS)} seeds, and the least and the most",
    "jobs of a node share neither its disk nor its network with one another; Snakemake and the "
    "cluster start a job without delay",
]
OPTIONS = {"days": "--days-between-failures", "repair": "--repair-hours", "cut": "--cut-hours"}
CUT = (
    "in this schedule alone, a job of more than {:g} h is cut into equal ones (--cut-hours), which "
    "no stage can do today"
)


class Cluster(NamedTuple):
    """Numbers of nodes to try, what each has, days between its failures, hours of a repair.

    As if a job that takes more than `cut` hours could be cut into equal ones of no more.
    """

    nodes: Sequence[int] = ()
    node: Node = Node(32, 4, 256_000)
    days: float = DAYS
    repair: float = REPAIR_H
    cut: float = math.inf


def node_of(text: str) -> Node:
    """Return the node that an option describes; another text is a ResiduumError."""
    match = FORM.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise ResiduumError(
            f"--node '{text}': write cores, cards and memory as '{Cluster().node}', with one core "
            "or more"
        )
    return Node(int(match[1]), int(match[2]), round(1000 * float(match[3])))


def cluster_of(
    nodes: Sequence[int], node: str | None, given: Mapping[str, float | None], sized: bool
) -> Cluster:
    """Return the cluster that options describe, `given` those by its fields.

    A ResiduumError refuses what nothing would come of without numbers of nodes: all but what a node
    has, which limits the jobs of other sizes, too.
    """
    fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    alone = [OPTIONS[name] for name in fields]
    if node is not None:
        fields["node"] = node_of(node)
        alone += [] if sized else ["--node"]
    if alone and not nodes:
        raise ResiduumError(f"{', '.join(alone)}: only with --nodes, as --nodes 10")
    return Cluster(nodes, **fields)


def scheduled(registry: Registry, jobs: Sequence[Job], cut: float = math.inf) -> list[Alike]:
    """Return the jobs of a plan as a scheduler takes them, in their order.

    A shard's job waits for that of the same shard alone, where both are as many. One that takes
    more than `cut` hours is as many jobs as take no more. With `device: cpu` none holds a card.
    """
    made = {path: number for number, job in enumerate(jobs) for path in job.outputs}
    carded = registry.config.device != "cpu"
    takes = [job.seconds if carded else _on_cores(job) for job in jobs]
    parted = [max(1, math.ceil(seconds / 3600 / cut)) for seconds in takes]
    result = []
    for job, seconds, parts in zip(jobs, takes, parted, strict=True):
        before = dict.fromkeys(made[path] for path in job.inputs if path in made)
        whole = [number for number in before if parted[number] == parts == 1]
        own = [number for number in whole if jobs[number].alike == job.alike > 1]
        alike = Alike(
            named(job),
            job.threads,
            carded * max(job.resources["gpu"], int(job.resources["gpu_s"] > 0)),
            job.resources["mem_mb"],
            seconds / parts,
            parts * job.alike,
            tuple(number for number in before if number not in own),
            tuple(own),
            _saves(job, seconds),
        )
        result.append(alike)
    return result


def named(job: Job) -> str:
    """Return what a job is called: its rule, and what it is made for."""
    names = (job.wildcards.get(key) for key in ("run", "model", "reranker", "split", "page"))
    return " ".join([job.rule, *filter(None, names)])


def _on_cores(job: Job) -> float:
    """Return the seconds of a job whose operations are a core's."""
    return (job.resources["core_s"] + job.resources["gflop"] / CORE_GFLOPS) / job.threads


def _saves(job: Job, seconds: float) -> float:
    """Return the seconds of work after which a killed job has something to go on from."""
    if job.rule in RESUMED:
        return PART_S
    if job.rule not in ("train_train", "pretrain_adapt"):
        return float("inf")
    return min(seconds, SAVE_S)


def page(registry: Registry, jobs: Sequence[Job], cluster: Cluster) -> Iterator[str]:
    """Yield the table of a simulated schedule, its longest path and what it assumes."""
    listed = scheduled(registry, jobs, cluster.cut)
    total = sum(alike.jobs for alike in listed)
    yield f"Simulated on nodes of {cluster.node}, hours ({total:,} jobs):"
    try:
        rows = [row(listed, cluster, nodes) for nodes in cluster.nodes]
    except ResiduumError as error:
        cardless = any(alike.cards for alike in listed) and not cluster.node.cards
        cure = ". Without cards: `device: cpu` in config/config.yaml" if cardless else ""
        yield wrapped(f"not simulated: {error}{cure}")
        return
    yield layout.grid(HEADER, rows)
    path = [listed[number] for number in scheduling.critical(listed)]
    yield f"The longest path takes {hours(sum(alike.seconds for alike in path))} hours:"
    yield layout.grid(["job", "hours"], [[alike.name, hours(alike.seconds)] for alike in path])
    yield "The simulation takes for granted:"
    for text in TEXTS:
        yield wrapped(text.format(cluster.days, cluster.repair), "- ")
    if cluster.cut < math.inf:
        yield wrapped(CUT.format(cluster.cut), "- ")


def row(listed: Sequence[Alike], cluster: Cluster, nodes: int) -> list[str]:
    """Return the cells of a number of nodes; times in hours."""
    least = scheduling.bounds(listed, cluster.node, nodes)
    plain = scheduling.simulate(listed, cluster.node, nodes)
    between, repair = 86_400 * cluster.days, 3600 * cluster.repair
    failing = [
        scheduling.simulate(listed, cluster.node, nodes, Failures(between, repair, seed))
        for seed in SEEDS
    ]
    spans = sorted(one.makespan for one in failing)
    some = f"{hours(median(spans))} ({hours(spans[0])} to {hours(spans[-1])})"
    failed, lost = (median(one[place] for one in failing) for place in (3, 4))
    shares = [f"{share:.0%}" for share in (plain.cores, plain.cards)]
    cells = [*map(hours, least), least.binding, hours(plain.makespan), some, f"{failed:,.0f}"]
    return [f"{nodes:,}", *cells, hours(lost), *shares]


def hours(seconds: float) -> str:
    """Write seconds as hours, to a tenth where they are few."""
    if math.isinf(seconds):
        return "never"
    value = seconds / 3600
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"

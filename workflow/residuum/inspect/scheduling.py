"""A schedule of jobs on nodes, some of which fail: list scheduling, simulated by counts.

Usage: `simulate(batches, Node(32, 4, 256_000), nodes=100)`. Jobs alike are a batch, whose jobs take
one another's place, and so are nodes: an event starts or ends as many as there are. Must not know
rules or how long a job takes. Source: Graham, Bounds on multiprocessing timing anomalies, 1969
(list scheduling); a job goes first that the longest path to the end waits for.
"""

import heapq
import math
from bisect import insort
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError

ENDED, FAILED, BACK = range(3)
BOUNDLESS = np.iinfo(np.int64).max
NOWHERE = np.zeros(0, dtype=np.int64)
PATIENCE = 20  # times the seconds of a schedule without failures, after which it never ends


class Batch(NamedTuple):
    """Jobs alike: each takes cores, cards and memory (MB) of one node, and seconds.

    They start when all jobs of the batches in `after` have ended, and each when its own one of
    each in `beside` has, which have as many jobs. A job that is killed goes on from where it last
    saved, every `saves` seconds of work; by default it begins anew.
    """

    name: str
    cores: int
    cards: int
    memory: int
    seconds: float
    jobs: int = 1
    after: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()
    saves: float = math.inf

    @property
    def before(self) -> tuple[int, ...]:
        """The batches that come before it."""
        return (*self.after, *self.beside)


class Node(NamedTuple):
    """What a node has; memory in MB."""

    cores: int
    cards: int
    memory: int

    def __str__(self) -> str:
        counts = {"core": self.cores, "card": self.cards}
        named = [f"{own} {name}{'s' * (own != 1)}" for name, own in counts.items()]
        return ", ".join([*named, f"{self.memory / 1000:g} GB"])


class Failures(NamedTuple):
    """Mean seconds between a node's failures (exponential), seconds that it is away, a seed."""

    between: float
    repair: float
    seed: int


class Outcome(NamedTuple):
    """What a schedule comes to: seconds, shares of the nodes' time that jobs took, failures.

    `lost` are seconds of jobs whose work was done in vain, each job's by itself.
    """

    makespan: float
    cores: float
    cards: float
    failures: int
    lost: float


class Bounds(NamedTuple):
    """Seconds that no schedule is shorter than: the longest path, and the work on what there is."""

    path: float
    cores: float
    cards: float
    memory: float

    @property
    def binding(self) -> str:
        """Which of them is the largest."""
        return max(self._fields, key=lambda name: float(getattr(self, name)))


def bounds(batches: Sequence[Batch], node: Node, nodes: int) -> Bounds:
    """Return the lower bounds of a schedule without failures."""
    each = np.array([batch.jobs * batch.seconds for batch in batches], dtype=float)
    work = (each @ _needs(batches)) / np.maximum(1, nodes * np.array(node))
    path = sum(batches[number].seconds for number in critical(batches))
    return Bounds(path, *work.tolist())


def critical(batches: Sequence[Batch]) -> list[int]:
    """Return the numbers of the batches of the longest path, in the order of time."""
    levels, followers = _levels(batches)
    path, left = list[int](), [n for n, batch in enumerate(batches) if not batch.before]
    while left:
        path.append(max(left, key=lambda number: (levels[number], -number)))
        left = followers[path[-1]]
    return path


def _levels(batches: Sequence[Batch]) -> tuple[list[float], list[list[int]]]:
    """Return the seconds of the longest path from each batch to the end, and what follows each."""
    followers: list[list[int]] = [[] for _ in batches]
    for number, batch in enumerate(batches):
        for earlier in batch.before:
            followers[earlier].append(number)
    levels, open_ = [0.0] * len(batches), [len(own) for own in followers]
    ready = [number for number, left in enumerate(open_) if not left]
    while ready:
        number = ready.pop()
        levels[number] = batches[number].seconds + max(
            (levels[later] for later in followers[number]), default=0.0
        )
        for earlier in batches[number].before:
            open_[earlier] -= 1
            ready += [earlier] if not open_[earlier] else []
    return levels, followers


def _needs(batches: Sequence[Batch]) -> np.ndarray:
    """Return cores, cards and memory of a job of each batch: (batches, 3)."""
    return np.array([(b.cores, b.cards, b.memory) for b in batches], dtype=np.int64).reshape(-1, 3)


def simulate(
    batches: Sequence[Batch], node: Node, nodes: int, failures: Failures | None = None
) -> Outcome:
    """Return what a list schedule comes to: whenever there is room, a job starts.

    First those that most still waits for. Where failures come faster than a job ends, its makespan
    is infinite. Raises ResiduumError for a job that no node has room for.
    """
    for batch in batches:
        if any(own > had for own, had in zip(batch[1:4], node, strict=True)):
            needs = Node(*batch[1:4])
            raise ResiduumError(f"{batch.name}: a job takes {needs}; a node has {node} (--node)")
    least = bounds(batches, node, nodes)
    horizon = PATIENCE * sum(least) if failures else math.inf
    return _Simulation(batches, node, nodes, failures).run(horizon)


class _Running(NamedTuple):
    """Jobs of a batch that started at one time, by node; each takes so many seconds."""

    batch: int
    start: float
    seconds: float
    nodes: np.ndarray
    counts: np.ndarray


class _Simulation:
    """The state of a schedule at one time."""

    def __init__(
        self, batches: Sequence[Batch], node: Node, nodes: int, failures: Failures | None
    ) -> None:
        self.batches, self.node, self.failures = batches, node, failures
        self.needs, (levels, self.followers) = _needs(batches), _levels(batches)
        order = sorted(range(len(batches)), key=lambda number: (-levels[number], number))
        self.rank = {number: place for place, number in enumerate(order)}
        self.divisors = np.maximum(1, self.needs)
        self.free = np.tile(np.array(node, dtype=np.int64), (nodes, 1))
        self.up = np.ones(nodes, dtype=bool)
        self.done, self.released = [0] * len(batches), [0] * len(batches)
        # What may start, by rank, and how many jobs of each.
        self.waiting: list[tuple[int, float, int]] = []
        self.jobs: dict[tuple[int, float, int], int] = {}
        self.events: list[tuple[float, int, int, int]] = []
        self.running: dict[int, _Running] = {}
        self.numbers = count()
        self.random = np.random.default_rng(failures.seed if failures else 0)
        self.now = self.lost = 0.0
        self.used, self.failed = np.zeros(3), 0
        self.left = sum(batch.jobs for batch in batches)

    def run(self, horizon: float) -> Outcome:
        """Let time pass until all jobs have ended, or beyond the horizon."""
        every = np.arange(len(self.up))
        if self.failures:
            for node in every.tolist():
                self._fails_later(node)
        for number in range(len(self.batches)):
            self._release(number)
        self._start(every)
        while self.left and self.now <= horizon:
            self.now = self.events[0][0]
            touched, opened = [NOWHERE], False
            while self.events and self.events[0][0] == self.now:
                _, what, _, which = heapq.heappop(self.events)
                nodes, more = (self._ended, self._failed, self._back)[what](which)
                touched, opened = [*touched, nodes], opened or more
            self._start(every if opened else np.unique(np.concatenate(touched)))
        had = self.now * len(self.up) * np.maximum(1, np.array(self.node))
        shares = self.used / had if self.now else self.used
        makespan = math.inf if self.left else self.now
        return Outcome(makespan, float(shares[0]), float(shares[1]), self.failed, self.lost)

    def _later(self, seconds: float, what: int, which: int) -> None:
        heapq.heappush(self.events, (self.now + seconds, what, next(self.numbers), which))

    def _fails_later(self, node: int) -> None:
        assert self.failures
        self._later(float(self.random.exponential(self.failures.between)), FAILED, node)

    def _release(self, number: int) -> bool:
        """Let jobs of a batch wait for room whose predecessors have ended; say if there are any."""
        batch = self.batches[number]
        if any(self.done[earlier] < self.batches[earlier].jobs for earlier in batch.after):
            return False
        most = min([batch.jobs, *(self.done[earlier] for earlier in batch.beside)])
        new = most - self.released[number]
        self.released[number] = most
        self._wait(number, batch.seconds, new)
        return new > 0

    def _wait(self, number: int, seconds: float, jobs: int) -> None:
        key = self.rank[number], seconds, number
        if jobs and key not in self.jobs:
            insort(self.waiting, key)
        if jobs:
            self.jobs[key] = self.jobs.get(key, 0) + jobs

    def _start(self, nodes: np.ndarray) -> None:
        """Start what there is room for on some nodes, the first in order first."""
        nodes = nodes[self.up[nodes]]
        for key in list(self.waiting):
            if not len(nodes):
                return
            _, seconds, number = key
            need = self.needs[number]
            room = np.where(need > 0, self.free[nodes] // self.divisors[number], BOUNDLESS)
            fit = np.minimum(room.min(axis=1), self.jobs[key])
            taken = np.minimum(fit, np.maximum(0, self.jobs[key] - (np.cumsum(fit) - fit)))
            some = taken > 0
            if some.any():
                own, counts = nodes[some], taken[some]
                self.free[own] -= counts[:, None] * need
                which = next(self.numbers)
                self.running[which] = _Running(number, self.now, seconds, own, counts)
                self._later(seconds, ENDED, which)
                self._take(key, int(counts.sum()))
                nodes = nodes[self.free[nodes, 0] > 0]

    def _take(self, key: tuple[int, float, int], jobs: int) -> None:
        self.jobs[key] -= jobs
        if not self.jobs[key]:
            del self.jobs[key]
            self.waiting.remove(key)

    def _ended(self, which: int) -> tuple[np.ndarray, bool]:
        """End jobs; return the nodes that have room again, and if others may start anywhere."""
        job = self.running.pop(which)
        total, need = int(job.counts.sum()), self.needs[job.batch]
        self.free[job.nodes] += job.counts[:, None] * need
        self.used += total * job.seconds * need
        self.done[job.batch] += total
        self.left -= total
        return job.nodes, any([self._release(later) for later in self.followers[job.batch]])

    def _failed(self, node: int) -> tuple[np.ndarray, bool]:
        """Take a node away with all that runs on it, which waits again."""
        assert self.failures, "what fails is told by them"
        self.up[node], self.failed = False, self.failed + 1
        for job in self.running.values():
            for place in np.flatnonzero((job.nodes == node) & (job.counts > 0)):
                self._killed(job, int(job.counts[place]))
                job.counts[place] = 0
        self.free[node] = self.node
        self._later(self.failures.repair, BACK, node)
        return NOWHERE, True

    def _killed(self, job: _Running, jobs: int) -> None:
        ran, saves = self.now - job.start, self.batches[job.batch].saves
        kept = ran // saves * saves if saves < math.inf else 0.0
        self.lost += jobs * (ran - kept)
        self.used += jobs * ran * self.needs[job.batch]
        self._wait(job.batch, job.seconds - kept, jobs)

    def _back(self, node: int) -> tuple[np.ndarray, bool]:
        self.up[node] = True
        self._fails_later(node)
        return np.array([node]), False

"""A schedule of jobs on nodes, some of which fail: list scheduling, simulated by counts.

Usage: `simulate(several, Node(32, 4, 256_000), nodes=100)`. Jobs alike take one
another's place, and so do nodes: an event starts or ends as many as there are. Must not know
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


class Alike(NamedTuple):
    """Jobs alike: each takes cores, cards and memory (MB) of one node, and seconds.

    They start when all jobs of those in `after` have ended, and each when its own one of
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
        """Those that come before it."""
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


def bounds(several: Sequence[Alike], node: Node, nodes: int) -> Bounds:
    """Return the lower bounds of a schedule without failures."""
    each = np.array([alike.jobs * alike.seconds for alike in several], dtype=float)
    work = (each @ _needs(several)) / np.maximum(1, nodes * np.array(node))
    path = sum(several[number].seconds for number in critical(several))
    return Bounds(path, *work.tolist())


def critical(several: Sequence[Alike]) -> list[int]:
    """Return the numbers of those on the longest path, in the order of time."""
    levels, followers = _levels(several)
    path, left = list[int](), [n for n, alike in enumerate(several) if not alike.before]
    while left:
        path.append(max(left, key=lambda number: (levels[number], -number)))
        left = followers[path[-1]]
    return path


def _levels(several: Sequence[Alike]) -> tuple[list[float], list[list[int]]]:
    """Return the seconds of the longest path from each to the end, and what follows each."""
    followers: list[list[int]] = [[] for _ in several]
    for number, alike in enumerate(several):
        for earlier in alike.before:
            followers[earlier].append(number)
    levels, open_ = [0.0] * len(several), [len(own) for own in followers]
    ready = [number for number, left in enumerate(open_) if not left]
    while ready:
        number = ready.pop()
        levels[number] = several[number].seconds + max(
            (levels[later] for later in followers[number]), default=0.0
        )
        for earlier in several[number].before:
            open_[earlier] -= 1
            ready += [earlier] if not open_[earlier] else []
    return levels, followers


def _needs(several: Sequence[Alike]) -> np.ndarray:
    """Return cores, cards and memory of a job of each: (several, 3)."""
    return np.array([(b.cores, b.cards, b.memory) for b in several], dtype=np.int64).reshape(-1, 3)


def simulate(
    several: Sequence[Alike], node: Node, nodes: int, failures: Failures | None = None
) -> Outcome:
    """Return what a list schedule comes to: whenever there is room, a job starts.

    First those that most still waits for. Where failures come faster than a job ends, its makespan
    is infinite. Raises ResiduumError for a job that no node has room for.
    """
    for alike in several:
        if any(own > had for own, had in zip(alike[1:4], node, strict=True)):
            needs = Node(*alike[1:4])
            raise ResiduumError(f"{alike.name}: a job takes {needs}; a node has {node} (--node)")
    least = bounds(several, node, nodes)
    horizon = PATIENCE * sum(least) if failures else math.inf
    return _Simulation(several, node, nodes, failures).run(horizon)


class _Running(NamedTuple):
    """Jobs alike that started at one time, by node; each takes so many seconds."""

    alike: int
    start: float
    seconds: float
    nodes: np.ndarray
    counts: np.ndarray


class _Simulation:
    """The state of a schedule at one time."""

    def __init__(
        self, several: Sequence[Alike], node: Node, nodes: int, failures: Failures | None
    ) -> None:
        self.several, self.node, self.failures = several, node, failures
        self.needs, (levels, self.followers) = _needs(several), _levels(several)
        order = sorted(range(len(several)), key=lambda number: (-levels[number], number))
        self.rank = {number: place for place, number in enumerate(order)}
        self.divisors = np.maximum(1, self.needs)
        self.free = np.tile(np.array(node, dtype=np.int64), (nodes, 1))
        self.up = np.ones(nodes, dtype=bool)
        self.done, self.released = [0] * len(several), [0] * len(several)
        # What may start, by rank, and how many jobs of each.
        self.waiting: list[tuple[int, float, int]] = []
        self.jobs: dict[tuple[int, float, int], int] = {}
        self.events: list[tuple[float, int, int, int]] = []
        self.running: dict[int, _Running] = {}
        self.numbers = count()
        self.random = np.random.default_rng(failures.seed if failures else 0)
        self.now = self.lost = 0.0
        self.used, self.failed = np.zeros(3), 0
        self.left = sum(alike.jobs for alike in several)

    def run(self, horizon: float) -> Outcome:
        """Let time pass until all jobs have ended, or beyond the horizon."""
        every = np.arange(len(self.up))
        if self.failures:
            for node in every.tolist():
                self._fails_later(node)
        for number in range(len(self.several)):
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
        """Let jobs alike wait for room whose predecessors have ended; say if there are any."""
        alike = self.several[number]
        if any(self.done[earlier] < self.several[earlier].jobs for earlier in alike.after):
            return False
        most = min([alike.jobs, *(self.done[earlier] for earlier in alike.beside)])
        new = most - self.released[number]
        self.released[number] = most
        self._wait(number, alike.seconds, new)
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
        total, need = int(job.counts.sum()), self.needs[job.alike]
        self.free[job.nodes] += job.counts[:, None] * need
        self.used += total * job.seconds * need
        self.done[job.alike] += total
        self.left -= total
        return job.nodes, any([self._release(later) for later in self.followers[job.alike]])

    def _failed(self, node: int) -> tuple[np.ndarray, bool]:
        """Take a node away with all that runs on it, which waits again."""
        assert self.failures, "events of this kind are theirs"
        self.up[node], self.failed = False, self.failed + 1
        for job in self.running.values():
            for place in np.flatnonzero((job.nodes == node) & (job.counts > 0)):
                self._killed(job, int(job.counts[place]))
                job.counts[place] = 0
        self.free[node] = self.node
        self._later(self.failures.repair, BACK, node)
        return NOWHERE, True

    def _killed(self, job: _Running, jobs: int) -> None:
        ran, saves = self.now - job.start, self.several[job.alike].saves
        kept = ran // saves * saves if saves < math.inf else 0.0
        self.lost += jobs * (ran - kept)
        self.used += jobs * ran * self.needs[job.alike]
        self._wait(job.alike, job.seconds - kept, jobs)

    def _back(self, node: int) -> tuple[np.ndarray, bool]:
        self.up[node] = True
        self._fails_later(node)
        return np.array([node]), False

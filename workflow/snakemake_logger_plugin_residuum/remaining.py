"""Estimate how long a graph of jobs still takes, from what they were expected to take.

Usage: `left = Remaining(counts, expected)`; call `start` and `end` for each job, then
`left.seconds(now)`, from any thread: it reads copies.
"""

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType

# Mean CPU seconds of a rule's jobs at scale mini, beside what models compute in them by estimate.
TYPICAL: Mapping[str, float] = {
    "cases_find": 1.0,
    "claims_judge": 1.0,
    "dense_search": 0.7,
    "dimensions_draw": 0.8,
    "encode_docs": 1.3,
    "fidelity_measure": 3.1,
    "figure_draw": 1.2,
    "fusion_fuse": 0.9,
    "lexical_index": 1.7,
    "lexical_score": 2.0,
    "lexical_search": 0.8,
    "negatives_mine": 5.5,
    "pretrain_backbone": 2.7,
    "report_write": 1.0,
    "rerank_depths": 1.2,
    "rm3_tune": 3.9,
    "sweep_measure": 2.5,
}
OTHERWISE = 0.4  # of all other rules
PRIOR = 3  # mean jobs of a rule that weigh as much as what all rules say of this machine

Expected = Mapping[str, Mapping[str, float]]


class Remaining:
    """The jobs of a run by rule: waiting, running, ended.

    `expected` holds, by rule and first output, the seconds that a job takes beyond its rule's
    typical ones. Jobs that have ended say how much slower than expected this machine is.
    """

    def __init__(
        self, counts: Mapping[str, int], expected: Expected = MappingProxyType({})
    ) -> None:
        self.waiting = dict(counts)
        self.total = sum(counts.values())
        self.running: dict[int, tuple[str, float, float]] = {}  # rule, expected seconds, start
        self.failed = 0
        self.expected = expected
        self._begun_with: dict[str, float] = {}  # by rule, what started jobs were to take beyond
        self._ended: dict[str, list[tuple[float, float]]] = {}  # expected and taken
        self._lost = 0.0  # seconds of attempts that failed
        self._known: set[int] = set()
        self._begun: float | None = None

    @property
    def done(self) -> int:
        """Return the number of jobs that have ended."""
        return sum(map(len, self._ended.values()))

    def start(self, job: int, rule: str, now: float, output: str = "") -> None:
        """Record that a job starts, or starts again after a failure."""
        beyond = self.expected.get(rule, {}).get(output, 0.0)
        if job not in self._known:
            self.waiting[rule] = max(0, self.waiting.get(rule, 0) - 1)
            self._begun_with[rule] = self._begun_with.get(rule, 0.0) + beyond
        elif job not in self.running:
            self.failed -= 1
        self._known.add(job)
        self.running[job] = rule, _typical(rule) + beyond, now
        self._begun = now if self._begun is None else self._begun

    def end(self, job: int, now: float) -> None:
        """Record that a job has ended well; a job that was not started is ignored."""
        if job in self.running:
            rule, expected, since = self.running.pop(job)
            self._ended.setdefault(rule, []).append((expected, now - since))

    def fail(self, job: int, now: float) -> None:
        """Record that a job has failed: its time counts no longer, unless it starts again."""
        if job in self.running:
            *_, since = self.running.pop(job)
            self._lost += now - since
            self.failed += 1

    def elapsed(self, now: float) -> float:
        """Return the seconds since the first job started."""
        return now - (now if self._begun is None else self._begun)

    def seconds(self, now: float) -> float | None:
        """Return the seconds that the remaining jobs take; None before a job has ended."""
        if not self._ended:
            return None
        running, waiting = list(self.running.values()), list(self.waiting.items())
        rest = [max(self._slower(rule) * takes - (now - at), 0) for rule, takes, at in running]
        work = sum(rest) + sum(self._slower(rule) * self._to_come(rule, n) for rule, n in waiting)
        spent = self._lost + sum(taken for _, taken in chain(*[*self._ended.values()]))
        spent += sum(now - at for *_, at in running)
        at_once = max(1, spent / max(self.elapsed(now), 1e-9))
        return max([work / at_once, *rest])

    def _to_come(self, rule: str, number: int) -> float:
        """Return the seconds that a rule's waiting jobs are expected to take, `number` of them."""
        beyond = sum(self.expected.get(rule, {}).values()) - self._begun_with.get(rule, 0.0)
        return number * _typical(rule) + max(0.0, beyond)

    def _slower(self, rule: str) -> float:
        """Return what a rule's jobs take as a multiple of what they were expected to take.

        The fewer of its jobs have ended, the more the jobs of other rules count: of those in which
        models compute, or of those in which none does. A larger collection slows the two apart.
        """
        models = rule in self.expected
        alike = [jobs for name, jobs in [*self._ended.items()] if (name in self.expected) == models]
        of_all = _ratio([*chain(*alike)], 0.0, 1.0)
        ended = self._ended.get(rule, [])
        mean = sum(takes for takes, _ in ended) / len(ended) if ended else 1.0
        return _ratio(ended, PRIOR * mean, of_all)


def _ratio(ended: list[tuple[float, float]], weight: float, prior: float) -> float:
    """Return taken over expected seconds; `prior` counts as much as `weight` seconds."""
    expected, taken = map(sum, zip(*ended, strict=True)) if ended else (0.0, 0.0)
    return (weight * prior + taken) / (weight + expected) if ended else prior


def _typical(rule: str) -> float:
    return TYPICAL.get(rule, OTHERWISE)

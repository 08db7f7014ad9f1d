"""Estimate how long a graph of jobs still takes, from the jobs that have ended.

Usage: `left = Remaining(counts)`; call `start` and `end` for each job, then `left.seconds(now)`,
from any thread: it reads copies.
"""

from collections.abc import Mapping

# Mean CPU seconds of a rule's jobs at scale mini: the estimate before one of its jobs has ended.
# Jobs that have ended say how much faster or slower this machine is.
TYPICAL: Mapping[str, float] = {
    "cases_find": 0.9,
    "dense_search": 0.9,
    "dimensions_draw": 0.8,
    "encode_docs": 2.0,
    "fidelity_measure": 3.1,
    "fusion_tune": 0.9,
    "learning_score": 1.5,
    "negatives_mine": 3.3,
    "pretrain_adapt": 5.4,
    "pretrain_backbone": 5.4,
    "questions_generate": 4.9,
    "report_write": 2.8,
    "rerank_depths": 0.9,
    "rerank_score": 5.7,
    "rm3_tune": 3.0,
    "sweep_measure": 2.5,
    "termweights_predict": 3.6,
    "train_train": 8.1,
}
OTHERWISE = 0.4  # of all other rules
PRIOR = 3  # ended jobs of a rule that weigh as much as its estimate
LONGER = 2  # the remaining jobs of a rule take at most this multiple of its mean


class Remaining:
    """The jobs of a run by rule: waiting, running, ended."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts, self.waiting = counts, dict(counts)
        self.total = sum(counts.values())
        self.running: dict[int, tuple[str, float]] = {}
        self.failed = 0
        self._ended: dict[str, list[float]] = {}
        self._lost = 0.0  # seconds of attempts that failed
        self._known: set[int] = set()
        self._begun: float | None = None

    @property
    def done(self) -> int:
        """Return the number of jobs that have ended."""
        return sum(map(len, self._ended.values()))

    def start(self, job: int, rule: str, now: float) -> None:
        """Record that a job starts, or starts again after a failure."""
        if job not in self._known:
            self.waiting[rule] = max(0, self.waiting.get(rule, 0) - 1)
        elif job not in self.running:
            self.failed -= 1
        self._known.add(job)
        self.running[job] = rule, now
        self._begun = now if self._begun is None else self._begun

    def end(self, job: int, now: float) -> None:
        """Record that a job has ended well; a job that was not started is ignored."""
        if job in self.running:
            rule, since = self.running.pop(job)
            self._ended.setdefault(rule, []).append(now - since)

    def fail(self, job: int, now: float) -> None:
        """Record that a job has failed: its time counts no longer, unless it starts again."""
        if job in self.running:
            _, since = self.running.pop(job)
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
        rest = [max(self._mean(rule) - (now - since), 0) for rule, since in running]
        work = sum(rest) + sum(count * self._mean(rule) for rule, count in waiting)
        spent = self._lost + sum(map(sum, self._ended.values()))
        spent += sum(now - since for _, since in running)
        at_once = max(1, spent / max(self.elapsed(now), 1e-9))
        return max([work / at_once, *rest])

    def _mean(self, rule: str) -> float:
        """Return the seconds of a job that has not ended.

        A rule's short jobs, of small collections and first stages, tend to come first. If the ended
        jobs took less than estimated, the others are taken to be that much longer.
        """
        ended, estimate = self._ended.get(rule, []), self._slower() * _typical(rule)
        mean = (PRIOR * estimate + sum(ended)) / (PRIOR + len(ended))
        count = self._counts.get(rule, 0)
        rest = (count * estimate - sum(ended)) / max(1, count - len(ended))
        return min(max(mean, rest), LONGER * mean)

    def _slower(self) -> float:
        """Return the time of all ended jobs, as a multiple of the estimates."""
        estimates = sum(_typical(rule) * len(ended) for rule, ended in [*self._ended.items()])
        return sum(map(sum, self._ended.values())) / estimates


def _typical(rule: str) -> float:
    return TYPICAL.get(rule, OTHERWISE)

"""How long a graph of jobs still takes, judged by those that have ended.

Usage: `left = Remaining(counts)`; tell it what starts and ends, then ask `left.seconds(now)`, from
another thread if you like: it goes over copies.
"""

from collections.abc import Mapping

# CPU seconds of a job at scale mini, on average: what is believed of a rule before one of its jobs
# has ended. Those that have say how much faster or slower this machine is.
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
OTHERWISE = 0.4  # of all others
BELIEF = 3  # jobs of a rule that have ended, as many as which what is believed counts
LONGER = 2  # times the mean that the rest of a rule's jobs may be taken for


class Remaining:
    """The jobs of a run by rule: waiting, running, ended."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        """Take the number of jobs of each rule."""
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
        """Return how many jobs have ended."""
        return sum(map(len, self._ended.values()))

    def start(self, job: int, rule: str, now: float) -> None:
        """Take note of a job that starts; one that is tried again starts anew."""
        if job not in self._known:
            self.waiting[rule] = max(0, self.waiting.get(rule, 0) - 1)
        elif job not in self.running:
            self.failed -= 1
        self._known.add(job)
        self.running[job] = rule, now
        self._begun = now if self._begun is None else self._begun

    def end(self, job: int, now: float) -> None:
        """Take note of a job that ended well; one that nobody started counts for nothing."""
        if job in self.running:
            rule, since = self.running.pop(job)
            self._ended.setdefault(rule, []).append(now - since)

    def fail(self, job: int, now: float) -> None:
        """Take note of a job that failed: it is waited for no longer, unless it starts again."""
        if job in self.running:
            _, since = self.running.pop(job)
            self._lost += now - since
            self.failed += 1

    def elapsed(self, now: float) -> float:
        """Return the seconds since the first job started."""
        return now - (now if self._begun is None else self._begun)

    def seconds(self, now: float) -> float | None:
        """Return the seconds that the rest takes; None before a job has ended."""
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

        A rule's short jobs, of small collections and first stages, tend to come first: where those
        that have ended took less than was believed, the rest is taken for that much longer.
        """
        ended, believed = self._ended.get(rule, []), self._slower() * _typical(rule)
        mean = (BELIEF * believed + sum(ended)) / (BELIEF + len(ended))
        count = self._counts.get(rule, 0)
        rest = (count * believed - sum(ended)) / max(1, count - len(ended))
        return min(max(mean, rest), LONGER * mean)

    def _slower(self) -> float:
        """Return how many times as long as believed jobs took, all together."""
        believed = sum(_typical(rule) * len(ended) for rule, ended in [*self._ended.items()])
        return sum(map(sum, self._ended.values())) / believed


def _typical(rule: str) -> float:
    return TYPICAL.get(rule, OTHERWISE)

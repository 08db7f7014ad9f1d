"""Which of the jobs that are ready starts first.

Usage: `Order(workflow, papers, seconds).apply()` once all rules are read.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from itertools import accumulate
from typing import Any

from residuum.wiring.base import Workflow
from residuum.wiring.placement import RESOURCE

CORES, CARDS = "_cores", RESOURCE  # as Snakemake and the rules name them
SHORT = 0.65  # seconds that a job takes beside what its models compute
MARGIN = 1.2  # of a chain: a late start leaves cores idle, an early one costs a page little
Job = Any  # Snakemake's, which has no types
Slots = tuple[int, int]  # of cores and of cards
Key = tuple[str, frozenset[tuple[str, str]]]  # a job's rule and wildcards


class Order:
    """A job that the earliest page needs starts first, unless a paper's last page would be late.

    So the first paper's pages stand long before the last job ends, and no long chain of jobs is
    left for the end, when all other cores are idle. In the order of pages, and of one page by the
    chain of jobs behind each, every job gets a time: when cores and cards would be free for it. The
    time is earlier if the chain would otherwise end after all work of its paper, and of the papers
    before, could have been done.

    `papers` returns the outputs of each paper's pages in the order in which they are wanted. It is
    called when the graph stands, since nobody knows before whether it is a dry run. `seconds`
    returns what models take in a job; all else counts as SHORT, since its estimates are too long at
    small scales. Snakemake asks a rule for the priority of each job, and has no word for "as urgent
    as what needs it".
    """

    def __init__(
        self,
        workflow: Workflow,
        papers: Callable[[], Sequence[Sequence[str]]],
        seconds: Callable[[Job], float],
    ) -> None:
        self._workflow, self._papers, self._seconds = workflow, papers, seconds

    def apply(self) -> None:
        """Give each rule a priority; a Snakemake that takes no function for it is left alone."""
        for rule in self._workflow.rules:
            if hasattr(rule, "expand_priority"):
                rule.priority = self._priority_of(rule.name)

    def _priority_of(self, rule: str) -> Callable[[Mapping[str, str]], int]:
        return lambda wildcards: self._priorities.get((rule, frozenset(wildcards.items())), 0)

    @cached_property
    def _priorities(self) -> dict[Key, int]:
        """The number of jobs whose time is not before a job's, by job."""
        seconds = {job: SHORT + self._seconds(job) for job in self._workflow.dag.needrun_jobs()}
        needs = {job: [n for n in self._needs(job) if n in seconds] for job in seconds}
        chains, papers = _longest(needs, seconds), self._papers()
        page_of = self._first_pages(needs, [page for pages in papers for page in pages])
        last = len(seconds)
        in_order = sorted(seconds, key=lambda job: (page_of.get(job, last), -chains[job]))
        limits = self._limits()
        takes = {job: _takes(job, limits) for job in seconds}
        starts = _starts(in_order, needs, seconds, takes, limits)
        if limits[0] > 1:  # one core is never idle
            of_papers = dict[Job, tuple[int, float]]()  # the paper's number, and the start
            for number, end in enumerate(accumulate(map(len, papers))):
                some = {job: seconds[job] for job in seconds if page_of.get(job, end) < end}
                for job, latest in _latest(some, needs, takes, limits).items():
                    of_papers.setdefault(job, (number, min(starts[job], latest)))
            in_order.sort(key=lambda job: of_papers.get(job, (len(papers), starts[job])))
            starts = _starts(in_order, needs, seconds, takes, limits)
            all_jobs = _latest(seconds, needs, takes, limits)
            starts = {job: min(starts[job], all_jobs[job]) for job in seconds}
        by_time = sorted(in_order, key=starts.__getitem__)
        return {_key(job): last - number for number, job in enumerate(by_time)}

    def _limits(self) -> Slots:
        """Return how many cores, and how many slots of cards, jobs take at once."""
        cores, cards = (self._workflow.global_resources.get(name).value for name in (CORES, CARDS))
        return cores or sys.maxsize, cards or sys.maxsize

    def _needs(self, job: Job) -> Sequence[Job]:
        return list(self._workflow.dag.dependencies.get(job, ()))

    def _first_pages(
        self, needs: Mapping[Job, Sequence[Job]], pages: Sequence[str]
    ) -> dict[Job, int]:
        """Return the number of the earliest page that needs a job, by job."""
        made_by = {str(path): job for job in needs for path in job.output}
        found: dict[Job, int] = {}
        for number, page in enumerate(pages):
            stack = [made_by[page]] if page in made_by else []
            while stack:
                job = stack.pop()
                if job not in found:
                    found[job] = number
                    stack.extend(needs[job])
        return found


def _key(job: Job) -> Key:
    return job.rule.name, frozenset(job.wildcards_dict.items())


def _takes(job: Job, limits: Slots) -> Slots:
    """Return how many cores and slots of cards a job takes, no more than there are."""
    return min(job.threads, limits[0]), min(job.resources.get(CARDS, 0), limits[1])


def _starts(
    in_order: Sequence[Job],
    needs: Mapping[Job, Sequence[Job]],
    seconds: Mapping[Job, float],
    takes: Mapping[Job, Slots],
    limits: Slots,
) -> dict[Job, float]:
    """Return when each job starts if the first that is ready and finds room always does.

    `takes` has the cores and slots that a job takes of the `limits`.
    """
    number_of = {job: number for number, job in enumerate(in_order)}
    lacks = {job: len(needs[job]) for job in in_order}
    freed = dict[Job, list[Job]]()
    for job in in_order:
        for needed in needs[job]:
            freed.setdefault(needed, []).append(job)
    ready = {kind: list[int]() for kind in {*takes.values()}}
    for job in in_order:
        if not lacks[job]:
            ready[takes[job]].append(number_of[job])  # in order, so already a heap
    starts, running = dict[Job, float](), list[tuple[float, int]]()
    now, (cores, cards) = 0.0, limits
    while len(starts) < len(in_order) or running:
        fitting = [k for k in ready if ready[k] and k[0] <= cores and k[1] <= cards]
        if fitting:
            kind = min(fitting, key=lambda kind: ready[kind][0])
            number = heappop(ready[kind])
            job = in_order[number]
            starts[job] = now
            cores, cards = cores - kind[0], cards - kind[1]
            heappush(running, (now + seconds[job], number))
            continue
        now, number = heappop(running)
        ended = in_order[number]
        cores, cards = cores + takes[ended][0], cards + takes[ended][1]
        for job in freed.get(ended, ()):
            lacks[job] -= 1
            if not lacks[job]:
                heappush(ready[takes[job]], number_of[job])
    return starts


def _latest(
    seconds: Mapping[Job, float],
    needs: Mapping[Job, Sequence[Job]],
    takes: Mapping[Job, Slots],
    limits: Slots,
) -> dict[Job, float]:
    """Return when each of some jobs starts at the latest, so that all may end as soon as they can.

    The others that they need are among them.
    """
    chains = _longest({job: needs[job] for job in seconds}, seconds)
    work = [sum(seconds[j] * takes[j][n] for j in seconds) / limits[n] for n in (0, 1)]
    end = max([*work, *chains.values()])
    return {job: end - MARGIN * chain for job, chain in chains.items()}


def _longest(needs: Mapping[Job, Sequence[Job]], seconds: Mapping[Job, float]) -> dict[Job, float]:
    """Return the seconds of the longest chain of jobs that begins with a job, by job."""
    sorter = TopologicalSorter(needs)
    found = dict(seconds)
    for job in reversed([*sorter.static_order()]):
        for needed in needs[job]:
            found[needed] = max(found[needed], seconds[needed] + found[job])
    return found

"""Which of the jobs that are ready starts first.

Usage: `Order(workflow, pages, seconds).apply()` once all rules are read.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any

from residuum.wiring.base import Workflow
from residuum.wiring.placement import RESOURCE

CORES, CARDS = "_cores", RESOURCE  # as Snakemake and the rules name them
SHORT = 1.0  # seconds that a job takes beside what its models compute
Job = Any  # Snakemake's, which has no types
Key = tuple[str, frozenset[tuple[str, str]]]  # a job's rule and wildcards


class Order:
    """One that the earliest page needs starts first, unless the last page would then be late.

    So the first paper's pages stand long before the last job ends, and no long chain of jobs is
    left for the end, when all other cores are idle. A job's turn is when the jobs before it, in the
    order of pages, have been done. It comes earlier if what follows the job would otherwise
    end after cores and cards could have done all work.

    `pages` returns the outputs of pages in the order in which they are wanted. It is called when
    the graph stands, since nobody knows before whether it is a dry run. `seconds` returns what
    models take in a job. Snakemake asks a rule for the priority of each job, and has no word for
    "as urgent as what needs it".
    """

    def __init__(
        self,
        workflow: Workflow,
        pages: Callable[[], Sequence[str]],
        seconds: Callable[[Job], float],
    ) -> None:
        self._workflow, self._pages, self._seconds = workflow, pages, seconds

    def apply(self) -> None:
        """Give each rule a priority; a Snakemake that takes no function for it is left alone."""
        for rule in self._workflow.rules:
            if hasattr(rule, "expand_priority"):
                rule.priority = self._priority_of(rule.name)

    def _priority_of(self, rule: str) -> Callable[[Mapping[str, str]], int]:
        return lambda wildcards: self._priorities.get((rule, frozenset(wildcards.items())), 0)

    @cached_property
    def _priorities(self) -> dict[Key, int]:
        """The number of jobs whose turn is not before a job's, by job."""
        seconds = {job: SHORT + self._seconds(job) for job in self._workflow.dag.needrun_jobs()}
        needs = {job: [n for n in self._needs(job) if n in seconds] for job in seconds}
        chains, page_of = _longest(needs, seconds), self._first_pages(needs)
        last = len(seconds)
        in_order = sorted(seconds, key=lambda job: (page_of.get(job, last), -chains[job]))
        work, limits = Counter[str](), self._limits()
        earliest = dict[Job, float]()
        for job in in_order:
            earliest[job] = max(work[name] / limit for name, limit in limits.items())
            work[CORES] += seconds[job] * job.threads
            work[CARDS] += seconds[job] * job.resources.get(CARDS, 0)
        done = max(work[name] / limit for name, limit in limits.items())
        end = max([done, *chains.values()])
        by_turn = sorted(in_order, key=lambda job: min(earliest[job], end - chains[job]))
        return {_key(job): last - number for number, job in enumerate(by_turn)}

    def _limits(self) -> dict[str, float]:
        """Return how many cores, and how many slots of cards, jobs take at once."""
        given = {name: self._workflow.global_resources.get(name).value for name in (CORES, CARDS)}
        return {name: float(limit or sys.maxsize) for name, limit in given.items()}

    def _needs(self, job: Job) -> Sequence[Job]:
        return list(self._workflow.dag.dependencies.get(job, ()))

    def _first_pages(self, needs: Mapping[Job, Sequence[Job]]) -> dict[Job, int]:
        """Return the number of the earliest page that needs a job, by job."""
        made_by = {str(path): job for job in needs for path in job.output}
        found: dict[Job, int] = {}
        for number, page in enumerate(self._pages()):
            stack = [made_by[page]] if page in made_by else []
            while stack:
                job = stack.pop()
                if job not in found:
                    found[job] = number
                    stack.extend(needs[job])
        return found


def _key(job: Job) -> Key:
    return job.rule.name, frozenset(job.wildcards_dict.items())


def _longest(needs: Mapping[Job, Sequence[Job]], seconds: Mapping[Job, float]) -> dict[Job, float]:
    """Return the seconds of the longest chain of jobs that begins with a job, by job."""
    sorter = TopologicalSorter(needs)
    found = dict(seconds)
    for job in reversed([*sorter.static_order()]):
        for needed in needs[job]:
            found[needed] = max(found[needed], seconds[needed] + found[job])
    return found

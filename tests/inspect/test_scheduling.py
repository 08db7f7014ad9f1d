"""Schedules by hand, by Graham's bounds and job after job; failures by hand and by formula."""

import math
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest

from residuum.cli.errors import ResiduumError
from residuum.inspect import scheduling
from residuum.inspect.scheduling import Alike, Failures, Node, simulate

NODE = Node(4, 2, 100)
ONE_CORE = Node(1, 0, 0)


def job(seconds, *after, cores=1, cards=0, memory=0, **more):
    return Alike("job", cores, cards, memory, seconds, after=after, **more)


def spans(several, node, nodes):
    return simulate(several, node, nodes).makespan


def test_jobs_that_wait_for_each_other_take_their_sum():
    assert spans([job(3), job(2, 0), job(4, 1)], NODE, 5) == 9


def test_jobs_alike_come_in_waves():
    assert spans([job(2, jobs=9)], NODE, 1) == 3 * 2  # four cores: 4 + 4 + 1
    assert spans([job(2, jobs=9)], NODE, 2) == 2 * 2
    assert spans([job(2, jobs=9)], NODE, 3) == 2


def test_the_largest_first_are_not_the_best_on_two_cores():
    """The worst case of the rule for two machines: 7 in place of 6 (Graham 1969, section 5)."""
    assert spans([job(seconds) for seconds in (2, 3, 2, 3, 2)], ONE_CORE, 2) == 7


def test_what_most_waits_for_goes_first():
    """On one core: 1, then the chain behind it while the long one waits its turn."""
    several = [job(5), job(1), job(6, 1)]  # levels 5, 7, 6
    assert spans(several, ONE_CORE, 2) == 7
    assert scheduling.critical(several) == [1, 2]


@pytest.mark.parametrize(("needs", "waves"), [
    ({"cores": 3}, 3), ({"cards": 2}, 3), ({"memory": 60}, 3), ({"cores": 2, "memory": 50}, 2),
])  # fmt: skip
def test_each_of_what_a_node_has_may_be_short(needs, waves):
    assert spans([job(1, jobs=3, **needs)], NODE, 1) == waves


def test_one_node_takes_the_whole_work_where_a_job_takes_the_whole_node():
    random = Random(7)
    several = [job(random.randint(1, 9), cores=4, jobs=random.randint(1, 5)) for _ in range(8)]
    outcome = simulate(several, NODE, 1)
    assert outcome.makespan == sum(alike.jobs * alike.seconds for alike in several)
    assert outcome.cores == 1
    assert scheduling.bounds(several, NODE, 1).binding == "cores"


def test_shards_that_wait_for_their_own_alone_overlap():
    """A card encodes four in a row, 2 s each; a core searches each as soon as it is there."""
    node = Node(2, 1, 0)
    encoded = job(2, cards=1, jobs=4)
    assert spans([encoded, job(2, jobs=4, beside=(0,))], node, 1) == 4 * 2 + 2
    assert spans([encoded, job(2, 0, jobs=4)], node, 1) == 4 * 2 + 2 * 2


def test_the_share_of_time_that_cores_and_cards_work():
    outcome = simulate([job(6, cores=2, cards=1), job(2, 0, cores=4)], NODE, 1)
    assert outcome.makespan == 8
    assert outcome.cores == pytest.approx((6 * 2 + 2 * 4) / (8 * 4))
    assert outcome.cards == pytest.approx(6 / (8 * 2))


@dataclass
class Single:
    """A job by itself, for a simulation that knows no several."""

    level: float
    alike: int
    needs: tuple[int, ...]
    seconds: float
    before: list[int] = field(default_factory=list)


def levels(several):
    later = [[n for n, b in enumerate(several) if i in b.before] for i in range(len(several))]

    def level(i):
        return several[i].seconds + max(map(level, later[i]), default=0)

    return [level(i) for i in range(len(several))]


def job_by_job(several, node, nodes):
    """Schedule each job by itself: at any time the first in order on the first node with room."""
    ranks, singles, own = levels(several), [], []
    for number, alike in enumerate(several):
        own.append([])
        for place in range(alike.jobs):
            before = [one for earlier in alike.after for one in own[earlier]]
            before += [own[earlier][place] for earlier in alike.beside]
            own[number].append(len(singles))
            needs = (alike.cores, alike.cards, alike.memory)
            singles.append(Single(ranks[number], number, needs, alike.seconds, before))
    free, ends, started, now = [list(node) for _ in range(nodes)], {}, {}, 0.0
    order = sorted(range(len(singles)), key=lambda i: (-singles[i].level, singles[i].alike, i))
    while len(ends) < len(singles):
        for i in order:
            ready = all(ends.get(j, math.inf) <= now for j in singles[i].before)
            if i in started or not ready:
                continue
            for room in free:
                if all(had >= need for had, need in zip(room, singles[i].needs, strict=True)):
                    room[:] = [h - n for h, n in zip(room, singles[i].needs, strict=True)]
                    started[i], ends[i] = room, now + singles[i].seconds
                    break
        now = min(end for end in ends.values() if end > now)
        for i, end in ends.items():
            if end == now:
                needs = singles[i].needs
                started[i][:] = [h + n for h, n in zip(started[i], needs, strict=True)]
    return max(ends.values())


def drawn(seed):
    """Return some several; each waits for earlier ones, or each of its jobs for one's own."""
    random, several = Random(seed), []
    for number in range(random.randint(2, 8)):
        jobs = random.choice([1, 1, 3, 5])
        earlier = random.sample(range(number), random.randint(0, min(2, number)))
        beside = tuple(n for n in earlier if several[n].jobs == jobs > 1)
        after = tuple(n for n in earlier if n not in beside)
        needs = {"cores": random.randint(1, 4), "cards": random.randint(0, 2)}
        needs["memory"] = random.choice([0, 30, 60])
        several.append(job(random.randint(1, 9), *after, jobs=jobs, beside=beside, **needs))
    return several


@pytest.mark.parametrize("seed", range(60))
def test_counts_give_the_schedule_of_job_after_job(seed):
    several, nodes = drawn(seed), 1 + seed % 4
    assert spans(several, NODE, nodes) == job_by_job(several, NODE, nodes)


@pytest.mark.parametrize("seed", range(30))
def test_grahams_bounds_hold(seed):
    """No less than the longest path and the work on each core; no more than both (1969, eq. 2)."""
    several = [alike._replace(cores=1, cards=0, memory=0) for alike in drawn(seed)]
    path = max(levels(several))
    for cores in (1, 2, 5):
        work = sum(alike.jobs * alike.seconds for alike in several) / cores
        made = spans(several, ONE_CORE, cores)
        assert max(path, work) <= made <= work + (1 - 1 / cores) * path + 1e-9
        least = scheduling.bounds(several, ONE_CORE, cores)
        assert (least.path, least.cores) == pytest.approx((path, work))
    assert spans(several, ONE_CORE, 1000) == path


def test_a_job_that_no_node_has_room_for_is_refused():
    with pytest.raises(ResiduumError, match=r"big: .* 5 cores, 0 cards, 1 GB; .* 4 cores, 2 cards"):
        simulate([Alike("big", 5, 0, 1000, 1)], NODE, 3)


def alone(seconds, saves, failures):
    """Return when a job ends on the one node there is, and the seconds that it worked in vain."""
    random, now, lost = np.random.default_rng(failures.seed), 0.0, 0.0
    while (runs := random.exponential(failures.between)) < seconds:
        kept = runs // saves * saves if saves else 0
        seconds, lost, now = seconds - kept, lost + runs - kept, now + runs + failures.repair
    return now + seconds, lost


@pytest.mark.parametrize("saves", [None, 3])
@pytest.mark.parametrize("seed", range(8))
def test_a_killed_job_begins_anew_or_goes_on_from_what_it_saved(seed, saves):
    failures = Failures(20, 5, seed)
    alike = job(30, saves=saves or math.inf)
    outcome = simulate([alike], ONE_CORE, 1, failures)
    assert (outcome.makespan, outcome.lost) == pytest.approx(alone(30, saves, failures))


def test_the_mean_of_a_job_that_begins_anew_is_that_of_the_formula():
    """(M + R) (exp(T / M) - 1), for T seconds of work, failures each M, repairs of R."""
    ends = [
        simulate([job(10)], ONE_CORE, 1, Failures(20, 4, seed)).makespan for seed in range(3000)
    ]
    assert np.mean(ends) == pytest.approx((20 + 4) * (math.exp(10 / 20) - 1), rel=0.05)


def test_other_jobs_go_on_while_a_node_is_away():
    """Two nodes; of 40 jobs of a second those of the failed node run again on the other."""
    fails = {seed: sorted(np.random.default_rng(seed).exponential(25, 2)) for seed in range(100)}
    seed = next(seed for seed, (one, other) in fails.items() if 2 < one < 19 and other > 50)
    failures, first = Failures(25, 1e6, seed), fails[seed][0]
    ended = 2 * math.floor(first)
    outcome = simulate([job(1, jobs=40)], ONE_CORE, 2, failures)
    assert outcome.makespan == pytest.approx(math.floor(first) + 40 - ended)
    assert (outcome.failures, outcome.lost) == (1, pytest.approx(first % 1))


@pytest.mark.parametrize("seed", range(5))
def test_without_a_failure_the_schedule_is_the_plain_one(seed):
    several = drawn(seed)
    assert simulate(several, NODE, 2, Failures(1e12, 1, seed)) == simulate(several, NODE, 2)


def test_a_seed_decides_the_failures():
    several = [job(10, jobs=50, cores=2)]
    one, same, other = (simulate(several, NODE, 3, Failures(60, 5, seed)) for seed in (1, 1, 2))
    assert one == same
    assert one.failures and one.makespan != other.makespan


def test_failures_that_come_faster_than_a_job_ends_are_no_endless_simulation():
    outcome = simulate([job(1000)], ONE_CORE, 2, Failures(10, 1, 1))
    assert math.isinf(outcome.makespan) and outcome.failures > 100


def test_a_million_jobs_alike_are_quick_to_schedule():
    """Each event starts as many as there is room for: waves count, not jobs."""
    several = [job(1, jobs=1_000_000), job(1, jobs=1_000_000, beside=(0,))]
    assert spans(several, NODE, 1000) == 2_000_000 / 4000

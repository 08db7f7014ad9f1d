"""Which jobs a cluster starts together: short ones of one level; no batch waits for itself."""

import graphlib
import random
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from plan_fixture import registry
from residuum.cli.errors import ResiduumError
from residuum.wiring import driver, resources
from residuum.wiring.estimates import Estimate
from residuum.wiring.resources import Batches, Resources

TOY = registry()


class Thing(SimpleNamespace):
    """One that can be a key, as Snakemake's jobs can."""

    __hash__ = object.__hash__


def job(rule, runtime=16, threads=1, gpu=0, mem_mb=4000, **wildcards):
    takes = {"batch": 1, "runtime": runtime, "gpu": gpu, "mem_mb": mem_mb}
    return Thing(rule=Thing(name=rule), resources=takes, threads=threads, wildcards_dict=wildcards)


def test_levels_of_a_small_graph():
    needs = {"corpus": [], "index": ["corpus"], "run": ["index", "queries"], "queries": []}
    needs |= {"metrics": ["run", "queries"]}
    level = resources.levels(["metrics", "run", "corpus", "queries", "index"], needs.__getitem__)
    assert level == {"corpus": 1, "queries": 1, "index": 2, "run": 3, "metrics": 4}


def test_a_chain_of_thousands_is_no_recursion():
    level = resources.levels([5000], lambda n: [n - 1] if n else [])
    assert level[5000] == 5001


@pytest.mark.parametrize("seed", range(20))
def test_however_jobs_of_a_level_are_put_together_no_batch_waits_for_itself(seed):
    draw = random.Random(seed)
    jobs = list(range(60))
    needs = {j: [k for k in jobs if k < j and draw.random() < 0.05] for j in jobs}
    level = resources.levels(jobs, needs.__getitem__)
    batch = {j: (level[j], draw.randrange(3)) for j in jobs}  # three arbitrary parts of a level
    graph = {part: set() for part in batch.values()}
    for j in jobs:
        graph[batch[j]] |= {batch[k] for k in needs[j]}
    list(
        graphlib.TopologicalSorter(graph).static_order()
    )  # a CycleError where one waits for itself


def test_short_jobs_that_take_the_same_go_together():
    assert resources.name(job("evaluate_run"), 4) == resources.name(job("fuse", mem_mb=8000), 4)
    others = [
        resources.name(job("rerank_score", mem_mb=16000), 4),
        resources.name(job("fusion_fuse"), 5),
        resources.name(job("fusion_fuse", threads=8), 4),
        resources.name(job("encode_queries", gpu=1), 4),
    ]
    assert len({resources.name(job("evaluate_run"), 4), *others}) == 5


def test_long_jobs_and_shards_go_alone():
    assert resources.name(job("rm3_tune", runtime=56), 1) is None
    assert resources.name(job("rm3_tune", runtime=55), 1) is not None
    assert resources.name(job("encode_docs", shard="00000"), 1) is None


@pytest.mark.parametrize(("seconds", "alone"), [(600, False), (603, True)])
def test_a_short_job_is_one_of_ten_minutes_by_its_limit_of_time(seconds, alone):
    takes = Resources(TOY).cpu(lambda w: Estimate(core_s=seconds * 2), mem_mb=4000)
    limit = takes["runtime"](None, threads=2, attempt=1)
    assert (resources.name(job("cases_find", runtime=limit, threads=2), 1) is None) == alone


def test_a_job_is_as_long_as_where_it_computes_makes_it():
    """Operations count as a core's where no card is requested; a cluster has none for `auto`."""
    work = Estimate(operations=60e9 * 7200)
    for device, alone in (("cpu", True), ("auto", True), ("cuda", False)):
        config = TOY.config.model_copy(update={"device": device})
        takes = Resources(replace(TOY, config=config)).card(lambda w: work, mem_mb=4000)
        limit = takes["runtime"](None, threads=1, attempt=1)
        assert (resources.name(job("rerank_score", runtime=limit), 1) is None) == alone


def workflow(components, remote=False):
    """Return what Snakemake knows once a graph of two jobs, one after the other, is built."""
    first, second = job("lexical_search", run="bm25"), job("evaluate_run", run="bm25")
    dag = Thing(jobs=[second, first], dependencies={first: {}, second: {first: set()}})
    rules = [Thing(name=name, norun=False) for name in ("lexical_search", "evaluate_run")]
    settings = Thing(group_components=components)
    return Thing(
        rules=rules, dag=dag, group_settings=settings, remote_exec=remote, parent_groupids={}
    )


def test_rules_have_groups_that_the_profiles_batch_stands_for():
    made = workflow({"batch": 20})
    Batches(made).apply()
    groups = [rule.group({"run": "bm25"}) for rule in made.rules]
    assert groups == [f"batch-{level}-1-threads-0-cards-8-gb" for level in (1, 2)]
    assert made.parent_groupids == dict.fromkeys(groups, "batch")


@pytest.mark.parametrize("made", [{}, {"batch": 1}])
def test_no_groups_without_batches(made):
    flow = workflow(made)
    Batches(flow).apply()
    assert [rule.group({"run": "bm25"}) for rule in flow.rules] == [None, None]


def test_the_jobs_of_a_batch_have_no_groups_themselves():
    flow = workflow({"batch": 20}, remote=True)
    Batches(flow).apply()
    assert flow.rules[0].group({"run": "bm25"}) is None


def cluster(jobs, arrays="encode_docs"):
    scheduler = Thing(job_rate_limiter="a hundred a second")
    settings, scopes = Thing(array_jobs=arrays), Thing(is_local=lambda name: name == "batch")
    return Thing(
        executor_settings=settings,
        nodes=jobs,
        scheduler=scheduler,
        local_exec=False,
        global_resources={},
        resource_scopes=scopes,
    )


def test_arrays_are_refused_where_their_tasks_may_not_all_start():
    with pytest.raises(ResiduumError, match=r"with jobs: 50: .*`jobs: unlimited`"):
        driver.check_arrays(cluster(50))
    driver.check_arrays(cluster(50, arrays=None))
    driver.check_arrays(cluster(sys.maxsize))


@pytest.mark.parametrize(("arrays", "limit"), [("encode_docs", None), (None, "a hundred a second")])
def test_with_arrays_all_that_is_ready_starts_at_once(arrays, limit):
    made = cluster(sys.maxsize, arrays)
    driver.calm_scheduler(made)
    assert made.scheduler.job_rate_limiter == limit


def test_a_rule_that_runs_nothing_has_no_group_so_that_it_is_no_job_of_the_cluster():
    flow = workflow({"batch": 20})
    every = Thing(name="all", norun=True, group=None)
    flow.rules.append(every)
    Batches(flow).apply()
    assert every.group is None


def test_arrays_are_refused_with_limits_of_a_resource_that_their_tasks_share():
    made = cluster(sys.maxsize)
    made.global_resources["gpu"] = Thing(value=8)
    with pytest.raises(ResiduumError, match="resources: gpu=8"):
        driver.check_arrays(made)
    made.global_resources = {"batch": Thing(value=1), "_cores": Thing(value=8)}
    driver.check_arrays(made)

"""Which jobs a cluster starts together: short ones of one level; no batch waits for itself."""

import graphlib
import random
import sys
from types import SimpleNamespace

import pytest

from residuum.cli.errors import ResiduumError
from residuum.wiring import batches, driver
from residuum.wiring.batches import Batches


class Thing(SimpleNamespace):
    """One that can be a key, as Snakemake's jobs can."""

    __hash__ = object.__hash__


def job(rule, seconds=3, threads=1, gpu=0, gpu_s=0, mem_mb=4000, **wildcards):
    takes = {"batch": 1, "core_s": seconds, "gpu": gpu, "gpu_s": gpu_s, "mem_mb": mem_mb}
    return Thing(rule=Thing(name=rule), resources=takes, threads=threads, wildcards_dict=wildcards)


def test_levels_of_a_small_graph():
    needs = {"corpus": [], "index": ["corpus"], "run": ["index", "queries"], "queries": []}
    needs |= {"metrics": ["run", "queries"]}
    level = batches.levels(["metrics", "run", "corpus", "queries", "index"], needs.__getitem__)
    assert level == {"corpus": 1, "queries": 1, "index": 2, "run": 3, "metrics": 4}


def test_a_chain_of_thousands_is_no_recursion():
    level = batches.levels([5000], lambda n: [n - 1] if n else [])
    assert level[5000] == 5001


@pytest.mark.parametrize("seed", range(20))
def test_however_jobs_of_a_level_are_put_together_no_batch_waits_for_itself(seed):
    draw = random.Random(seed)
    jobs = list(range(60))
    needs = {j: [k for k in jobs if k < j and draw.random() < 0.05] for j in jobs}
    level = batches.levels(jobs, needs.__getitem__)
    batch = {j: (level[j], draw.randrange(3)) for j in jobs}  # three arbitrary parts of a level
    graph = {part: set() for part in batch.values()}
    for j in jobs:
        graph[batch[j]] |= {batch[k] for k in needs[j]}
    list(
        graphlib.TopologicalSorter(graph).static_order()
    )  # a CycleError where one waits for itself


def test_short_jobs_that_take_the_same_go_together():
    assert batches.name(job("evaluate_run"), 4) == batches.name(job("fuse", mem_mb=8000), 4)
    others = [
        batches.name(job("rerank_score", mem_mb=16000), 4),
        batches.name(job("fusion_fuse"), 5),
        batches.name(job("fusion_fuse", threads=8), 4),
        batches.name(job("encode_queries", gpu=1), 4),
    ]
    assert len({batches.name(job("evaluate_run"), 4), *others}) == 5


def test_long_jobs_and_shards_go_alone():
    assert batches.name(job("rm3_tune", seconds=601), 1) is None
    assert batches.name(job("rm3_tune", seconds=601, threads=2), 1) is not None
    assert batches.name(job("train_train", gpu=1, gpu_s=3600), 1) is None
    assert batches.name(job("encode_docs", shard="00000"), 1) is None
    every = Thing(resources={}, threads=1, wildcards_dict={})
    assert batches.name(every, 9) is None, "the rule all runs nothing"


def workflow(components, remote=False):
    """Return what Snakemake knows once a graph of two jobs, one after the other, is built."""
    first, second = job("lexical_search", run="bm25"), job("evaluate_run", run="bm25")
    dag = Thing(jobs=[second, first], dependencies={first: {}, second: {first: set()}})
    rules = [Thing(name="lexical_search"), Thing(name="evaluate_run")]
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
    settings = Thing(array_jobs=arrays)
    return Thing(executor_settings=settings, nodes=jobs, scheduler=scheduler, local_exec=False)


def test_arrays_are_refused_where_their_tasks_may_not_all_start():
    with pytest.raises(ResiduumError, match=r"jobs: 50.*`jobs: unlimited`"):
        driver.check_arrays(cluster(50))
    driver.check_arrays(cluster(50, arrays=None))
    driver.check_arrays(cluster(sys.maxsize))


@pytest.mark.parametrize(("arrays", "limit"), [("encode_docs", None), (None, "a hundred a second")])
def test_with_arrays_all_that_is_ready_starts_at_once(arrays, limit):
    made = cluster(sys.maxsize, arrays)
    driver.calm_scheduler(made)
    assert made.scheduler.job_rate_limiter == limit

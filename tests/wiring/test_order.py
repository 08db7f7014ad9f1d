"""Which jobs go first, in a run of Snakemake's own and in graphs drawn by hand."""

import subprocess
import sys
from types import SimpleNamespace

from residuum.wiring.order import SHORT, Order

# By itself Snakemake would train the model of `late` first, because its input is the larger one.
SNAKEFILE = """
from residuum.wiring.order import Order

rule all:
    input: "late.md", "early.md"

rule page:
    input: "{name}.model"
    output: "{name}.md"
    shell: "echo page {wildcards.name} >> order; touch {output}"

rule train:
    input: "start", "{name}.data"
    output: "{name}.model"
    shell: "echo train {wildcards.name} >> order; touch {output}"

rule begin:
    output: "start"
    shell: "echo begin >> order; touch {output}"

Order(workflow, lambda: [["early.md"], ["late.md", "never.md"]], lambda job: 0.0).apply()
"""


def test_all_that_the_first_page_needs_runs_before_what_the_next_one_needs(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "early.data").write_text("x")
    (tmp_path / "late.data").write_text("x" * 1000)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--scheduler", "greedy"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    order = (tmp_path / "order").read_text().splitlines()
    assert order == ["begin", "train early", "page early", "train late", "page late"]


def order_of(graph, pages, cores, cards=None, waiting=None):
    """Return the jobs of a graph as they would start, were they all ready.

    `graph` has by job: the jobs that it needs, its seconds beside SHORT, and the cards it takes.
    `pages` are given by paper.
    """
    jobs = {}
    for name, (_, seconds, *taken) in graph.items():
        rule = SimpleNamespace(name=name, priority=0, expand_priority=None)
        resources = {"gpu": taken[0]} if taken else {}
        jobs[name] = SimpleJob(rule=rule, output=[f"{name}.md"], wildcards_dict={"name": name},
                               threads=1, resources=resources, seconds=seconds - SHORT)  # fmt: skip
    needs = {jobs[name]: {jobs[n]: set() for n in needs} for name, (needs, *_) in graph.items()}
    left = [jobs[name] for name in (graph if waiting is None else waiting)]
    limits = {"_cores": SimpleNamespace(value=cores), "gpu": SimpleNamespace(value=cards)}
    dag = SimpleNamespace(dependencies=needs, needrun_jobs=lambda: iter(left))
    rules = [job.rule for job in jobs.values()]
    workflow = SimpleNamespace(rules=rules, dag=dag, global_resources=limits)
    papers = [[f"{page}.md" for page in paper] for paper in pages]
    Order(workflow, lambda: papers, lambda job: job.seconds).apply()
    by_priority = {job.rule.name: job.rule.priority(job.wildcards_dict) for job in left}
    assert len({*by_priority.values()}) == len(left)  # no two jobs are left to chance
    return sorted(by_priority, key=by_priority.get, reverse=True)


class SimpleJob(SimpleNamespace):
    """A job that can be a key, as Snakemake's can."""

    __hash__ = object.__hash__


def test_within_a_page_the_job_with_the_longest_chain_behind_it_goes_first():
    graph = {
        "short": ([], 5),
        "start": ([], 3),
        "long": (["start"], 10),
        "page": (["short", "long"], 1),
    }
    assert order_of(graph, [["page"]], cores=1) == ["start", "long", "short", "page"]


LATE = {  # eight seconds of one page, and a chain of twelve seconds of another
    **{f"early{number}": ([], 2) for number in range(4)},
    "early": ([f"early{number}" for number in range(4)], 2),
    "first": ([], 5),
    "second": (["first"], 5),
    "late": (["second"], 2),
}


def test_a_long_chain_of_a_late_page_starts_in_time_to_end_with_all_other_work():
    """Two cores could do the 22 seconds in 11, but no sooner than the chain's 12 are over."""
    order = order_of(LATE, [["early"], ["late"]], cores=2)
    assert {*order[:2]} == {"early0", "first"}
    assert order.index("second") < order.index("early")


def test_a_long_chain_of_a_papers_last_page_ends_with_the_paper_and_not_with_the_next_one():
    """Two cores do the first paper's 22 seconds, and its chain of 12, before the second's 20."""
    graph = {**LATE, **{f"next{number}": ([], 5) for number in range(4)}}
    graph["next"] = ([f"next{number}" for number in range(4)], 1)
    order = order_of(graph, [["early", "late"], ["next"]], cores=2)
    assert {*order[:2]} == {"early0", "first"} and order.index("second") < order.index("early")
    assert {*order[:7]} == {*LATE} - {"late"}, "the other core is free when `late` begins"
    apart = order_of(graph, [["early"], ["late", "next"]], cores=2)
    assert apart.index("early") < apart.index("second")


def test_one_core_does_the_pages_in_their_order():
    """One core takes 22 seconds whatever it does first, so the early page need not wait."""
    early = ["early0", "early1", "early2", "early3", "early"]
    assert order_of(LATE, [["early"], ["late"]], cores=1) == [*early, "first", "second", "late"]


def test_cards_set_the_pace_where_they_are_fewer_than_cores():
    """Sixteen cores wait for one card: it takes ten seconds for each page, in their order."""
    graph = {
        "a": ([], 5, 1),
        "b": ([], 5, 1),
        "early": (["a", "b"], 1),
        "c": ([], 5, 1),
        "d": (["c"], 5, 1),
        "late": (["d"], 1),
    }
    on_a_card = [
        job for job in order_of(graph, [["early"], ["late"]], 16, cards=1) if job in "abcd"
    ]
    assert on_a_card == ["a", "b", "c", "d"]


def test_what_stands_already_counts_for_nothing():
    """Two cores need 8.5 seconds for the 17 that are left, of which the chain takes 7."""
    left = ["early0", "early1", "early2", "early3", "early", "second", "late"]
    order = order_of(LATE, [["early"], ["late"]], cores=2, waiting=left)
    assert order[:3] == ["early0", "early1", "second"]


def test_a_cluster_without_a_limit_has_its_jobs_by_page():
    order = order_of(LATE, [["early"], ["late"]], cores=None)
    assert order.index("early") < order.index("late")


def test_a_snakemake_whose_priorities_are_numbers_alone_is_left_alone():
    rule = SimpleNamespace(name="page", priority=0)
    Order(SimpleNamespace(rules=[rule]), list, lambda job: 0.0).apply()
    assert rule.priority == 0

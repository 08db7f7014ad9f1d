"""What the jobs of a plan are to a scheduler, and the page of a simulated schedule."""

import math
import re
from collections import Counter
from dataclasses import replace
from typing import get_args, get_type_hints

import pytest

from plan_fixture import registry
from residuum.__main__ import plan
from residuum.cli.errors import ResiduumError
from residuum.inspect import scheduling, simulated
from residuum.inspect.dryrun import Job
from residuum.inspect.scheduling import Alike, Node
from residuum.inspect.simulated import Cluster

TOY = registry()
SHARDS = {"shards": 4, "mem_mb": 5000}
ENCODE = Job("encode_docs", {"model": "dual"}, ["c", "m"], ["e"], 8, Counter(gpu_s=30, **SHARDS))
SEARCH = Job("dense_search", {"model": "dual"}, ["e", "q"], ["h"], 2, Counter(core_s=80, **SHARDS))
GATHER = Job("dense_gather", {"run": "vectors.seed1"}, ["h"], ["r"], 1, Counter(core_s=7200))


def test_a_shard_waits_for_its_own_and_what_gathers_them_for_all():
    encode, search, gather = simulated.scheduled(TOY, [ENCODE, SEARCH, GATHER])
    assert encode == Alike("encode_docs dual", 8, 1, 5000, 30, 4)
    assert search == Alike("dense_search dual", 2, 0, 5000, 40, 4, (), (0,))
    assert gather == Alike("dense_gather vectors.seed1", 1, 0, 0, 7200, 1, (1,), ())


def test_a_training_holds_the_cards_that_its_rule_asks_for_and_saves_its_state():
    """In 90 seconds no state is saved before the end."""
    takes = Counter(gpu=2, gpu_s=90)
    job = Job("train_train", {"model": "dual", "seed": "1"}, [], ["m"], 2, takes)
    [alike] = simulated.scheduled(TOY, [job])
    assert (alike.cards, alike.saves) == (2, 90)


def test_a_long_training_saves_every_five_minutes():
    job = Job("train_train", {"model": "dual", "seed": "1"}, [], ["m"], 2, Counter(gpu_s=9000))
    assert simulated.scheduled(TOY, [job])[0].saves == 300


def test_what_is_made_in_parts_loses_one_at_most():
    rules = {"rerank_score": 600, "termweights_predict": 600, "lexical_index": math.inf}
    jobs = [Job(rule, {}, [], [rule], 1, Counter()) for rule in rules]
    assert [alike.saves for alike in simulated.scheduled(TOY, jobs)] == [*rules.values()]


def test_a_longer_job_is_cut_into_equal_ones():
    _, search, gather = simulated.scheduled(TOY, [ENCODE, SEARCH, GATHER], cut=0.75)
    assert (gather.jobs, gather.seconds) == (3, 2400)
    assert (search.jobs, search.beside) == (4, (0,))
    both = simulated.scheduled(TOY, [ENCODE, SEARCH, GATHER], cut=30 / 3600)
    assert (both[1].jobs, both[1].seconds) == (8, 20)
    assert (both[1].after, both[1].beside) == ((0,), ()), "parts of a shard wait for all"


def test_shards_that_are_cut_are_waited_for_by_all_that_are_not():
    """Two hours of encoding each, in two parts; searches of half an hour, whole."""
    encode = ENCODE._replace(resources=Counter(gpu_s=7200, shards=4))
    search = SEARCH._replace(resources=Counter(core_s=3600, shards=4))
    made = simulated.scheduled(TOY, [encode, search], cut=1)
    assert [alike.jobs for alike in made] == [8, 4]
    assert (made[1].after, made[1].beside) == ((0,), ())
    [span] = [scheduling.simulate(made, Node(10, 1, 9000), 1).makespan]
    assert span == 8.5 * 3600, "8 hours of the one card, and the searches, five at once"


def test_without_cards_operations_are_those_of_cores():
    config = TOY.config.model_copy(update={"device": "cpu"})
    job = ENCODE._replace(resources=Counter(gpu_s=30, gflop=60 * 7200, core_s=800))
    [alike] = simulated.scheduled(replace(TOY, config=config), [job])
    assert (alike.cards, alike.seconds) == (0, (7200 + 800) / 8)


def test_a_job_that_no_node_has_room_for_is_told_in_place_of_the_table():
    lines = [*simulated.page(TOY, [ENCODE], Cluster([1], Node(8, 0, 9000)))]
    said = lines[-1].replace("\n  ", " ")
    start = "not simulated: encode_docs dual: a job takes 8 cores, 1 card, 5 GB; a node has 8 cores"
    assert said.startswith(start) and "Without cards: `device: cpu` in config/config.yaml" in said
    *_, small = simulated.page(TOY, [ENCODE], Cluster([1], Node(4, 1, 9000)))
    assert "Without cards" not in small


@pytest.mark.parametrize(("text", "node"), [
    ("32 cores, 4 cards, 256 GB", Node(32, 4, 256_000)),
    ("1 core, 1 card, 1.5 GB", Node(1, 1, 1500)),
    ("96 cores, 0 cards, 768 GB", Node(96, 0, 768_000)),
])  # fmt: skip
def test_a_node_is_told_in_words(text, node):
    assert simulated.node_of(text) == node


@pytest.mark.parametrize(
    "text", ["", "32,4,256", "0 cores, 4 cards, 256 GB", "4 cards, 32 cores, 1 GB"]
)
def test_other_words_are_refused_with_an_example(text):
    with pytest.raises(
        ResiduumError, match=rf"^--node '{text}': write .*'32 cores, 4 cards, 256 GB'"
    ):
        simulated.node_of(text)


def test_the_command_says_what_cluster_it_takes_for_granted():
    options = get_type_hints(plan, include_extras=True)
    helps = {name: get_args(kind)[1].help for name, kind in options.items() if get_args(kind)[1:]}
    assert f"default: '{Cluster().node}'" in helps["node"]
    assert f"default: {Cluster().days:g}" in helps["days_between_failures"]
    assert f"default: {Cluster().repair:g}" in helps["repair_hours"]


def test_options_say_what_a_cluster_is():
    given = {"days": 5.0, "repair": None, "cut": 2.0}
    made = simulated.cluster_of([3], "1 core, 0 cards, 8 GB", given, sized=False)
    assert made == Cluster([3], Node(1, 0, 8000), 5.0, Cluster().repair, 2.0)
    assert simulated.cluster_of([], None, dict.fromkeys(given), sized=False) == Cluster([])


def test_options_without_numbers_of_nodes_are_refused_where_nothing_comes_of_them():
    none, node = dict.fromkeys(simulated.OPTIONS), "1 core, 0 cards, 8 GB"
    for name, option in simulated.OPTIONS.items():
        with pytest.raises(ResiduumError, match=f"^{option}: only with --nodes"):
            simulated.cluster_of([], None, {**none, name: 1.0}, sized=True)
    with pytest.raises(ResiduumError, match=r"^--node: only with --nodes"):
        simulated.cluster_of([], node, none, sized=False)
    limited = simulated.cluster_of([], node, none, sized=True)
    assert limited.node.memory == 8000, "which a job of other sizes may exceed"


def test_the_page_has_a_row_for_each_number_of_nodes_and_the_longest_path():
    """Four encodings of an hour in a row on the one card, searches of two hours beside them."""
    encode = ENCODE._replace(resources=Counter(gpu_s=3600, shards=4))
    search = SEARCH._replace(resources=Counter(core_s=4 * 3600, shards=4))
    cluster = Cluster([1, 4], Node(10, 1, 9000), days=10**9)
    lines = list(simulated.page(TOY, [encode, search, GATHER], cluster))
    text = "\n".join(lines)
    assert "nodes of 10 cores, 1 card, 9 GB, hours (9 jobs)" in text
    one, four = (re.split(r" *\| *", row)[1:-1] for row in re.findall(r"\| [14] .*", text))
    # Path: 1 + 2 + 2. Cores: 4 * 8 + 4 * 2 * 2 + 2 = 50 core hours. Cards: 4.
    assert one[1:5] == ["5.0", "5.0", "4.0", "0.0"]
    assert one[6:9] == ["8.0", "8.0 (8.0 to 8.0)", "0"], "4 + 2 + 2"
    assert one[10:] == [f"{50 / 80:.0%}", "50%"]
    assert four[1:8] == ["5.0", "1.2", "1.0", "0.0", "path", "5.0", "5.0 (5.0 to 5.0)"]
    path = text.partition("longest path takes 5.0 hours")[2].partition("takes for granted")[0]
    assert re.findall(r"\| (\w+ [\w.]+) +\| ([\d.]+)", path) == [
        ("encode_docs dual", "1.0"), ("dense_search dual", "2.0"),
        ("dense_gather vectors.seed1", "2.0"),
    ]  # fmt: skip

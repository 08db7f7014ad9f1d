"""Limits of plans of other sizes, on two plans of a few jobs, by hand."""

import subprocess
import sys
from collections import Counter

import pytest

from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.inspect import limits, planning
from residuum.inspect.dryrun import Job

DOCS = {"toy": 4_000_000_000}


def made(rule, path, *inputs, dataset="toy", threads=1, **takes):
    return Job(rule, {"dataset": dataset}, [*inputs], [path], threads, Counter(takes))


def plans(*pairs):
    """Return the jobs of both plans: each as planned, and what it takes at half the docs."""
    planned = [job for job, _ in pairs]
    return planned, [job._replace(resources=Counter(half)) for job, half in pairs]


def rows_of(*pairs, memory=64_000):
    rows = limits.rows(DOCS, *plans(*pairs), memory)
    return {(row[0], row[1]): row[2:] for row in rows}


def test_an_index_holds_no_more_docs_than_lucene_numbers():
    rows = rows_of((made("lexical_index", "i"), {}))
    name = "docs of an index", "toy"
    assert rows[name] == ["2,147,483,519", "4,000,000,000", "1.9", "2.15 G"]
    assert name not in rows_of((made("lexical_index", "i", dataset="other"), {}))


def test_a_job_that_grows_with_the_docs_passes_a_week_between():
    """336 hours with two threads, 176 at half the docs, so 16 at none: 168 at 1.9 G docs."""
    search = made("lexical_search", "r", threads=2, core_s=2 * 336 * 3600)
    rows = rows_of((search, {"core_s": 2 * 176 * 3600}))
    assert rows["hours of a job", "lexical_search"] == ["168", "336", "2", "1.9 G"]


def test_a_job_that_does_not_grow_is_shown_if_it_is_too_long_and_has_no_docs_to_bear():
    training, tuned = {"gpu_s": 200 * 3600}, {"gpu_s": 100 * 3600}
    pairs = [(made("train_train", "m", **training), training), (made("rank", "t", **tuned), tuned)]
    rows = rows_of(*pairs)
    assert rows["hours of a job", "train_train"] == ["168", "200", "1.2", "no size"]
    assert next(iter(rows)) == ("hours of a job", "train_train"), "what breaks at every size, first"
    assert ("hours of a job", "rank") not in rows


def test_the_largest_job_of_a_rule_counts():
    pairs = [(made("a", "x", core_s=3600 * h), {"core_s": 1800 * h}) for h in (10, 500, 20)]
    pairs = [(job._replace(outputs=[str(n)]), half) for n, (job, half) in enumerate(pairs)]
    assert rows_of(*pairs)["hours of a job", "a"][1] == "500"


def test_memory_is_that_of_a_node():
    pair = made("a", "x", mem_mb=96_000), {"mem_mb": 50_000}
    assert rows_of(pair)["memory of a job", "a"] == ["64 GB", "96 GB", "1.5", "2.61 G"]
    assert rows_of(pair, memory=128_000)["memory of a job", "a"][3] == "5.39 G"


def test_jobs_shards_and_arguments_are_those_that_a_job_stands_for():
    """`--hits results/toy/hits/a/shard-0` are two words, an end behind and a pointer to each."""
    folder = "results/toy/hits/a/shard-0"
    shards = made("dense_search", f"{folder}/manifest.json", shards=30_000)
    others = made("dense_gather", "run", f"{folder}/manifest.json", "queries.tsv")
    rows = rows_of((shards, {"shards": 15_000}), (others, {}))
    assert rows["jobs of a graph", "all"] == ["20,000", "30,001", "1.5", "2.67 G"]
    assert rows["shards of a corpus", "dense_search"] == ["100,000", "30,000", "0.3", "13.3 G"]
    size = 30_000 * (len("--hits") + len(folder) + 2 * (1 + 8))
    assert size == 1_500_000
    cells = rows["arguments of a command", "dense_gather"]
    assert cells == ["2.1 MB", "1.5 MB", "0.72", f"{4 * 2 * 2**20 / size:.3g} G"]


# What is checked is the number that a plan prints, of Linux, which clusters run: another system has
# another one, on which neither the plan nor this test depends.
@pytest.mark.skipif(sys.platform != "linux", reason="the limit that a plan prints is Linux's")
def test_linux_takes_as_many_arguments_as_counted():
    """Of a stack of 8 MiB, tried with as many folders as the limit bears, and with a tenth more."""
    folder = "results/full/hits/msmarco-passage/clear/seed1/top1000/shard-00000"
    made_by = made("dense_search", f"{folder}/manifest.json", shards=1)
    one = limits.argument_bytes(made_by._replace(inputs=made_by.outputs), {made_by.outputs[0]: 1})
    borne = int(limits.ARGUMENTS / one)
    stack = "import resource; resource.setrlimit(resource.RLIMIT_STACK, (2**23, 2**23))"
    run = "import os, sys; os.execve('/bin/true', ['true', *['--hits', {0!r}] * {1}], {{}})"
    for count, status in [(int(0.99 * borne), 0), (int(1.1 * borne), 1)]:
        code = f"{stack}; {run.format(folder, count)}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert done.returncode == status, done.stderr


def test_the_first_to_break_stands_first():
    pairs = [
        (made(rule, rule, core_s=3600 * hours), {"core_s": 1800 * hours})
        for rule, hours in [("later", 200), ("first", 4000), ("far", 10)]
    ]
    rows = limits.rows(DOCS, *plans(*pairs), 64_000)
    assert [row[1] for row in rows] == ["first", "later"], "far breaks at 16.8 times the docs"


@pytest.mark.parametrize(("text", "docs"), [
    ("nfcorpus=1e9", 10**9), ("nfcorpus=138_364_198", 138_364_198), ("nfcorpus=1,000", 1000),
    ("nfcorpus=7", 7),
])  # fmt: skip
def test_sizes_are_read_as_people_write_them(text, docs):
    assert planning.sizes_of([text], ROOT / "config", None) == {"nfcorpus": docs}


def test_an_option_goes_over_config_yaml():
    base = {"nfcorpus": 5, "cacm": 6}
    assert planning.sizes_of(["cacm=9"], ROOT / "config", base) == {"nfcorpus": 5, "cacm": 9}


@pytest.mark.parametrize("number", ["", "many", "0", "-5", "1.5", "1e30", "nan", "inf"])
def test_what_is_no_number_of_docs_is_refused(number):
    with pytest.raises(ResiduumError) as caught:
        planning.sizes_of([f"nfcorpus={number}"], ROOT / "config", None)
    text = str(caught.value)
    assert text.startswith(f"--docs nfcorpus={number}: '{number}' is no number of docs")
    assert "nfcorpus=1e9" in text


def test_docs_of_what_no_job_uses_are_refused():
    planning.refuse_unused({"toy": 9}, ["toy", "", "toy"])
    with pytest.raises(ResiduumError, match=r"^docs of cacm: no planned job .* use toy\. "):
        planning.refuse_unused({"toy": 9, "cacm": 9}, ["toy", ""])


def test_a_dataset_without_a_number_or_with_two_is_refused():
    with pytest.raises(ResiduumError, match=r"^--docs cacm: write DATASET=DOCS, as cacm=1e9"):
        planning.sizes_of(["cacm"], ROOT / "config", None)
    with pytest.raises(ResiduumError, match=r"^--docs cacm=9: cacm is given twice"):
        planning.sizes_of(["cacm=8", "cacm=9"], ROOT / "config", None)


def test_an_unknown_dataset_is_refused_with_the_known_ones():
    with pytest.raises(
        ResiduumError, match=r"^--docs nfcorpis=9: no dataset 'nfcorpis'; known: nfcorpus, .*others"
    ) as caught:
        planning.sizes_of(["nfcorpis=9"], ROOT / "config", None)
    assert "Did you mean nfcorpus?" in str(caught.value)

"""Times of searches: what the clock counts, by a clock of known steps; pages, errors, charts."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import residuum as rs
from residuum.artefacts import times, trec
from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.inspect import searching, timing
from residuum.inspect.searching import Answer, Sample, Watch
from residuum.inspect.timing import Timed, Times
from residuum.site import charts, folder
from results_fixture import build


class Clock:
    """A clock that stands still but for what the work adds."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(searching, "time", made)
    return made


@pytest.fixture
def results(tmp_path):
    return build(tmp_path / "results" / "toy")


def lists(*queries):
    rows = [(query, f"d{number}", 3.0 - number) for query in queries for number in range(3)]
    return trec.rank(pl.DataFrame(rows, trec.HITS, orient="row"))


def test_the_clock_counts_repeats_alone_and_no_batch_in_the_making(clock, tmp_path):
    """The first pass takes 100 s and is not counted; then a batch takes 1, 2, 3 s a query."""
    watch = Watch(tmp_path, {}, ["a", "b", "c", "d"], Sample(at_once=3, repeats=3))
    passes = dict[tuple, int]()

    def batches():
        for batch in watch._batches("abcdx"):
            clock.now += 1000
            yield batch

    def work(batch):
        passes[tuple(batch)] = passes.get(tuple(batch), -1) + 1
        clock.now += len(batch) * (passes[tuple(batch)] or 100)
        return lists(*batch)

    made, seconds = watch._clocked(batches(), work)
    assert passes == {("a", "b", "c"): 3, ("d",): 3}, "x is not asked for"
    assert seconds.tolist() == [1, 2, 3], "seconds of a query in each repeat"
    assert pl.concat(made).equals(lists("a", "b", "c", "d"))


def test_what_two_parts_share_counts_once_and_phases_add_up():
    """A fusion of BM25 and of a fusion that has BM25 as a part searches by BM25 once."""
    bm25 = Answer(lists("a"), {("search", "runs/bm25"): np.array([1.0, 2.0])})
    dense = Answer(lists("a"), {("search", "hits/dense"): np.array([4.0, 8.0])})
    inner, outer = (SimpleNamespace(below=f"runs/{name}") for name in ("inner", "outer"))
    both = Answer(lists("a"), searching._joined(inner, np.array([16.0, 32.0]), [bm25, dense]))
    whole = Answer(lists("a"), searching._joined(outer, np.array([64.0, 128.0]), [bm25, both]))
    assert {phase: took.tolist() for phase, took in whole.phases().items()} == {
        "search": [5.0, 10.0], "fuse": [80.0, 160.0],
    }  # fmt: skip


SAMPLE = Sample(queries=12, at_once=4, repeats=3, threads=2)


def times_of(*made):
    return Times("toy/table1", "rr", "dev RR@10", made, SAMPLE, "a machine", ["Remark."])


def test_a_page_has_the_medians_of_sums_and_the_phases():
    """All phases of a repeat are added before the median is taken: 11, 7, 9 ms have 9."""
    phases = {"search": np.array([10.0, 2.0, 5.0]), "fuse": np.array([1.0, 5.0, 4.0])}
    alone = Timed("bm25", "BM25", 0.25, {"search": np.array([2.0, 123.4, 3.0])})
    made = times_of(Timed("both", "Both", 0.5, phases), alone)
    lines = made.table().rows_by_key("row", named=True, unique=True)
    assert (lines["both"]["ms"], lines["both"]["least_ms"], lines["both"]["most_ms"]) == (9, 7, 11)
    assert (lines["both"]["search_ms"], lines["both"]["fuse_ms"]) == (5, 4)
    assert lines["bm25"]["ms"] == 3 and lines["bm25"]["fuse_ms"] == 0
    how = [lines["bm25"][name] for name in ("queries", "at_once", "repeats", "threads", "machine")]
    assert how == [12, 4, 3, 2, "a machine"]
    page = made.layout()
    assert page.header == ["System", "dev RR@10", "ms a query", "least to most", "search", "fuse"]
    assert [cell.text for cell in page.rows[1]] == ["BM25", "0.2500", "3", "2 to 123", "3", ""]
    (plot,) = made.plots()
    (ax,) = timing.drawing.figure_of([plot]).axes
    points = [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines]
    assert points == [(9, 0.5), (3, 0.25)]


def test_only_the_vectors_of_some_texts_are_taken():
    dense = (["a", "a", "b", "c"], np.arange(8.0).reshape(4, 2))
    ids, rows = searching._only(dense, {"a", "c"})
    assert ids == ["a", "a", "c"] and rows.tolist() == [[0, 1], [2, 3], [6, 7]]
    from scipy import sparse

    terms = TermVectors(["a", "b"], ["x", "y"], sparse.csr_array(np.array([[1.0, 0], [0, 2.0]])))
    some = searching._only(terms, {"b"})
    assert some.ids == ["b"] and some.rows.toarray().tolist() == [[0.0, 2.0]]


def test_a_search_that_gives_other_docs_than_the_run_is_seen(tmp_path):
    run = tmp_path / "run.trec.gz"
    trec.write_run(run, lists("a", "b", "c"), "run")
    assert timing._other_docs(run, lists("a", "b"), "ab") == 0
    other = lists("b").with_columns(pl.col("doc_id").reverse())
    assert timing._other_docs(run, pl.concat([lists("a"), other, lists("x")]), "abx") == 2
    assert timing._other_docs(run, lists("a"), "ab") == 1, "a query that lost its list"


@pytest.mark.parametrize(
    ("page", "column", "fault"),
    [
        ("toy/table9", None, "no page 'toy/table9'; known: toy/table1"),
        ("toy/table1", "ndcg", "no column of one search 'ndcg'"),
        ("toy/table1", None, r"no system was timed: \S+ was made by no command \(Base"),
    ],
)
def test_what_cannot_be_timed_is_said(results, page, column, fault):
    """The runs of this folder were made by no stage."""
    with pytest.raises(ResiduumError, match=fault):
        rs.time(results, page, column=column)


@pytest.mark.parametrize("name", ["queries", "at_once", "repeats", "threads"])
def test_numbers_below_one_are_refused(results, name):
    with pytest.raises(ResiduumError, match=f"{name}: 0 is below 1"):
        rs.time(results, "toy/table1", **{name: 0})


def watch_of(tmp_path, **commands):
    """Return a watch of artefacts that are made by commands: path below results, and command."""
    made = {
        path: SimpleNamespace(
            module=command.split()[0], environment={"command": f"python -m {command}"}
        )
        for path, command in commands.items()
    }
    return Watch(tmp_path, SimpleNamespace(manifest=made.__getitem__), ["a"], Sample())


DENSE = """residuum.dense gather --hits r/hits/one --split dev --output r/x --spec \
'{"kind": "dense", "model": "m", "k": 5}'"""


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("residuum.external accept --output r/x", "a run of residuum.external cannot be timed"),
        (DENSE, "hits: no hits of dev"),
    ],
)
def test_a_run_that_cannot_be_made_anew_says_why(tmp_path, command, fault):
    with pytest.raises(ResiduumError, match=fault):
        watch_of(tmp_path, x=command).answer(tmp_path / "x")


def test_a_card_that_searches_is_named_once(tmp_path, monkeypatch):
    monkeypatch.setattr("residuum.neural.devices.name_of_card", lambda: "a card")
    watch = watch_of(tmp_path)
    for device in ("cuda", "cpu", "cuda"):
        watch._note(device)
    assert [*watch.cards] == ["a card"]


def test_an_environment_without_what_searches_need_is_told_where_to_run(results, monkeypatch):
    def lacking(*_):
        raise ModuleNotFoundError(name="faiss")

    monkeypatch.setattr(Watch, "answer", lacking)
    where = "Run the command where Snakemake runs the jobs"
    with pytest.raises(ResiduumError, match=f"searches need faiss, which is not here. {where}"):
        rs.time(results, "toy/table1")


def test_the_report_shows_the_times_that_were_kept_until_the_table_changes(results):
    path = results / "timings" / "systems" / "toy-table1.tsv"
    read = folder.read(results)
    (sheet,) = [one for one in read.sheets if one.name == "toy-table1"]
    values = {one.line.row: one.line.measured for one in sheet.cells if one.line.column == "rr"}
    base = Timed("base", "Base", values["base"], {"search": np.array([2.0])})
    phases = {"search": np.array([2.0]), "fuse": np.array([1.0])}
    times.write(path, times_of(base, Timed("ours", "Ours", values["ours"], phases)).table())
    chart = charts.charts(read, sheet)[-1]
    assert chart["title"] == "dev RR@10 by time"
    assert chart["x"]["label"] == "ms a query"
    points = {one["label"]: one["points"] for one in chart["series"]}
    assert points == {
        "Base": [{"x": 2.0, "y": values["base"]}], "Ours": [{"x": 3.0, "y": values["ours"]}],
    }  # fmt: skip
    times.write(path, times_of(base._replace(value=0.9)).table())
    assert not [one for one in charts.charts(read, sheet) if "by time" in one["title"]]


@pytest.mark.parametrize(
    ("old", "new"), [("header\t", ""), ("\t2.0\t", "\tmany\t"), ("\t2.0\t", "\tnan\t")]
)
def test_a_file_of_times_that_does_not_fit_is_named(tmp_path, old, new):
    path = tmp_path / "toy-table1.tsv"
    made = Timed("base", "Base", 0.25, {"search": np.array([2.0])})
    times.write(path, times_of(made).table())
    assert times.read(path)["ms"].to_list() == [2.0]
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ResiduumError, match=r"toy-table1\.tsv"):
        times.read(path)

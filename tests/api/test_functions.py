"""Python's door: what it takes, and that it gives what the commands print and write."""

import json
import random
import re
import shutil

import ir_measures
import pandas as pd
import polars as pl
import pytest

import residuum as rs
from commands import printed_by
from conftest import ROOT
from residuum import evaluate, fusion, rrf
from residuum.__main__ import app
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.inspect import explaining
from results_fixture import build

QUERIES = [f"q{number:02d}" for number in range(30)]
DOCS = [f"d{number}" for number in range(20)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return paths of qrels and of two runs, whose scores are whole numbers, and what they hold."""
    draw, folder = random.Random(3), tmp_path_factory.mktemp("api")
    judged = {q: {d: draw.choice([0, 1, 2]) for d in draw.sample(DOCS, 6)} for q in QUERIES}
    runs = {
        name: {q: dict(zip(draw.sample(DOCS, 12), range(12, 0, -1), strict=True)) for q in QUERIES}
        for name in ("one", "two", "three")
    }
    qrels = [(q, d, level) for q, docs in judged.items() for d, level in docs.items()]
    trec.write_qrels(folder / "qrels.trec", qrels)
    paths = {name: folder / f"{name}.trec.gz" for name in runs}
    for name, lists in runs.items():
        rows = [(q, d, float(score)) for q, docs in lists.items() for d, score in docs.items()]
        table = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
        trec.write_run(paths[name], trec.rank(table), name)
    return folder / "qrels.trec", paths, judged, runs


class Named:
    """What ranx's Qrels and Run have: `to_dict` and `name`."""

    def __init__(self, lists, name=None):
        self.lists, self.name = lists, name

    def to_dict(self):
        return self.lists


def forms(made):
    """Yield qrels and runs in each form."""
    qrels, paths, judged, runs = made
    yield "paths", qrels, list(paths.values())
    yield "names of paths", str(qrels), {name: str(path) for name, path in paths.items()}
    yield "dictionaries", judged, runs
    yield "ranx", Named(judged), [Named(lists, name) for name, lists in runs.items()]
    ours = [(q, d, level) for q, docs in judged.items() for d, level in docs.items()]
    scored = {
        name: [(q, d, score) for q, docs in lists.items() for d, score in docs.items()]
        for name, lists in runs.items()
    }
    yield (
        "ir_measures",
        [ir_measures.Qrel(*line) for line in ours],
        {name: (ir_measures.ScoredDoc(*line) for line in lines) for name, lines in scored.items()},
    )
    yield (
        "polars",
        pl.DataFrame(ours, schema=["query_id", "doc_id", "relevance"], orient="row"),
        {
            name: pl.DataFrame(lines, schema=["query_id", "doc_id", "score"], orient="row")
            for name, lines in scored.items()
        },
    )
    yield (
        "pandas of PyTerrier",
        pd.DataFrame(ours, columns=["qid", "docno", "label"]),
        {
            name: pd.DataFrame(lines, columns=["qid", "docno", "score"]).assign(
                query="a text", rank=lambda frame: frame.groupby("qid").cumcount()
            )
            for name, lines in scored.items()
        },
    )


def test_each_form_gives_the_pages_of_the_command(made, tmp_path, capsys):
    qrels, paths, *_ = made
    measures = ["RR@10", "nDCG@10", "Success@5"]
    output = tmp_path / "all.tsv"
    words = [f"--measures={' '.join(measures)}", "--resamples=999", f"--output={output}"]
    call_command("compare", qrels, *paths.values(), *words)
    printed = capsys.readouterr().out
    counted = "its ranks do not count 1, 2, 3: counted anew, in their order"
    for form, judged, runs in forms(made):
        result = rs.compare(judged, runs, measures, resamples=999)
        text = result.to_markdown()
        if form == "pandas of PyTerrier":  # whose ranks begin at 0
            for name in paths:
                assert f"- {name}: {counted}.\n" in text
                text = text.replace(f"- {name}: {counted}.\n", "")
        assert text == printed.removesuffix("\n"), form
        assert result.frame().write_csv(separator="\t") == output.read_text(), form
    objects = [ir_measures.RR @ 10, ir_measures.nDCG @ 10, ir_measures.Success @ 5]
    assert rs.compare(qrels, paths, objects, resamples=999).frame().equals(result.frame())
    assert rs.compare(qrels, paths, measures[0], resamples=999).frame().height == 3
    call_command("compare", qrels, *paths.values(), *words[:2], "--form=latex")
    again = rs.compare(qrels, paths, measures, resamples=999)
    assert again.to_latex() == capsys.readouterr().out.removesuffix("\n")


def call_command(*words):
    """Run a verb of `residuum` in this process."""
    app([str(word) for word in words], standalone_mode=False)


def test_values_are_those_of_ir_measures(made):
    qrels, paths, judged, runs = made
    result = rs.compare(qrels, paths, "AP@10 nDCG@10", baseline="two", test="t-test")
    assert {(a, b) for a, b in result.frame().select("a", "b").rows()} == {
        ("one", "two"),
        ("three", "two"),
    }
    for name, lists in runs.items():
        theirs = {
            (str(value.measure), value.query_id): value.value
            for value in ir_measures.iter_calc(
                [ir_measures.AP @ 10, ir_measures.nDCG @ 10], judged, lists
            )
        }
        ours = result.per_query().filter(run=name).select("measure", "query_id", "value")
        assert {row[:2]: row[2] for row in ours.rows()} == pytest.approx(theirs)
        mean = result.values().filter(run=name, measure="AP@10")["mean"].item()
        assert mean == pytest.approx(sum(theirs["AP@10", q] for q in QUERIES) / len(QUERIES))


def test_complementarity_counts_queries(made):
    """Counts by plain loops; the ratio is the share of D's hits that S lacks."""
    qrels, paths, judged, runs = made
    table = rs.complementarity(qrels, paths, "Success@3").frame()
    hit = {
        name: {q for q in QUERIES if any(judged[q].get(d, 0) > 0 for d in list(docs[q])[:3])}
        for name, docs in runs.items()
    }
    assert table.height == 6
    for row in table.rows(named=True):
        d, s = hit[row["d"]], hit[row["s"]]
        assert (row["first"], row["residual"], row["overlap"]) == (len(d), len(d - s), len(d & s))
        assert row["ratio"] == pytest.approx(len(d - s) / len(d))
        assert row["failures"] == len({*QUERIES} - d - s)
    named = rs.complementarity(qrels, paths, "Success@3", baseline="two")
    assert {*named.frame()["s"]} == {"two"}
    with pytest.raises(ResiduumError, match="RR@10 is no measure of hits; take one as Success@10"):
        rs.complementarity(qrels, paths, "RR@10")


def test_fusion_is_that_of_the_stages(made, tmp_path):
    qrels, paths, _, runs = made
    for number, settings in enumerate(
        [
            {"interpolation": {"weighted": "two", "value": 0.3}, "unretrieved": "minimum", "k": 7},
            {"normalise": "min-max", "combine": "mnz"},
            {"interpolation": {"grid": [0.0, 0.5, 2.0], "measure": "nDCG@10"}, "k": 10},
            {"kind": "rrf", "k": 5},
        ]
    ):
        ours = rs.fuse({"One, of mine": runs["one"], "two": paths["two"]}, qrels, **settings)
        spec = {"kind": "fusion", "unretrieved": "zero", "k": 1000, **settings}
        if spec["kind"] == "rrf":
            del spec["unretrieved"]
            spec["rank_constant"] = 60
        else:
            spec["interpolation"] = {"weighted": "one", "value": 1} | spec.get("interpolation", {})
            if "grid" in spec["interpolation"]:
                del spec["interpolation"]["value"]
                spec["interpolation"]["tune_on"] = "tune"
        text = json.dumps({**spec, "parts": ["one", "two"]})
        parts = [f"{name}={paths[name]}" for name in ("one", "two")]
        output, tuned = tmp_path / f"{number}.gz", None
        if spec["kind"] == "rrf":
            rrf.fuse(text, parts, "tag", output)
        else:
            if "grid" in spec["interpolation"]:
                tuned = tmp_path / "tuned.json"
                fusion.tune(text, parts, tuned, qrels)
                chosen = json.loads(tuned.read_text())["choices"][0]["setting"]["lambda"]
                assert f"lambda {chosen:g}" in str(ours)
            assert bool(tuned) == (ours.record is not None)
            fusion.fuse(text, parts, "tag", output, tuned)
        assert ours.frame().equals(trec.read_run(output)), settings
        ours.write(tmp_path / "ours.gz", "tag")
        assert (tmp_path / "ours.gz").read_bytes() == output.read_bytes()
        evaluate.run(output, qrels, ["AP@10"], tmp_path / "m.tsv")
        mean = rs.compare(qrels, {"f": ours.frame(), "one": paths["one"]}, "AP@10").values()
        metrics = trec.read_metrics(tmp_path / "m.tsv")
        assert mean.filter(run="f")["mean"].item() == pytest.approx(metrics["value"].mean())


def test_what_cannot_be_read_is_said(made):
    qrels, paths, _, runs = made
    frame = pl.DataFrame({"qid": [1.0, 2.0], "docno": ["a", "b"], "score": [2, 1]})
    for judged_by, given, message in [
        (qrels, paths["one"], "runs: give a list of runs, or {name: run}"),
        (qrels, [runs["one"]], "run 1 has no name; give {name: run}"),
        (qrels, [paths["one"], paths["one"]], "two runs are named one"),
        (qrels, {"x": frame.drop("score")}, "x: no column score; it has qid, docno"),
        (qrels, {"x": frame}, "x: query_id is 1.0 (float); ids are texts or whole numbers"),
        (qrels, {"x": 5}, "x: int is not one of: a path, a frame"),
        (qrels, {"x": [("q00", "d1", 3)]}, "x: no tuples with the fields query_id, doc_id, score"),
        (qrels, {"x": {"q00": ["d1"]}}, "x: a dictionary is {query: {doc: value}}"),
        (qrels, {"x": {"q00": {"d1": float("nan")}}}, "x: score is nan, and must be a number"),
        (qrels, {"x": {"elsewhere": {"d1": 1}}}, "x: no line for any judged query"),
        (qrels, {"x": runs["one"]}, "give two runs or more"),
        ({"q00": {"d1": 0.5}}, paths, "qrels: relevance is 0.5, and must be a whole number"),
        ({"q00": {"d1": 0}}, paths, "the qrels hold no relevant doc"),
        (qrels, frame, "runs: give a list of runs, or {name: run}"),
        (qrels, {"x": {}}, "x: the run is empty"),
        (qrels, {"x": {"q00": {"d1": None}}}, "x: score is None, and must be a number"),
        (qrels, {"x": {"q00": {"d1": "high"}}}, "x: score is high, and must be a number"),
        (qrels, {"x": {"q 0": {"d1": 1}}}, "x: query_id 'q 0' is empty or holds white space"),
        (qrels, {" ": runs["one"]}, "run 1 has no name"),
        (
            qrels,
            {"x": pd.DataFrame({"qid": ["q00", pd.NA], "docno": ["a", "b"], "score": [2, 1]})},
            "x: query_id is nan (float); ids are texts or whole numbers",
        ),
        (
            qrels,
            {"x": pl.DataFrame({"qid": ["a", "a"], "docno": ["b", "b"], "score": [2, 1]})},
            "x: doc b comes twice for query a; keep one",
        ),
        (
            qrels,
            {"x": pl.DataFrame({"qid": ["a"], "docno": ["b"], "score": [2], "rank": [1.5]})},
            "x: rank is 1.5, and must be a whole number",
        ),
    ]:
        with pytest.raises(ResiduumError) as error:
            rs.compare(judged_by, given, "RR@10")
        assert message in str(error.value), message
    with pytest.raises(ResiduumError, match="none of its 1 queries, such as q9, is in"):
        rs.fuse({**paths, "x": {"q9": {"d1": 1}}})
    with pytest.raises(ResiduumError, match="give two runs or more: there is nothing to fuse"):
        rs.fuse({"one": paths["one"]})
    with pytest.raises(ResiduumError, match="no way 'zeros'; known: refuse, zero"):
        rs.complementarity(qrels, paths, missing="zeros")
    with pytest.raises(ResiduumError, match="tag: 'a tag' is empty or holds white space"):
        rs.fuse(paths).write(paths["one"].parent / "no.gz", "a tag")
    for settings, message in [
        ({"unretrieved": "true_score"}, "true_score needs the systems behind the runs"),
        ({"interpolation": {"weighted": "twoo", "value": 1}}, "Did you mean two?"),
        ({"interpolation": {"grid": [1.0], "measure": "RR@10"}}, "give the qrels by which"),
        ({"normalize": "max"}, "normalize"),
        ({"interpolation": {"weighted": "two"}}, '{"weighted": "two"}'),
        ({"parts": ["one"]}, "no setting parts; the runs have names"),
        (
            {"interpolation": {"grid": [1.0], "measure": "AnswerAccuracy@3"}, "qrels": qrels},
            "AnswerAccuracy@3 reads answers",
        ),
        ({"interpolation": 3}, "interpolation is a mapping"),
    ]:
        with pytest.raises(ResiduumError) as error:
            rs.fuse(paths, **settings)
        assert message in str(error.value), message


def test_equal_scores_go_by_doc_id_and_ranks_go_before_scores():
    """With ranks, the order of ranks stands where scores fall, as for the command."""
    ties = pl.DataFrame({"qid": ["q00"] * 3, "docno": ["c", "a", "b"], "score": [1, 1, 1]})
    first = {"x": ties, "y": ties.with_columns(rank=pl.Series([1, 2, 3]))}
    fused = rs.fuse(first, kind="rrf", rank_constant=1)
    # x has a, b, c, and y has c, a, b: sums of 1 / (1 + rank).
    assert fused.frame().select("doc_id", "score").rows() == [
        ("a", pytest.approx(1 / 2 + 1 / 3)),
        ("c", pytest.approx(1 / 4 + 1 / 2)),
        ("b", pytest.approx(1 / 3 + 1 / 4)),
    ]


def test_no_value_is_cut_where_whole_numbers_come_first():
    """Of 150 queries the last have scores between 0 and 1, and ids are numbers at first."""
    lists = {number: {"a": 5, "b": 4} for number in range(149)}
    lists["last"] = {"a": 0.2, "b": 0.9, "c": 0.5}
    judged = {str(query): {"b": 1} for query in lists}
    worst = {query: {"b": 1, "a": 2} for query in lists}
    for form in (
        lists,
        [ir_measures.ScoredDoc(q, d, s) for q in lists for d, s in lists[q].items()],
    ):
        made = rs.compare(judged, {"x": form, "y": worst}, "RR@10").per_query()
        values = dict(made.filter(run="x").select("query_id", "value").rows())
        assert values["last"] == 1.0 and values["0"] == 0.5
    fused = rs.fuse({"x": lists, "y": {q: {"z": 0.1} for q in lists}}).frame()
    last = fused.filter(query_id="last").select("doc_id", "score").rows()
    assert last == [("b", 0.9), ("c", 0.5), ("a", 0.2), ("z", 0.1)]


def test_a_notebook_shows_pages_and_a_picture(made):
    qrels, paths, *_ = made
    for baseline, pairs in (("one", {("two", "one"), ("three", "one")}), ((), None)):
        result = rs.complementarity(qrels, paths, "Success@3", baseline=baseline)
        titles = {tuple(re.findall(r"^[DS]: (.*)$", ax.get_title(), re.M))
                  for ax in result.picture().axes}  # fmt: skip
        assert titles == (pairs or {("one", "two"), ("one", "three"), ("two", "three")})
        assert all(len(ax.patches) == 2 for ax in result.picture().axes), "two circles"
    drawn = rs.compare(qrels, paths, "RR@10 AP@10", resamples=99).picture()
    assert [len(ax.lines) for ax in drawn.axes] == [7, 7], "an interval and a mark a pair, and 0"
    named = {"<b>one</b> $\\frac$": paths["one"], "two": paths["two"]}
    for result in (
        rs.compare(qrels, named, "RR@10", resamples=99),
        rs.complementarity(qrels, named, "Success@3"),
    ):
        text = result._repr_html_()
        assert "<table>" in text and 'src="data:image/png;base64,' in text
        assert "<b>one" not in text, "a name is no markup"
    fused = rs.fuse(named)
    assert fused.picture() is None and "<img" not in fused._repr_html_()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return build(tmp_path_factory.mktemp("results") / "results" / "toy")


def test_finished_results_are_read_as_the_commands_read_them(results):
    address = "toy/table1/base/rr"
    explained = rs.explain(results, address)
    assert str(explained) == explaining.explain(results, address)
    assert explained.frame().equals(explaining.values(explaining.find(results, address)))
    assert "<pre>" in explained._repr_html_()
    ledger = rs.read_ledger(results)
    written = pl.read_csv(results / "ledger.tsv", separator="\t", infer_schema_length=None)
    assert ledger.frame().height == written.height > 0
    assert {*ledger.frame()["verdict"]} == {*written["verdict"]}
    counts = {tuple(row[:3]): row[3] for row in rows_of(ledger)}
    for (_, kind, verdict), count in counts.items():
        first = written.filter(kind=kind, verdict=verdict).filter(pl.col("same_as").is_null())
        assert first.height == int(count)
    with pytest.raises(ResiduumError, match="no such file; name a results folder"):
        rs.read_ledger(results / "data")
    with pytest.raises(ResiduumError, match="not measured yet"):
        rs.read_fidelity(results, "data/dev", "luan2021")


def rows_of(result):
    (page,) = result.pages().values()
    return [[cell.text for cell in row] for row in page.rows]


def test_the_page_of_the_docs_runs(made, results, tmp_path, monkeypatch):
    """Its blocks, one after another in a script, over runs of their names."""
    qrels, paths, *_ = made
    for source, name in ((qrels, "qrels.trec"), (paths["one"], "bm25.trec.gz"),
                         (paths["two"], "dense.trec.gz")):  # fmt: skip
        shutil.copy(source, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "how-to" / "python.md").read_text()
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    for block in blocks:
        exec(block, names)
    assert len(blocks) == 4
    assert trec.read_run(tmp_path / "fused.trec.gz").height
    assert {*names["result"].frame()["d"]} == {"BM25", "dense"}


def test_importing_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys, residuum as rs; "
        "heavy = {'numpy', 'polars', 'pydantic', 'typer', 'torch', 'matplotlib', 'scipy'}; "
        "print(sorted(heavy & {*sys.modules}), rs.compare.__name__, 'torch' in sys.modules, "
        "'matplotlib' in sys.modules, hasattr(rs, 'nothing'))"
    )
    printed = printed_by(code)
    assert printed.split("\n")[0] == "[] compare False False False"
    names = {"compare", "complementarity", "explain", "fuse", "read_fidelity", "read_ledger"}
    assert names <= {*dir(rs)}

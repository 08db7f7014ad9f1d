"""Reranking: a pair is scored once, every depth is a cut, numbers worked out by hand."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import forking
from contents import contents
from corpora import make_corpus
from killing import WORKFLOW, run_and_kill
from residuum import rerank
from residuum.artefacts import files, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.reading import Reading, Windows
from residuum.config.schema.systems import RerankSystem
from residuum.neural import devices
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.pretrained import Source
from residuum.neural.tokens import passages
from residuum.tuning.choosing import split_folds
from residuum.tuning.evaluation import evaluate
from tiny_models import make_backbone, toy_docs, toy_queries

Lists = dict[str, dict[str, float]]
Writer = Callable[[str, Lists], Path]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Return a writer of runs: write(name, {query_id: {doc_id: score}}) -> path."""

    def made(name: str, lists: Lists) -> Path:
        rows = [(q, d, float(s)) for q, docs in lists.items() for d, s in docs.items()]
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
        trec.write_run(tmp_path / name, trec.rank(frame), name)
        return tmp_path / name

    return made


# The first stage gives a, b, c, d; the reranker's order is d, b = c, a.
FIRST = {"q": {"a": 9, "b": 8, "c": 7, "d": 6}}
SCORES = {"q": {"a": -1, "b": 2, "c": 2, "d": 5}}


def measured(
    tmp_path: Path, run: Path, scores: Path, relevant: list[tuple[str, str, int]], **form: Any
) -> dict[tuple[int, str, str], float]:
    """Return the depth curve's values by (depth, query_id, measure), read back from its file."""
    trec.write_qrels(tmp_path / "qrels", relevant)
    depths = {"x": form.pop("depths", [1, 2, 3, 4])}
    spec = {"depths": depths, "measures": ["RR@2"], **form}
    rerank.depths(
        json.dumps(spec), [f"x={run}"], [scores], tmp_path / "qrels", tmp_path / "depths.tsv"
    )
    rows = trec.read_curve(tmp_path / "depths.tsv").rows()
    assert [row[:4] for row in rows] == sorted(row[:4] for row in rows)
    assert {row[0] for row in rows} == {"x"}
    return {(depth, query, measure): value for _, depth, query, measure, value in rows}


def test_depths_by_hand(tmp_path: Path, write: Writer) -> None:
    run, scores = write("run.gz", FIRST), write("scores.gz", SCORES)
    judged = [("q", "c", 1), ("q", "z", 2), ("r", "a", 1)]
    result = measured(tmp_path, run, scores, judged)
    # Orders: 0 and 1: abcd; 2: ba|cd; 3: bca|d, a tie by doc_id; 4: dbca.
    reciprocal = [0.0, 0.0, 0.0, 0.5, 0.0]
    recall = [0.0, 0.0, 0.0, 0.5, 0.5]  # of c and z, which no list holds
    for depth in range(5):
        assert result[depth, "q", "RR@2"] == reciprocal[depth]
        assert result[depth, "q", "recall"] == recall[depth]
        assert result[depth, "q", "docs_reranked"] == depth
        for measure in ("RR@2", "recall", "docs_reranked"):
            assert result[depth, "r", measure] == 0.0  # judged, but in no list
    record = json.loads((tmp_path / "depths.tsv.manifest.json").read_text())
    assert record["artefact"] == {"runs": ["x"], "queries": 2}


def test_candidate_recall_takes_the_level_of_its_name(tmp_path: Path, write: Writer) -> None:
    run, scores = write("run.gz", FIRST), write("scores.gz", SCORES)
    judged = [("q", "a", 1), ("q", "b", 2)]
    result = measured(tmp_path, run, scores, judged, measures=["R(rel=2)", "R@3"])
    assert [result[depth, "q", "recall"] for depth in range(4)] == [0, 0, 1, 1]
    assert result[0, "q", "R@3"] == 1.0
    assert ("q", "R(rel=2)") not in {key[1:] for key in result}
    with pytest.raises(ResiduumError, match="candidate recall at one level"):
        measured(tmp_path, run, scores, judged, measures=["R(rel=2)", "R"])


def test_measures_without_a_cutoff_see_the_whole_list(tmp_path: Path, write: Writer) -> None:
    run, scores = write("run.gz", FIRST), write("scores.gz", SCORES)
    result = measured(tmp_path, run, scores, [("q", "d", 1)], measures=["RR", "RR@1"])
    assert [result[depth, "q", "RR"] for depth in range(5)] == [0.25, 0.25, 0.25, 0.25, 1]
    assert [result[depth, "q", "RR@1"] for depth in range(5)] == [0, 0, 0, 0, 1]


def test_depths_agree_with_evaluating_each_reranked_run(tmp_path: Path, write: Writer) -> None:
    """Against a second implementation: Python's sort, list by list, and the whole run evaluated."""
    random = np.random.default_rng(5)
    docs = [f"d{i:02d}" for i in range(30)]
    first = {f"q{i}": dict(zip(docs, random.permutation(30), strict=True)) for i in range(6)}
    given = {q: {d: int(random.integers(5)) for d in docs} for q in first}
    run, scores = write("run.gz", first), write("scores.gz", given)
    judged = [(q, d, int(random.integers(3))) for q in first for d in random.choice(docs, 9, False)]
    depths, measures = [3, 10, 25], ["RR@10", "nDCG@10", "R@20"]
    result = measured(tmp_path, run, scores, judged, depths=depths, measures=measures)
    for depth in (0, *depths):
        lists = {}
        for query, own in first.items():
            order = sorted(docs, key=lambda doc, own=own: -own[doc])
            top = sorted(order[:depth], key=lambda doc, q=query: (-given[q][doc], doc))
            lists[query] = {doc: -i for i, doc in enumerate(top + order[depth:])}
        whole = trec.read_run(write(f"{depth}.gz", lists))
        values = evaluate(whole, trec.read_qrels(tmp_path / "qrels"), measures)
        for query, measure, value in values.iter_rows():
            assert result[depth, query, measure] == pytest.approx(value), (depth, measure)


GRID = {"grid": [2, 3, 4], "tune_on": "t", "measure": "RR@2"}


def system(**depth: Any) -> str:
    entry = {"kind": "rerank", "first_stage": "f", "reranker": "r", "depth": {**GRID, **depth}}
    return RerankSystem.model_validate(entry).model_dump_json()


def do_cut(tmp_path: Path, run: Path, scores: Path, **depth: Any) -> dict[str, Any]:
    places = tmp_path / "cut.gz", tmp_path / "record.json"
    curve = tmp_path / "depths.tsv" if depth.get("value") is None else None
    rerank.cut(run, [scores], "x", system(**depth), "tag", *places, curve)
    return dict(json.loads(places[1].read_text()))


def test_cut_takes_the_best_depth_and_keeps_the_rest_in_order(
    tmp_path: Path, write: Writer, capsys: pytest.CaptureFixture[str]
) -> None:
    run, scores = write("run.gz", FIRST), write("scores.gz", SCORES)
    measured(tmp_path, run, scores, [("q", "c", 1)])
    record = do_cut(tmp_path, run, scores)
    assert record == {
        "choices": [
            {"setting": {"depth": 3}, "at_edge": [], "queries": 1, "mean": 0.5, "held_out": None}
        ],
        "measure": "RR@2",
        "queries": 1,
        "tried": [
            {"setting": {"depth": 2}, "means": [0.0]},
            {"setting": {"depth": 3}, "means": [0.5]},
            {"setting": {"depth": 4}, "means": [0.0]},
        ],
        "fold_of": {},
    }
    # b and c tie at 2 and go by doc_id; d stays below, 1 under the lowest score of the top.
    assert trec.read_run(tmp_path / "cut.gz").select("doc_id", "score").rows() == [
        ("b", 2.0),
        ("c", 2.0),
        ("a", -1.0),
        ("d", -2.0),
    ]
    assert "edge" not in capsys.readouterr().err
    manifest = json.loads((tmp_path / "cut.gz.manifest.json").read_text())
    assert manifest["artefact"] == {"depth": 3, "hits": 4}
    kept = json.loads((tmp_path / "record.json.manifest.json").read_text())["artefact"]
    assert kept == {key: record[key] for key in ("choices", "measure", "queries")}


def test_equal_means_give_the_first_depth_and_an_edge_is_told(
    tmp_path: Path, write: Writer, capsys: pytest.CaptureFixture[str]
) -> None:
    run, scores = write("run.gz", FIRST), write("scores.gz", SCORES)
    measured(tmp_path, run, scores, [("q", "b", 1)])
    (choice,) = do_cut(tmp_path, run, scores)["choices"]  # b leads at 2 and 3
    assert (choice["setting"], choice["at_edge"]) == ({"depth": 2}, ["depth"])
    assert "depth 2 at an edge of the grid" in capsys.readouterr().err
    (choice,) = do_cut(tmp_path, run, scores, grid=[4, 3, 2])["choices"]
    assert choice["setting"] == {"depth": 3}
    with pytest.raises(ResiduumError, match=r"depths\.tsv: no RR@2 of x at depth 9"):
        do_cut(tmp_path, run, scores, grid=[2, 9])


def test_each_fold_is_cut_at_the_depth_that_is_best_on_the_others(
    tmp_path: Path, write: Writer
) -> None:
    """The reranker turns lists round: the doc at rank 2 leads at depth 2, that at 4 at depth 4."""
    ids = [f"q{number}" for number in range(6)]
    first = {query: {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0} for query in ids}
    given = {query: {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0} for query in ids}
    run, scores = write("run.gz", first), write("scores.gz", given)
    fold_of = split_folds(ids, {*ids}, 2, 1)
    relevant_doc = {query: "bd"[fold] for query, fold in fold_of.items()}
    relevant = [(query, doc, 1) for query, doc in relevant_doc.items()]
    measured(tmp_path, run, scores, relevant, measures=["RR@1"])
    drawn: dict[str, Any] = {"tune_on": None, "folds": 2, "seed": 1, "measure": "RR@1"}
    record = do_cut(tmp_path, run, scores, **drawn)
    assert [choice["setting"]["depth"] for choice in record["choices"]] == [4, 2]
    assert [(c["mean"], c["held_out"], c["queries"]) for c in record["choices"]] == [(1, 0, 3)] * 2
    lists = trec.read_run(tmp_path / "cut.gz")
    for query, fold in fold_of.items():
        made = lists.filter(query_id=query).sort("rank")["doc_id"].str.join().item()
        assert made == ("dcba" if fold == 0 else "bacd")
    manifest = json.loads((tmp_path / "cut.gz.manifest.json").read_text())
    assert manifest["artefact"] == {"folds": [{"depth": 4}, {"depth": 2}], "hits": 24}


def test_a_query_of_no_fold_is_refused(tmp_path: Path, write: Writer) -> None:
    run, scores = write("run.gz", FIRST), write("scores.gz", SCORES)
    tuned = ({name: lists["q"] for name in "op"} for lists in (FIRST, SCORES))
    made = [write(f"tune-{number}.gz", lists) for number, lists in enumerate(tuned)]
    measured(tmp_path, *made, [("o", "c", 1), ("p", "c", 1)])
    folds = [tmp_path / f"{name}.tsv" for name in "op"]
    for path in folds:
        trec.write_queries(path, [(path.stem, "text")])
    places = tmp_path / "cut.gz", tmp_path / "record.json", tmp_path / "depths.tsv"
    with pytest.raises(ResiduumError, match="query q is in none of the folds that the depth was"):
        rerank.cut(run, [scores], "x", system(), "tag", *places, folds)


def test_a_fixed_depth_needs_no_tuning_split(tmp_path: Path, write: Writer) -> None:
    run, scores = write("run.gz", FIRST), write("scores.gz", SCORES)
    fixed: dict[str, Any] = {"value": 2, "grid": None, "tune_on": None, "measure": None}
    record = do_cut(tmp_path, run, scores, **fixed)
    assert record["choices"][0]["setting"] == {"depth": 2}
    assert (record["measure"], record["queries"], record["tried"]) == (None, 0, [])
    assert trec.read_run(tmp_path / "cut.gz")["doc_id"].to_list() == ["b", "a", "c", "d"]
    with pytest.raises(ResiduumError, match="chosen on a tuning split: give --curve"):
        rerank.cut(run, [scores], "x", system(), "tag", tmp_path / "cut.gz", tmp_path / "r.json")


def test_ten_docs_reranked_are_the_same_ten_in_the_rerankers_order(
    tmp_path: Path, write: Writer
) -> None:
    random = np.random.default_rng(1)
    first = {f"q{q}": {f"d{i}": 20.0 - i for i in random.permutation(15)} for q in range(4)}
    given = {q: {doc: random.normal() for doc in docs} for q, docs in first.items()}
    value: dict[str, Any] = {"value": 10, "grid": None, "tune_on": None, "measure": None}
    do_cut(tmp_path, write("run.gz", first), write("scores.gz", given), **value)
    reranked = trec.read_run(tmp_path / "cut.gz").partition_by("query_id", as_dict=True)
    for query, docs in first.items():
        before = sorted(docs, key=lambda doc, own=docs: -own[doc])
        after = reranked[query,].sort("rank")["doc_id"].to_list()
        by_score = sorted(before[:10], key=lambda doc, own=given[query]: -own[doc])
        assert after == by_score + before[10:] != before


def test_the_largest_depth_is_that_of_the_grid(tmp_path: Path, write: Writer) -> None:
    run, scores = write("run.gz", FIRST), write("scores.gz", SCORES)
    deepest: dict[str, Any] = {"value": "largest", "tune_on": None, "measure": None}
    record = do_cut(tmp_path, run, scores, **deepest)
    assert record["choices"][0]["setting"] == {"depth": 4}
    best_first = sorted(SCORES["q"], key=lambda doc: (-SCORES["q"][doc], doc))
    assert trec.read_run(tmp_path / "cut.gz")["doc_id"].to_list() == best_first
    for wrong in ({"grid": None}, {"measure": "RR@2"}):
        with pytest.raises(ValueError, match="value largest goes with a grid"):
            system(**{**deepest, **wrong})


def test_a_candidate_without_a_score_is_an_error(tmp_path: Path, write: Writer) -> None:
    run = write("run.gz", FIRST)
    scores = write("scores.gz", {"q": {"a": 1, "b": 2, "d": 3}})
    message = r"scores\.gz: no score for query q, doc c, which .*run\.gz has above rank 5 \(1 pairs"
    with pytest.raises(ResiduumError, match=message):
        measured(tmp_path, run, scores, [("q", "a", 1)])
    assert not (tmp_path / "depths.tsv").exists()
    result = measured(tmp_path, run, scores, [("q", "a", 1)], depths=[1, 2])
    assert result[2, "q", "RR@2"] == 0.5


SPEC = {"kind": "cross-encoder", "batch_size": 4, "part_pairs": 5}


class Made(NamedTuple):
    """A corpus, queries, a cross-encoder and two first-stage runs on disk."""

    folder: Path
    runs: list[Path]

    def arguments(self, output: Path, runs: list[Path], **changes: Any) -> dict[str, Any]:
        """Return the arguments of `score`, its store beside the output."""
        base = {
            "run": runs,
            "depth": [6] * len(runs),
            "queries": self.folder / "queries.tsv",
            "corpus": self.folder / "corpus",
            "model": [str(self.folder / "model")],
            "spec": json.dumps(SPEC),
            "store": output.with_name(f"{output.name}.store"),
            "output": output,
            "device": "cpu",
        }
        return {**base, **changes}

    def score(self, output: Path, runs: list[Path], **changes: Any) -> Path:
        """Score in this process."""
        rerank.score(**self.arguments(output, runs, **changes))
        return output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("rerank")
    docs = [(doc_id, f"{text} " * (1 + i % 5)) for i, (doc_id, text) in enumerate(toy_docs())]
    corpus = make_corpus(folder / "corpus", docs)
    trec.write_queries(folder / "queries.tsv", toy_queries())
    start = make_backbone(folder / "start", corpus)
    reading = Reading(pooling="mean", query_length=8, length=30)
    device = devices.choose("cpu", "fp32", 1)
    (folder / "model").mkdir()
    CrossEncoder(Source(str(start), new_head=True), reading, device).save(folder / "model")
    runs = [folder / "one.gz", folder / "two.gz"]
    for shift, path in enumerate(runs):
        ids = [doc_id for doc_id, _ in docs]
        rows = [
            (f"q{q}", ids[(3 * q + 2 * shift + i) % len(ids)], 10.0 - i)
            for q in range(8)
            for i in range(8)
        ]
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
        trec.write_run(path, trec.rank(frame), path.stem)
    return Made(folder, runs)


def test_kept_scores_are_dropped_where_the_code_that_makes_them_changes(
    made: Made, tmp_path: Path
) -> None:
    package = tmp_path / "workflow" / "residuum"
    shutil.copytree(WORKFLOW / "residuum", package)
    arguments = made.arguments(tmp_path / "pairs.gz", made.runs[:1]) | {
        "run": made.runs[0],
        "depth": 6,
        "model": made.folder / "model",
    }
    options = [word for key, value in arguments.items() for word in (f"--{key}", str(value))]

    def score() -> str:
        environment = {**os.environ, "PYTHONPATH": str(package.parent)}
        done = forking.run("residuum.rerank", ["score", *options], environment, tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stderr

    score()
    (package / "dense.py").open("a").write("SPARE = 65\n")
    assert "restarting" not in score()
    edited = package / "neural" / "crossencoder.py"
    text = edited.read_text()
    assert "return scores" in text
    edited.write_text(text.replace("return scores", "return scores * 2", 1))
    assert "stale parts (data, spec, model or code changed): restarting" in score()


def test_each_pair_is_scored_once_and_sharing_is_counted(made: Made, tmp_path: Path) -> None:
    output = made.score(tmp_path / "pairs.gz", made.runs)
    scored = trec.read_run(output)
    artefact = json.loads((tmp_path / "pairs.gz.manifest.json").read_text())["artefact"]
    # 8 queries, 6 docs of each list; the second list starts 2 docs later: 8 distinct docs.
    assert artefact == {
        "shard": {"number": 0, "of": 1},
        "pairs": 64,
        "pairs_without_sharing": 96,
        "saved": pytest.approx(1 / 3),
        "pairs_per_run": {str(path): 48 for path in made.runs},
        "queries": 8,
        "docs": 24,
    }
    assert scored.height == 64
    model = CrossEncoder.load(made.folder / "model", devices.choose("cpu", "fp32", 1))
    queries = dict(toy_queries())
    docs = {doc_id: f"{text} " * (1 + i % 5) for i, (doc_id, text) in enumerate(toy_docs())}
    rows = scored.rows(named=True)
    one = model.tokenise([queries[row["query_id"]] for row in rows], "query")
    other = model.tokenise([docs[row["doc_id"]] for row in rows], "doc")
    expected = model.score(list(map(Pair, one, other)), 1)
    np.testing.assert_allclose(scored["score"], expected, atol=2e-6)


def test_scores_are_the_same_bytes_whatever_the_history(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = made.score(tmp_path / "fresh.gz", made.runs)
    requested: list[int] = []
    score = CrossEncoder.score

    def counting(self: CrossEncoder, pairs: list[Pair], batch_size: int) -> np.ndarray:
        requested.append(len(pairs))
        return score(self, pairs, batch_size)

    monkeypatch.setattr(CrossEncoder, "score", counting)
    other = tmp_path / "grown.gz"
    made.score(other, made.runs[:1], depth=[4])
    made.score(other, made.runs[:1])
    assert (sum(requested), max(requested)) == (48, 5)
    made.score(other, made.runs)
    assert sum(requested) == 64  # only what the second run adds
    assert other.read_bytes() == fresh.read_bytes()
    made.score(other, made.runs)
    assert sum(requested) == 64
    alone = made.score(tmp_path / "alone.gz", made.runs[:1])
    assert made.score(other, made.runs[:1]).read_bytes() == alone.read_bytes()


def test_folds_are_scored_each_by_its_own_model(made: Made, tmp_path: Path) -> None:
    """The second model reads other lengths, so that its scores are its own."""
    reading = Reading(pooling="mean", query_length=8, length=14)
    short, source = tmp_path / "short", Source(str(made.folder / "start"), new_head=True)
    short.mkdir()
    CrossEncoder(source, reading, devices.choose("cpu", "fp32", 1)).save(short)
    models, folds = [str(made.folder / "model"), str(short)], []
    for name, numbers in (("one", {0, 1, 2}), ("two", {3, 4, 5, 6, 7})):
        folds.append(tmp_path / name / "queries.tsv")
        rows = [(q, text) for q, text in toy_queries() if int(q[1:]) in numbers]
        folds[-1].parent.mkdir()
        trec.write_queries(folds[-1], rows)
    whole = {
        name: trec.read_run(made.score(tmp_path / f"{n}.gz", made.runs, model=[name]))
        for n, name in enumerate(models)
    }
    made.score(tmp_path / "both.gz", made.runs, model=models, fold=folds)
    both = trec.read_run(tmp_path / "both.gz")
    first = pl.col("query_id").is_in(["q0", "q1", "q2"])
    expected = [whole[models[0]].filter(first), whole[models[1]].filter(~first)]
    assert both.equals(pl.concat(expected)) and not both.equals(whole[models[0]])
    inputs = json.loads((tmp_path / "both.gz.manifest.json").read_text())["inputs"]
    assert {*models, *map(str, folds)} < {*inputs}
    empty = tmp_path / "none" / "queries.tsv"
    empty.parent.mkdir()
    trec.write_queries(empty, [("other", "a query that no list has")])
    three = {"model": [*models, models[0]], "fold": [*folds, empty]}
    made.score(tmp_path / "three.gz", made.runs, **three)
    assert trec.read_run(tmp_path / "three.gz").equals(both), "a fold may have no pair"
    with pytest.raises(ResiduumError, match="1 folds for 2 models; one for each"):
        made.score(tmp_path / "no.gz", made.runs, model=models, fold=folds[:1])


def test_shards_together_are_the_whole(made: Made, tmp_path: Path, write: Writer) -> None:
    """Each query is in one shard, and depths and cut read all shards as they read one file."""
    whole = trec.read_run(made.score(tmp_path / "whole.gz", made.runs))
    paths = [tmp_path / f"{number}.gz" for number in range(3)]
    parts = [
        trec.read_run(made.score(path, made.runs, shard=n, of=3)) for n, path in enumerate(paths)
    ]
    known = sorted(dict(toy_queries()))
    cuts = [len(known) * n // 3 for n in range(4)]
    listed = [[q for q in known[cuts[n] : cuts[n + 1]] if int(q[1:]) < 8] for n in range(3)]
    assert [part["query_id"].unique().sort().to_list() for part in parts] == listed
    together = pl.concat(parts)
    assert together.sort(trec.PAIR).equals(whole.sort(trec.PAIR)), "on a CPU to the last digit"
    facts = [json.loads(Path(f"{path}.manifest.json").read_text())["artefact"] for path in paths]
    assert sum(fact["pairs"] for fact in facts) == whole.height
    assert [fact["shard"] for fact in facts] == [{"number": n, "of": 3} for n in range(3)]

    one = tmp_path / "one.gz"
    trec.write_run(one, together, "scores")
    trec.write_qrels(tmp_path / "qrels", [(q, d, 1) for q, d, *_ in together[::5].rows()])
    spec = json.dumps({"depths": {"x": [2, 5]}, "measures": ["RR@10", "R@3"]})
    value: dict[str, Any] = {"value": 5, "grid": None, "tune_on": None, "measure": None}
    curve, run, results = tmp_path / "curve.tsv", tmp_path / "run.gz", []
    for scores in ([one], paths):
        rerank.depths(spec, [f"x={made.runs[0]}"], scores, tmp_path / "qrels", curve)
        rerank.cut(made.runs[0], scores, "x", system(**value), "t", run, tmp_path / "r.json")
        results.append((curve.read_bytes(), trec.read_run(run).rows()))
    assert results[0] == results[1]
    assert {row[0] for row in results[0][1]} == {f"q{number}" for number in range(8)}
    arguments = spec, [f"x={made.runs[0]}"]
    with pytest.raises(ResiduumError, match=r"no score for query q\d, doc .*Delete the scores"):
        rerank.depths(*arguments, paths[:1], tmp_path / "qrels", curve)
    with pytest.raises(ResiduumError, match="query ids fall from one list to the next"):
        [*trec.read_together([], shards=paths[::-1])]
    with pytest.raises(ResiduumError, match="--shard 3 --of 3: shards are counted from 0 to 2"):
        made.score(tmp_path / "no.gz", made.runs, shard=3, of=3)


def test_a_shard_may_hold_no_query(made: Made, tmp_path: Path) -> None:
    """More shards than queries: a collection's counts may not be known before it is read."""
    of = 2 * len(dict(toy_queries()))
    empty = made.score(tmp_path / "0.gz", made.runs, shard=0, of=of)
    assert json.loads(Path(f"{empty}.manifest.json").read_text())["artefact"]["pairs"] == 0
    tables = [*trec.read_together([made.runs[0]], shards=[empty])]
    assert pl.concat([run for run, _ in tables]).height == 64
    assert all(scores.is_empty() for _, scores in tables)


def test_killed_scoring_goes_on(made: Made, tmp_path: Path) -> None:
    fresh = made.score(tmp_path / "fresh.gz", made.runs)
    one_by_one = json.dumps({**SPEC, "part_pairs": 1})
    arguments = made.arguments(tmp_path / "killed.gz", made.runs, spec=one_by_one)
    pairs = zip(arguments.pop("run"), arguments.pop("depth"), strict=True)
    arguments |= {"model": made.folder / "model"}
    runs = [w for path, top in pairs for w in ("--run", str(path), "--depth", str(top))]
    options = [word for key, value in arguments.items() for word in (f"--{key}", str(value))]
    second = arguments["store"] / "part-00001.parquet"
    run_and_kill(["residuum.rerank", "score", *runs, *options], when=second.exists)
    assert not arguments["output"].exists()
    kept = files.sha256(second)
    made.score(tmp_path / "killed.gz", made.runs, spec=one_by_one)
    assert files.sha256(second) == kept
    assert (tmp_path / "killed.gz").read_bytes() == fresh.read_bytes()
    killed, whole = (f"{tmp_path / name}.manifest.json" for name in ("killed.gz", "fresh.gz"))
    assert contents(Path(killed))["."] == contents(Path(whole))["."].replace("fresh", "killed")


def test_scores_of_other_work_and_damaged_parts_are_not_used(
    made: Made, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fresh = made.score(tmp_path / "fresh.gz", made.runs)
    store = tmp_path / "pairs.gz.store"
    made.score(tmp_path / "pairs.gz", made.runs, queries=other_queries(tmp_path))
    capfd.readouterr()
    made.score(tmp_path / "pairs.gz", made.runs)
    assert "stale parts (data, spec, model or code changed): restarting" in capfd.readouterr().err
    assert (tmp_path / "pairs.gz").read_bytes() == fresh.read_bytes()
    (store / "part-00002.parquet").write_bytes(b"half a file")
    made.score(tmp_path / "pairs.gz", made.runs)
    assert "part-00002.parquet: cannot be read, its pairs are scored" in capfd.readouterr().err
    assert (tmp_path / "pairs.gz").read_bytes() == fresh.read_bytes()


def other_queries(folder: Path) -> Path:
    trec.write_queries(folder / "other.tsv", [(q, f"{text} here") for q, text in toy_queries()])
    return folder / "other.tsv"


def test_what_is_missing_is_named(made: Made, tmp_path: Path, write: Writer) -> None:
    strange = write("strange.gz", {"q0": {"nowhere": 1}})
    with pytest.raises(ResiduumError, match=r"corpus: doc_id nowhere of a first-stage run"):
        made.score(tmp_path / "pairs.gz", [strange])
    strange = write("strange.gz", {"q99": {"d0-here": 1}})
    with pytest.raises(ResiduumError, match=r"queries\.tsv: query_id q99 of a first-stage run"):
        made.score(tmp_path / "pairs.gz", [strange])
    with pytest.raises(ResiduumError, match=r"no/such: not a directory; .* needs --reading"):
        made.score(tmp_path / "pairs.gz", made.runs, model=["no/such"])
    assert not (tmp_path / "pairs.gz").exists()


def test_a_doc_read_in_passages_has_the_score_of_its_best(made: Made, tmp_path: Path) -> None:
    records = [
        (doc_id, {"text": "unread", "title": f"about {doc_id[1]}", "body": f"{text} " * (1 + i)})
        for i, (doc_id, text) in enumerate(toy_docs())
    ]
    corpus = make_corpus(tmp_path / "corpus", records)
    windows = Windows(length=9, stride=4, head=["title"], body="body", expected=2)
    form = windows.model_dump_json()
    output = made.score(tmp_path / "pairs.gz", made.runs, corpus=corpus, windows=form)
    scored = trec.read_run(output)
    model = CrossEncoder.load(made.folder / "model", devices.choose("cpu", "fp32", 1))
    queries, docs = dict(toy_queries()), dict(records)
    several = 0
    for query_id, doc_id, _, score in scored.select(*trec.PAIR, "rank", "score").iter_rows():
        texts = passages(docs[doc_id], windows, model.tokenizer, 30 - 8 - 3)
        [query] = model.tokenise([queries[query_id]], "query")
        own = [model.score([Pair(query, p)], 4)[0] for p in model.tokenise(texts, "doc")]
        assert score == pytest.approx(max(own), abs=2e-6)
        several += len(own) > 1 and max(own) - min(own) > 1e-4
    assert several > 20  # where the best differs from the others, a mean or the first would fail
    setting = json.loads((tmp_path / "pairs.gz.manifest.json").read_text())["spec"]
    assert setting["windows"] == windows.model_dump()
    (tmp_path / "pairs.gz").unlink()
    made.score(tmp_path / "pairs.gz", made.runs)  # of another corpus, read whole: nothing is kept
    assert trec.read_run(output)["score"].to_list() != scored["score"].to_list()


def test_a_passage_without_room_is_refused(made: Made) -> None:
    model = CrossEncoder.load(made.folder / "model", devices.choose("cpu", "fp32", 1))
    model.settings = Reading(pooling="mean", query_length=20, length=30)
    windows = Windows(length=9, stride=4, head=[], body="body", expected=2)
    with pytest.raises(ResiduumError, match=r"length 30 leaves 7 tokens .*query_length 20; give 8"):
        model.cut(windows)
    assert model.cut(None)({"text": "all"}) == ["all"]
    model.settings = Reading(pooling="mean", query_length=20, length=30, docs="cut")
    assert model.cut(windows)({"text": "all", "body": "not read"}) == ["all"]

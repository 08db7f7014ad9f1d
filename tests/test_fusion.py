"""Fusion against numbers worked out by hand, and lambda chosen as it is written."""

import json

import polars as pl
import pytest

from residuum import fusion
from residuum.core import trec
from residuum.core.errors import ResiduumError
from residuum.core.schema.systems import FusionSystem
from residuum.wiring.specs import canonical_json


def system(lexical="minimum", dense="minimum", grid=(0.0, 0.5), k=10):
    return FusionSystem(
        kind="fusion",
        label="f",
        lexical="l",
        dense="d",
        missing={"lexical": lexical, "dense": dense},
        weight={"grid": list(grid), "tune_on": "t", "measure": "RR@10"},
        k=k,
    )


@pytest.fixture
def run(tmp_path):
    """Return a writer of runs: run(name, {(query_id, doc_id): score}) -> path."""

    def write(name, scores):
        rows = [(q, d, float(s)) for (q, d), s in scores.items()]
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
        trec.write_run(tmp_path / name, trec.rank(frame), name)
        return tmp_path / name

    return write


@pytest.fixture
def lists(run):
    lexical = run("lex.gz", {("q", "a"): 10, ("q", "b"): 4, ("r", "x"): 1})
    dense = run("dense.gz", {("q", "b"): 3, ("q", "c"): 2, ("s", "z"): -1})
    return lexical, dense


def test_union_and_minimum_by_hand(lists):
    pairs = fusion.union(system(), *lists, None, None).sort(fusion.PAIR)
    assert pairs.rows() == [
        ("q", "a", 10.0, 2.0),  # not in the dense list, whose minimum is 2
        ("q", "b", 4.0, 3.0),
        ("q", "c", 4.0, 2.0),  # not in the lexical list, whose minimum is 4
        ("r", "x", 1.0, 0.0),  # no dense list at all: 0
        ("s", "z", 0.0, -1.0),
    ]
    # lambda 0.5: a = 5 + 2, b = 2 + 3, c = 2 + 2 (CLEAR Eq. 8).
    fused = fusion.combine(pairs, 0.5, 2)
    assert fused.rows() == [
        ("q", "a", 1, 7.0),
        ("q", "b", 2, 5.0),
        ("r", "x", 1, 0.5),
        ("s", "z", 1, -1.0),
    ]


def test_true_scores_take_the_place_of_what_a_list_lacks(run, lists):
    on_dense = run("ld.gz", {("q", "b"): 4, ("q", "c"): 0.25, ("s", "z"): 0})
    on_lexical = run("dl.gz", {("q", "a"): -7, ("q", "b"): 3, ("r", "x"): 0.5})
    exact = system("true_score", "true_score")
    pairs = fusion.union(exact, *lists, on_dense, on_lexical).sort(fusion.PAIR)
    assert pairs.rows() == [
        ("q", "a", 10.0, -7.0),
        ("q", "b", 4.0, 3.0),
        ("q", "c", 0.25, 2.0),
        ("r", "x", 1.0, 0.5),
        ("s", "z", 0.0, -1.0),
    ]


def test_a_pair_without_its_true_score_is_an_error_not_a_zero(run, lists):
    on_dense = run("ld.gz", {("q", "b"): 4, ("s", "z"): 0})
    with pytest.raises(ResiduumError, match=r"ld\.gz: no lexical score for query q, doc c"):
        fusion.union(system("true_score"), *lists, on_dense, None)
    with pytest.raises(ResiduumError, match="its scores file is needed"):
        fusion.union(system("true_score"), *lists, None, None)


def test_a_scores_file_adds_no_docs(run, lists):
    on_dense = run("ld.gz", {("q", "b"): 4, ("q", "c"): 0.25, ("s", "z"): 0, ("q", "other"): 99})
    pairs = fusion.union(system("true_score"), *lists, on_dense, None)
    assert "other" not in pairs["doc_id"].to_list()


def tuned(tmp_path, lists, grid, relevant):
    trec.write_qrels(tmp_path / "qrels", [("q", relevant, 1)])
    spec = canonical_json(system(grid=grid).model_dump(mode="json"))
    fusion.tune(spec, *lists, tmp_path / "qrels", tmp_path / "t.json")
    return json.loads((tmp_path / "t.json").read_text())


def test_lambda_is_the_best_of_the_grid(tmp_path, lists):
    # b leads with 3 against 2 until lambda reaches 1/6; from then on a does.
    record = tuned(tmp_path, lists, [0.0, 0.1, 0.5, 0.9], "a")
    assert (record["lambda"], record["at_edge"]) == (0.5, False)
    # At lambda 0 the docs a and c tie at 2, and a wins by its id.
    assert [point["RR@10"] for point in record["tried"]] == [0.5, 0.5, 1.0, 1.0]


FOLDS = ["q\tone\nr\ttwo\n", "s\tthree\nt\tunjudged\n"]


def test_each_fold_of_a_collection_gets_the_lambda_that_is_best_on_the_others(tmp_path, run):
    # lambda 0: the dense list alone; lambda 9: the lexical one. In q and r the dense doc is
    # relevant, in s the lexical one: each fold gets what is best for the other, and fails.
    lexical = run("lex.gz", {(q, d): s for q in "qrst" for d, s in (("l", 2), ("d", 1))})
    dense = run("dense.gz", {(q, d): s for q in "qrst" for d, s in (("l", 1), ("d", 2))})
    (tmp_path / "qrels").write_text("q 0 d 1\nr 0 d 1\ns 0 l 1\n")
    paths = [tmp_path / "fold1", tmp_path / "fold2"]
    for path, text in zip(paths, FOLDS, strict=True):
        path.write_text(text)
    spec = canonical_json(system(grid=(0.0, 9.0)).model_dump(mode="json"))
    tuning, output = tmp_path / "t.json", tmp_path / "run.trec.gz"
    fusion.tune(spec, lexical, dense, tmp_path / "qrels", tuning, fold=paths)
    record = json.loads(tuning.read_text())
    assert [fold["chosen"]["lambda"] for fold in record["folds"]] == [9.0, 0.0]
    assert [fold["queries"] for fold in record["folds"]] == [2, 1]
    assert [fold["value_on_others"] for fold in record["folds"]] == [1.0, 1.0]
    assert [fold["value_held_out"] for fold in record["folds"]] == [0.5, 0.5]
    fusion.fuse(spec, lexical, dense, "f", output, tuning)
    first = trec.read_run(output).filter(rank=1).select("query_id", "doc_id").rows()
    assert first == [("q", "l"), ("r", "l"), ("s", "d"), ("t", "d")]
    other = run("other.gz", {("u", "d"): 1})
    with pytest.raises(ResiduumError, match="query u is in none of its folds"):
        fusion.fuse(spec, other, other, "f", output, tuning)
    paths[1].write_text(FOLDS[1].replace("s", "q"))
    with pytest.raises(ResiduumError, match=r"query q is in 2 of the 2 folds \(1, 2\)"):
        fusion.tune(spec, lexical, dense, tmp_path / "qrels", tuning, fold=paths)
    paths[1].write_text("t\tunjudged\n")
    with pytest.raises(ResiduumError, match=r"query s is in 0 of the 2 folds \(none\)"):
        fusion.tune(spec, lexical, dense, tmp_path / "qrels", tuning, fold=paths)


def test_lambda_at_an_edge_is_said(tmp_path, lists, capsys):
    record = tuned(tmp_path, lists, [0.0, 0.1, 0.9], "b")
    assert (record["lambda"], record["at_edge"]) == (0.0, True)
    assert "lambda 0.0 sits at an edge" in capsys.readouterr().err

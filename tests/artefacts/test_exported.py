"""Runs for others' evaluators: scores fall strictly, in single precision too."""

import json
import random

import numpy as np
import polars as pl
import pytest

from residuum.artefacts import exported, trec


def run(*scores, query="q1"):
    n = len(scores)
    return pl.DataFrame(
        {"query_id": [query] * n, "doc_id": [f"d{i}" for i in range(n)], "rank": range(1, n + 1),
         "score": list(map(float, scores))},
        schema_overrides={"rank": pl.Int64},
    )  # fmt: skip


def below(value, steps=1):
    """The float32 so many below, as the double that its shortest decimal reads as."""
    for _ in range(steps):
        value = np.nextafter(np.float32(value), np.float32(-np.inf))
    return float(str(value))


def strict(*scores):
    return exported.strictly(run(*scores))["score"].to_list()


def test_scores_that_fall_stay():
    assert strict(2.5, 2.4, 0.1, 0.0, -3.25) == [2.5, 2.4, 0.1, 0.0, -3.25]


def test_scores_that_tie_are_lowered_by_a_step_each():
    assert strict(3, 1, 1, 1, 0.5) == [3, 1, below(1), below(1, 2), 0.5]
    assert below(1) == 0.99999994  # 1 - 2^-24


def test_what_single_precision_cannot_tell_apart_is_a_tie():
    assert np.float32(20.0000015) == np.float32(20.000001)
    assert strict(20.0000015, 20.000001) == [20.0000015, 20.0]


def test_a_score_that_was_passed_is_lowered_too():
    near = below(1)
    assert strict(1, 1, near) == [1, below(1), below(1, 2)]


def test_zeros_and_negative_scores_that_tie():
    assert strict(0.0, 0.0, -0.0) == [0.0, -1e-45, -3e-45]
    assert strict(-2, -2) == [-2, below(-2)]
    assert below(-2) == -2.0000002


def test_queries_have_nothing_to_do_with_one_another():
    both = pl.concat([run(1, 1), run(1, 1, query="q2"), run(5, query="q3")])
    assert exported.strictly(both)["score"].to_list() == [1, below(1), 1, below(1), 5]


def test_an_empty_run_is_one():
    assert exported.strictly(run()).height == 0


def test_any_run_falls_strictly_and_by_no_more_than_its_ties():
    draw = random.Random(1)
    scores = sorted(round(draw.gauss(0, 3), draw.choice([0, 1, 6])) for _ in range(5000))[::-1]
    made = exported.strictly(run(*scores))["score"].to_list()
    singles = np.array(made, dtype=np.float32)
    assert (np.diff(singles) < 0).all() and (np.diff(made) < 0).all()
    expected = [np.float32(scores[0])]
    for score in scores[1:]:  # by hand, one after the other
        expected.append(min(np.float32(score), np.nextafter(expected[-1], np.float32(-np.inf))))
    assert np.array_equal(singles, np.array(expected))


@pytest.fixture
def tied():
    return exported.strictly(pl.concat([run(2, 1, 1), run(0.25, query="007")]))


def test_lines_of_trec_below_a_header(tmp_path, tied):
    exported.write_trec(tmp_path / "a.trec", tied, "bm25", "# one\n# two\n")
    assert (tmp_path / "a.trec").read_text() == (
        "# one\n# two\nq1 Q0 d0 1 2.0 bm25\nq1 Q0 d1 2 1.0 bm25\n"
        "q1 Q0 d2 3 0.99999994 bm25\n007 Q0 d0 1 0.25 bm25\n"
    )
    exported.write_trec(tmp_path / "b.trec", tied, "bm25")
    assert trec.read_run(tmp_path / "b.trec").equals(tied)


def test_results_of_beir(tmp_path, tied):
    exported.write_beir(tmp_path / "a.json", tied)
    expected = {"q1": {"d0": 2.0, "d1": 1.0, "d2": 0.99999994}, "007": {"d0": 0.25}}
    assert json.loads((tmp_path / "a.json").read_text()) == expected
    exported.write_beir(tmp_path / "none.json", tied.clear())
    assert json.loads((tmp_path / "none.json").read_text()) == {}


def test_parquet(tmp_path, tied):
    exported.write_parquet(tmp_path / "a.parquet", tied)
    assert pl.read_parquet(tmp_path / "a.parquet").equals(tied)

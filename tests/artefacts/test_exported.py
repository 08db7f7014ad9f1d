"""Runs in the forms of other evaluators."""

import json

import polars as pl
import pytest

from residuum.artefacts import exported, falling, trec


@pytest.fixture
def tied():
    rows = [
        ("q1", "d0", 1, 2.0),
        ("q1", "d1", 2, 1.0),
        ("q1", "d2", 3, 1.0),
        ("007", "d0", 1, 0.25),
    ]
    form = {"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64, "score": pl.Float64}
    return falling.strictly(pl.DataFrame(rows, form, orient="row"))


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

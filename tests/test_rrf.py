"""Reciprocal rank fusion against sums worked out by hand."""

import json
from fractions import Fraction

import polars as pl
import pytest

from residuum import rrf
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError

SPEC = {"kind": "rrf", "label": "x", "parts": ["a", "b", "c"], "rank_constant": 60, "k": 1000}


def run(**docs):
    """Return a run of queries, each with its docs in their order."""
    rows = [(q, d, float(-n)) for q, ids in docs.items() for n, d in enumerate(ids.split())]
    return trec.rank(pl.DataFrame(rows, schema=trec.HITS, orient="row"))


def test_each_list_gives_one_over_sixty_and_the_rank():
    fused = rrf.by_rank([run(q="x y z", r="v"), run(q="z x w")], 60, 10)
    assert fused.select("query_id", "doc_id", "rank").rows() == [
        ("q", "x", 1), ("q", "z", 2), ("q", "y", 3), ("q", "w", 4), ("r", "v", 1),
    ]  # fmt: skip
    by_hand = [
        Fraction(1, 61) + Fraction(1, 62),  # x: first and second
        Fraction(1, 63) + Fraction(1, 61),  # z: third and first
        Fraction(1, 62),  # y: second, and not in the other list
        Fraction(1, 63),  # w: third
        Fraction(1, 61),  # v: of a query that one list lacks
    ]
    assert fused["score"].to_list() == pytest.approx(list(map(float, by_hand)), abs=1e-12)
    assert fused["score"][0] == pytest.approx(0.032522474881, abs=1e-12)


def test_equal_sums_go_by_doc_id_whatever_the_order_of_the_lists():
    lists = [run(q="c b a"), run(q="b a c"), run(q="a c b")]  # each first, second and third
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        fused = rrf.by_rank([lists[n] for n in order], 60, 10)
        assert fused["doc_id"].to_list() == ["a", "b", "c"]
        assert fused["score"].n_unique() == 1


def test_deep_ranks_keep_their_order_though_they_differ_by_less_than_a_millionth():
    ids = [f"d{number:04d}" for number in reversed(range(3000))]
    fused = rrf.by_rank([run(q=" ".join(ids)), run(q="e")], 60, 5000)
    assert fused.filter(pl.col("doc_id") != "e")["doc_id"].to_list() == ids
    assert fused.filter(doc_id="e")["rank"].item() == 2, "as good as the first, and after it by id"


def test_no_sum_is_higher_than_that_of_a_doc_that_is_first_everywhere(tmp_path):
    for name in SPEC["parts"]:
        trec.write_run(tmp_path / f"{name}.trec.gz", run(q=f"top {name}", r="d"), name)
    named = [f"{name}={tmp_path / name}.trec.gz" for name in SPEC["parts"]]
    path = tmp_path / "out.trec.gz"
    rrf.fuse(json.dumps({**SPEC, "k": 2}), named, "rrf", path)
    fused = trec.read_run(path)
    assert fused.rows()[0] == ("q", "top", 1, pytest.approx(3 / 61, abs=1e-12))
    assert fused["doc_id"].to_list() == ["top", "a", "d"], "cut at k; b and c tie with a"
    record = json.loads((tmp_path / "out.trec.gz.manifest.json").read_text())
    assert record["artefact"] == {"hits": 3, "answered": 2, "highest": 3 / 61}
    assert list(record["inputs"]) == [str(tmp_path / f"{n}.trec.gz") for n in SPEC["parts"]]
    with pytest.raises(ResiduumError, match="--run c=PATH is missing"):
        rrf.fuse(json.dumps(SPEC), named[:2], "rrf", path)
    with pytest.raises(ResiduumError, match="at least 2 items"):
        rrf.fuse(json.dumps({**SPEC, "parts": ["a"]}), named[:1], "rrf", path)

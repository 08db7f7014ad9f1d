"""Candidates: the first docs of the parts in their order, and random docs that are none of them."""

import json
from random import Random

import polars as pl
import pytest

from corpora import make_corpus
from residuum import candidates
from residuum.artefacts import streams, trec
from residuum.cli.errors import ResiduumError

SPEC = {"kind": "candidates", "parts": [{"system": "a", "top": 3}, {"system": "b", "top": 2}]}
DOCS = [f"d{n:02d}" for n in range(40)]


def write(path, lists):
    rows = [(q, d, float(-n)) for q, docs in lists.items() for n, d in enumerate(docs)]
    hits = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    trec.write_run(path, trec.rank(hits), "x")


@pytest.fixture
def drawn(tmp_path):
    corpus = make_corpus(tmp_path / "corpus", [(doc, "text") for doc in DOCS])
    trec.write_queries(tmp_path / "queries.tsv", [("q1", "x"), ("q2", "y"), ("q0", "z")])
    write(tmp_path / "a.trec.gz", {"q1": ["d09", "d01", "d05", "d02"], "q2": ["d30"]})
    write(tmp_path / "b.trec.gz", {"q1": ["d01", "d07", "d08"]})
    runs = [f"{name}={tmp_path / name}.trec.gz" for name in "ab"]

    def draw(judged=None, **spec):
        output = tmp_path / "out" / "c.trec.gz"
        text = json.dumps({**SPEC, **spec})
        queries = tmp_path / "queries.tsv"
        candidates.draw(corpus, queries, text, runs, "c", output, judged)
        return dict(trec.lists_of(trec.read_run(output)).iter_rows()), output

    return draw


def test_the_parts_come_first_and_random_docs_are_others(drawn):
    lists, _ = drawn(random=10)
    assert lists["q1"][:4] == ["d09", "d01", "d05", "d07"], "three of a, then b's without d01"
    assert lists["q2"][0] == "d30"
    assert [len(lists[q]) for q in ("q0", "q1", "q2")] == [10, 14, 11]
    for docs in lists.values():
        assert len({*docs}) == len(docs) and {*docs} <= {*DOCS}
    assert lists["q0"] != lists["q2"][1:], "each query has a draw of its own"


def test_a_draw_follows_from_seed_and_query_alone(drawn):
    first, path = drawn(random=10)
    before = path.read_bytes()
    _, path = drawn(random=10)
    assert path.read_bytes() == before
    other, _ = drawn(random=10, seed=2)
    assert other["q1"][:4] == first["q1"][:4] and other["q1"] != first["q1"]


def test_each_doc_is_drawn_as_often_as_another():
    ids, counts = DOCS[:8], dict.fromkeys(DOCS[:8], 0)
    for seed in range(3000):
        for doc in streams.drawn(ids, 3, {"d00", "d05"}, Random(seed))[:3]:
            counts[doc] += 1
    assert counts["d00"] == counts["d05"] == 0
    # Of 6 docs 3 are drawn: 1500 each, with a deviation of sqrt(3000 / 4) = 27.
    assert all(abs(n - 1500) < 4 * 27 for doc, n in counts.items() if doc not in ("d00", "d05"))


def test_a_corpus_that_is_too_small_gives_all_it_has(drawn):
    lists, _ = drawn(random=100)
    assert {len(docs) for docs in lists.values()} == {40}


def test_docs_of_earlier_rounds_are_no_candidates(drawn, tmp_path):
    judged = tmp_path / "judged.trec"
    trec.write_qrels(judged, [("q0", doc, 1) for doc in DOCS[:35]])
    lists, _ = drawn(judged=[judged], random=5)
    assert {*lists["q0"]} == {*DOCS[35:]}


def test_a_run_of_other_queries_is_refused(drawn, tmp_path):
    write(tmp_path / "b.trec.gz", {"q9": ["d01"]})
    with pytest.raises(ResiduumError, match="query q9 of a part's run is not in the split's"):
        drawn(random=1)

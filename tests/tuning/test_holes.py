"""Holes@k by hand and by plain loops; columns of it are compared with nothing."""

import numpy as np
import polars as pl
import pytest

from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.config import measures
from residuum.tuning.evaluation import evaluate, of_rankings
from tables_fixture import TABLE, job

QRELS = pl.DataFrame(
    [("q1", "a", 1), ("q1", "b", 0), ("q2", "c", 2), ("q3", "d", 1), ("q4", "e", 0)],
    schema=["query_id", "doc_id", "relevance"],
    orient="row",
)


def run(lists):
    rows = [
        (query, doc, place, float(-place))
        for query, docs in lists.items()
        for place, doc in enumerate(docs, start=1)
    ]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "rank", "score"], orient="row")


def test_unjudged_docs_of_the_first_k_by_hand():
    """q1: a judged, c judged of another query alone, b judged as not relevant; q3 has no list."""
    lists = run({"q1": ["a", "c", "b", "x"], "q2": ["x", "y", "c"], "q4": ["e"], "q9": ["z"]})
    shown = evaluate(lists, QRELS, ["Holes@2", "Holes@10"])
    values = {(query, name): value for query, name, value in shown.iter_rows()}
    assert values == {
        ("q1", "Holes@2"): 0.5, ("q2", "Holes@2"): 1.0, ("q3", "Holes@2"): 0.0,
        ("q4", "Holes@2"): 0.0, ("q1", "Holes@10"): 0.5,
        ("q2", "Holes@10"): pytest.approx(2 / 3), ("q3", "Holes@10"): 0.0,
        ("q4", "Holes@10"): 0.0,
    }  # fmt: skip
    assert shown["query_id"].to_list()[:4] == ["q1", "q2", "q3", "q4"]


def test_random_lists_agree_with_plain_loops():
    random = np.random.default_rng(5)
    docs = [f"d{n}" for n in range(60)]
    lists = {f"q{n}": random.permutation(docs)[: random.integers(1, 40)] for n in range(30)}
    judged = {(q, str(d)) for q in lists for d in random.permutation(docs)[:25]}
    qrels = pl.DataFrame(
        [(q, d, int(random.integers(0, 3))) for q, d in sorted(judged)],
        schema=["query_id", "doc_id", "relevance"],
        orient="row",
    )
    shown = evaluate(run(lists), qrels, ["Holes@10"])
    for query, _, value in shown.iter_rows():
        first = lists[query][:10]
        assert value == pytest.approx(sum((query, d) not in judged for d in first) / len(first))


def test_it_has_a_depth_and_words_and_is_read_of_judgements():
    assert measures.reads("Holes@10") == "judgements" and measures.cutoff("Holes@10") == 10
    assert measures.words("Holes@10").startswith("Share of the first docs that nobody judged at 10")
    with pytest.raises(ResiduumError, match="cannot read the measure 'Holes': write such as"):
        measures.cutoff("Holes")


def test_a_column_of_it_is_shown_and_compared_with_nothing():
    plain = {**TABLE["columns"][0], "id": "rr"}
    assert [*job().compared()]
    shown = [plain | {"measure": "Holes@10", "compared": False}]
    assert [*job(columns=shown, reported={}, tolerance={}).compared()] == []


def test_neighbouring_settings_cannot_share_what_depends_on_unjudged_docs():
    """Lists that differ in unjudged docs alone have one value: it counts them, and not which."""
    runs = [run({"q1": ["a", "x", "b"]}), run({"q1": ["a", "y", "b"]}), run({"q1": ["x", "y"]})]
    cut = [one.select(*trec.PAIR, "rank") for one in runs]
    values = of_rankings(cut, QRELS.filter(query_id="q1"), "Holes@10")
    assert values.tolist() == [[pytest.approx(1 / 3)], [pytest.approx(1 / 3)], [1.0]]

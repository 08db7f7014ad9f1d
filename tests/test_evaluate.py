"""Metrics against hand-computed values; ties and missing queries count as written."""

import json
import math

import numpy as np
import polars as pl
import pytest

from corpora import make_corpus
from residuum import evaluate as stage
from residuum.artefacts import contracts, manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.tuning.evaluation import evaluate, means

RUN_FORM = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
QRELS_FORM = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}


def run(rows):
    return trec.rank(pl.DataFrame(rows, schema=RUN_FORM, orient="row"))


def qrels(rows):
    return pl.DataFrame(rows, schema=QRELS_FORM, orient="row")


def value(metrics, query_id, measure):
    return metrics.filter(query_id=query_id, measure=measure)["value"].item()


def test_by_hand():
    judged = qrels([("q", "a", 3), ("q", "b", 1), ("q", "c", 2), ("q", "z", 2)])
    ranked = run([("q", "b", 9.0), ("q", "x", 8.0), ("q", "a", 7.0), ("q", "c", 6.0)])
    names = ["RR@10", "RR(rel=2)@10", "nDCG@10", "AP(rel=2)@1000", "R(rel=2)@1000", "P@10"]
    metrics = evaluate(ranked, judged, names)
    dcg = 1 / math.log2(2) + 3 / math.log2(4) + 2 / math.log2(5)
    ideal = 3 / math.log2(2) + 2 / math.log2(3) + 2 / math.log2(4) + 1 / math.log2(5)
    expected = {
        "RR@10": 1.0,
        "RR(rel=2)@10": 1 / 3,
        "nDCG@10": dcg / ideal,
        "AP(rel=2)@1000": (1 / 3 + 2 / 4) / 3,
        "R(rel=2)@1000": 2 / 3,
        "P@10": 3 / 10,
    }
    for name in names:
        assert value(metrics, "q", name) == pytest.approx(expected[name]), name


def test_a_judged_query_that_the_run_lacks_counts_zero_and_an_unjudged_one_not_at_all():
    judged = qrels([("q", "a", 1), ("r", "a", 1)])
    metrics = evaluate(run([("q", "a", 1.0), ("unjudged", "a", 1.0)]), judged, ["RR@10"])
    assert metrics.sort("query_id").rows() == [("q", "RR@10", 1.0), ("r", "RR@10", 0.0)]
    assert means(metrics) == {"RR@10": 0.5}


@pytest.mark.parametrize(("relevant", "expected"), [("a", 1.0), ("b", 1 / 2), ("c", 1 / 3)])
def test_tied_scores_are_evaluated_in_the_order_of_the_ranks(relevant, expected):
    ranked = run([("q", "c", 1.0), ("q", "b", 1.0), ("q", "a", 1.0)])
    metrics = evaluate(ranked, qrels([("q", relevant, 1)]), ["RR@10", "nDCG@10", "AP@1000"])
    assert value(metrics, "q", "RR@10") == pytest.approx(expected)
    assert value(metrics, "q", "AP@1000") == pytest.approx(expected)
    discount = math.log2(1 + 1 / expected)
    assert value(metrics, "q", "nDCG@10") == pytest.approx(1 / discount)


def test_recall_beyond_the_cut_is_not_seen():
    ranked = run([("q", f"d{i:03d}", 200.0 - i) for i in range(200)])
    metrics = evaluate(ranked, qrels([("q", "d150", 1)]), ["R@100", "R@1000", "RR@10"])
    result = {row[1]: row[2] for row in metrics.rows()}
    assert result == {"R@100": 0.0, "R@1000": 1.0, "RR@10": 0.0}


def test_judged_only_looks_for_judged_docs_below_the_cutoff():
    ranked = run([("q", f"d{i:02d}", 50.0 - i) for i in range(40)])
    judged = qrels([("q", "d20", 1), ("q", "d30", 0), ("q", "d35", 1)])
    metrics = evaluate(ranked, judged, ["P(judged_only=True)@2", "P@2"])
    assert {row[1]: row[2] for row in metrics.rows()} == {"P(judged_only=True)@2": 0.5, "P@2": 0.0}


def test_two_spellings_of_one_measure_both_get_its_values():
    names = ["AP@1000", "AP(rel=1)@1000", "RR@10", "RR(rel=1)@10"]
    metrics = evaluate(run([("q", "a", 1.0)]), qrels([("q", "a", 1)]), names)
    assert {row[1]: row[2] for row in metrics.rows()} == dict.fromkeys(names, 1.0)


def test_nothing_to_evaluate_against_and_unknown_measure():
    with pytest.raises(ResiduumError, match="qrels are empty"):
        evaluate(run([("q", "a", 1.0)]), qrels([]), ["RR@10"])
    for name in ("MRRR@10", "P"):
        with pytest.raises(ResiduumError, match=f"cannot read the measure '{name}'"):
            evaluate(run([("q", "a", 1.0)]), qrels([("q", "a", 1)]), [name])


def test_a_measure_in_other_letters_is_close():
    for name, near in (
        ("ndcg@10", "Close: nDCG"),
        ("mrr", "Close: MRR"),
        ("P", "it needs a cutoff"),
    ):
        with pytest.raises(ResiduumError, match=near):
            evaluate(run([("q", "a", 1.0)]), qrels([("q", "a", 1)]), [name])


def test_measures_of_a_provider_that_reads_numbers_only():
    ranked = run([("q", "a", 3.0), ("q", "b", 2.0), ("q", "c", 1.0)])
    name = "nDCG(dcg='exp-log2')@10"
    result = evaluate(ranked, qrels([("q", "a", 1), ("q", "c", 2)]), [name])
    gain, ideal = 1 + 3 / math.log2(4), 3 + 1 / math.log2(3)
    assert result["value"].item() == pytest.approx(gain / ideal, abs=1e-5)


def test_means_do_not_depend_on_the_order_of_queries():
    random = np.random.default_rng(3)
    values = random.random(500)
    table = pl.DataFrame({"query_id": map(str, range(500)), "measure": "RR", "value": values})
    expected = {"RR": math.fsum(values) / 500}
    for seed in range(20):
        assert means(table.sample(fraction=1.0, shuffle=True, seed=seed)) == expected


def test_the_manifest_names_the_index_that_the_run_searched(tmp_path):
    path, judged = tmp_path / "run.trec.gz", tmp_path / "qrels.trec"
    trec.write_run(path, run([("q", "a", 1.0)]), "bm25")
    trec.write_qrels(judged, [("q", "a", 1)])

    def facts():
        stage.run(path, judged, ["RR@10"], tmp_path / "m.tsv")
        return json.loads(manifest.beside(tmp_path / "m.tsv").read_text())

    assert "index" not in facts()["artefact"]
    beside = manifest.beside(path)
    beside.write_text(json.dumps({"artefact": {"hits": 1, "index": {"documents": 3}}}))
    assert facts()["artefact"]["index"] == {"documents": 3}
    assert str(beside) in facts()["inputs"]


def test_what_orders_reach_by_answers(tmp_path):
    """Two of four docs hold an answer to q: of six pairs of docs one holds none. None answers r.

    Of q's three candidates one holds an answer, first in a third of the orders.
    """
    texts = [("a", "born in Ulm"), ("b", "ULM again"), ("c", "of Ulmer"), ("d", "no")]
    make_corpus(tmp_path / "corpus", texts)
    (tmp_path / "qrels.trec").write_text("# no public judgements\n")  # as of NQ's test questions
    answers = tmp_path / "answers.jsonl"
    contracts.write_answers(answers, {"q": ["Ulm"], "r": ["Bonn"]})
    listed = run([("q", "c", 3.0), ("q", "a", 2.0), ("q", "d", 1.0)])
    trec.write_run(tmp_path / "drawn.trec.gz", listed, "drawn")
    names = ["AnswerAccuracy@1", "AnswerAccuracy@2"]
    qrels, corpus = tmp_path / "qrels.trec", tmp_path / "corpus"
    stage.bounds(qrels, corpus, names, tmp_path / "whole.tsv", answers)
    assert trec.read_bounds(tmp_path / "whole.tsv").rows() == [
        ("q", "AnswerAccuracy@1", 0.5, 1.0),
        ("r", "AnswerAccuracy@1", 0.0, 0.0),
        ("q", "AnswerAccuracy@2", pytest.approx(5 / 6), 1.0),
        ("r", "AnswerAccuracy@2", 0.0, 0.0),
    ]
    stage.over(qrels, tmp_path / "drawn.trec.gz", names, tmp_path / "of.tsv", answers, corpus)
    assert trec.read_bounds(tmp_path / "of.tsv").rows()[0] == (
        *("q", "AnswerAccuracy@1"),
        *(pytest.approx(1 / 3), 1.0),
    )


def test_what_a_random_order_and_the_best_order_reach(tmp_path):
    """Of four docs one is relevant to q, and two to r, whose order is drawn from three docs.

    The relevant doc of q is first in a quarter of the orders, so RR@2 is 1/4 (1 + 1/2). A doc of r
    is first in a third of the orders of its candidates, second in another third; one of its two
    relevant docs is no candidate, so the best recall is 1/2.
    """
    make_corpus(tmp_path / "corpus", [(doc_id, "text") for doc_id in "abcd"])
    judged = [("q", "a", 1), ("q", "b", 0), ("r", "a", 2), ("r", "d", 1)]
    trec.write_qrels(tmp_path / "qrels.trec", judged)
    listed = run([("q", "a", 2.0), ("r", "a", 3.0), ("r", "b", 2.0), ("r", "c", 1.0)])
    trec.write_run(tmp_path / "drawn.trec.gz", listed, "drawn")
    names = ["RR@2", "R@2", "AnswerAccuracy@2"]
    stage.bounds(tmp_path / "qrels.trec", tmp_path / "corpus", names, tmp_path / "whole.tsv")
    assert trec.read_bounds(tmp_path / "whole.tsv").rows() == [
        ("q", "R@2", 0.5, 1.0),
        ("r", "R@2", 0.5, 1.0),
        ("q", "RR@2", pytest.approx(1 / 4 + 1 / 8), 1.0),
        ("r", "RR@2", pytest.approx(1 / 2 + 1 / 3 / 2), 1.0),
    ]
    drawn = tmp_path / "drawn.trec.gz"
    stage.over(tmp_path / "qrels.trec", drawn, names, tmp_path / "of.tsv")
    assert trec.read_bounds(tmp_path / "of.tsv").rows() == [
        ("q", "R@2", 1.0, 1.0),
        ("r", "R@2", pytest.approx(1 / 3), 0.5),
        ("q", "RR@2", 1.0, 1.0),
        ("r", "RR@2", pytest.approx(1 / 3 + 1 / 6), 1.0),
    ]
    assert manifest.read(tmp_path / "whole.tsv.manifest.json")["artefact"]["docs"] == 4

"""Whether a model learned, by hand: against its start, against chance, by errors."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.tuning.learned import (
    Learned,
    OnCandidates,
    Verdict,
    by_errors,
    by_ranks,
    on_candidates,
    read_all,
    with_candidates,
)

QUERIES = [f"q{i:02d}" for i in range(30)]
DOCS = [f"d{i:02d}" for i in range(30)]


def scores(trained: float, start: float) -> pl.DataFrame:
    """Each query's own doc has these scores, the others 29, 28, ... 1."""
    rows = []
    for number, query in enumerate(QUERIES):
        others = [doc for doc in DOCS if doc != f"d{number:02d}"]
        rows += [(query, doc, 29.0 - i, 29.0 - i) for i, doc in enumerate(others)]
        rows.append((query, f"d{number:02d}", trained, start))
    schema = {
        "query_id": pl.String,
        "doc_id": pl.String,
        "trained": pl.Float64,
        "start": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


QRELS = pl.DataFrame(
    [(query, f"d{i:02d}", 1) for i, query in enumerate(QUERIES)],
    schema={"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64},
    orient="row",
)


def test_a_model_that_ranks_better_than_its_start_learned() -> None:
    verdict, queries = by_ranks(scores(trained=28.5, start=25.5), QRELS, "RR@10")
    assert queries == 30 and verdict.learned
    assert verdict.means["trained"] == pytest.approx(1 / 2)
    assert verdict.means["start"] == pytest.approx(1 / 5)
    # of 30 docs one is relevant: the sum of 1/k over 10 of 30 places, from 20 orders of 30 queries
    chance = sum(1 / k for k in range(1, 11)) / 30
    assert verdict.means["random order"] == pytest.approx(chance, abs=0.03)
    assert (verdict.better, verdict.worse) == (30, 0)
    assert verdict.reason == "RR@10 0.5 is better than 0.2, that of the start"


@pytest.mark.parametrize("trained", [25.5, 24.5])
def test_one_that_is_no_better_did_not(trained: float) -> None:
    verdict, _ = by_ranks(scores(trained, start=25.5), QRELS, "RR@10")
    assert not verdict.learned and "is no better than 0.2, that of the start" in verdict.reason


def test_one_that_beats_a_bad_start_but_not_chance_did_not() -> None:
    """Its scores are all equal: ties are no order, and ids do not decide them."""
    table = scores(0.0, 0.0).with_columns(trained=pl.lit(1.0))
    verdict, _ = by_ranks(table, QRELS, "RR@10")
    assert verdict.means["trained"] > verdict.means["start"] == 0
    assert not verdict.learned and "within 2 standard errors of a random order" in verdict.reason


def test_errors_are_better_where_they_are_less() -> None:
    verdict = by_errors(np.array([0.1, 0.3]), np.array([0.2, 0.25]), "mean target")
    assert verdict.learned and (verdict.better, verdict.worse) == (1, 1)
    assert verdict.reason == "squared error 0.2 is better than 0.225, that of the mean target"
    assert not by_errors(np.array([0.2]), np.array([0.2]), "mean target").learned


def test_errors_are_less_than_those_of_shuffled_docs_beyond_chance() -> None:
    trained, start = np.array([1.0, 2.0, 3.0, 4.0]), np.full(4, 9.0)
    # differences of mean 1 and standard errors 0 and, with ddof 1, sqrt(4 / 3 / 4) = 0.577
    better = by_errors(trained, start, "start", trained + 1)
    assert better.learned and better.reason == (
        "-log p of a token 2.5 is better than 9, that of the start"
    )
    assert better.means == {"trained": 2.5, "start": 9.0, "shuffled docs": 3.5}
    chance = by_errors(trained, start, "start", np.array([1.0, 4.0, 3.0, 6.0]))
    assert not chance.learned and (chance.better, chance.worse) == (4, 0)
    text = "within 2 standard errors of that of shuffled docs, 3.5 ± 0.58"
    assert text in chance.reason
    worse = by_errors(start, trained, "start", start + 1)
    assert not worse.learned and "no better than 2.5, that of the start" in worse.reason
    assert not by_errors(trained[:1], start[:1], "start", start[:1]).learned, "one shows no spread"


def test_a_verdict_is_read_as_it_was_written(tmp_path: Path) -> None:
    verdict, queries = by_ranks(scores(28.5, 25.5), QRELS, "RR@10")
    made = Learned(split_ref="d/tune", measure="RR@10", examples=queries, **verdict._asdict())
    made.write(tmp_path / "clear" / "seed1.json")
    assert read_all([tmp_path / "clear" / "seed1.json"]) == {"clear/seed1": made}
    (tmp_path / "clear" / "seed1.json").write_text("{}")
    with pytest.raises(ResiduumError, match=r"seed1\.json: .*learned"):
        read_all([tmp_path / "clear" / "seed1.json"])
    assert trec.PAIR == ["query_id", "doc_id"]


def curve(**values):
    """Return a depth curve of one run: RR@10 and recall of each query at depths 2 and 4."""
    rows = [
        ("run", depth, query, measure, value)
        for query, (two, four, recall) in values.items()
        for depth, measure, value in (
            (2, "RR@10", two), (4, "RR@10", four), (2, "recall", 0.0), (4, "recall", recall),
            (4, "docs_reranked", 4.0),
        )
    ]  # fmt: skip
    columns = ["run", "depth", "query_id", "measure", "value"]
    return pl.DataFrame(rows, schema=columns, orient="row")


OF_TWO = pl.DataFrame(
    [(f"q{n}", doc, 1) for n in range(4) for doc in "ab"],
    schema=["query_id", "doc_id", "relevance"], orient="row",
)  # fmt: skip


def test_a_reranker_is_compared_with_random_orders_of_the_docs_that_it_reranks():
    """Half of two relevant docs is one of four: RR@10 by chance (1 + 1/2 + 1/3 + 1/4) / 4.

    Both of four: 1/2 + 1/3 1/2 + 1/6 1/3. None: 0.
    """
    made = curve(q0=(1, 1.0, 0.5), q1=(1, 0.5, 0.5), q2=(1, 1.0, 1.0), q3=(1, 0.0, 0.0))
    [one] = on_candidates(made, OF_TWO, "RR@10")
    alone, both = 25 / 48, 1 / 2 + 1 / 6 + 1 / 18
    assert (one.run, one.depth, one.mean) == ("run", 4, 0.625)
    assert one.chance == pytest.approx((2 * alone + both) / 4)
    gains = [1 - alone, 0.5 - alone, 1 - both, 0.0]
    assert one.error == pytest.approx(np.std(gains, ddof=1) / 2)
    assert one.above == pytest.approx(np.mean(gains) / one.error)


def test_a_reranker_that_orders_what_it_sees_at_random_did_not_learn():
    """Though it learned to order other candidates."""
    learned = Verdict(True, "better", {"trained": 0.6, "start": 0.2, "random order": 0.2}, 9, 1)
    good, bad = OnCandidates("good", 50, 0.4, 0.05, 0.05), OnCandidates("bad", 50, 0.06, 0.05, 0.01)
    assert with_candidates(learned, [], "RR@10") is learned
    kept = with_candidates(learned, [good], "RR@10")
    assert kept.learned and kept.means["first 50 docs of good"] == 0.4
    lost = with_candidates(learned, [good, bad], "RR@10")
    assert not lost.learned and "0.060 on the first 50 docs of bad is within 2" in lost.reason
    assert lost.means["random order of these"] == 0.05
    unlearned = learned._replace(learned=False, reason="no better")
    assert with_candidates(unlearned, [bad], "RR@10").reason == "no better"

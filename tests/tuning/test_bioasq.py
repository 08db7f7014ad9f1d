"""BioASQ's measures by hand, and against plain Python over drawn runs."""

import math

import numpy as np
import polars as pl
import pytest

from residuum.config import measures
from residuum.tuning.evaluation import evaluate, means

NAMES = ["BioASQ_AP@10", "BioASQ_P@10", "BioASQ_R@10", "BioASQ_F1@10"]


def run_of(lists):
    rows = [(q, d, n) for q, docs in lists.items() for n, d in enumerate(docs, 1)]
    schema = {"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(score=-pl.col("rank") / 1)


def qrels_of(gold):
    rows = [(q, d, level) for q, docs in gold.items() for d, level in docs.items()]
    schema = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def values(lists, gold, names=NAMES):
    table = evaluate(run_of(lists), qrels_of(gold), names)
    return {(q, name): value for q, name, value in table.iter_rows()}


def docs(*numbers):
    return [f"d{number}" for number in numbers]


@pytest.mark.parametrize(
    ("ranked", "gold", "expected"),
    [
        # 25 gold docs, ten found: AP@10 of trec_eval is 0.4
        (docs(*range(10)), docs(*range(25)), (1.0, 1.0, 0.4, 2 * 0.4 / 1.4)),
        (docs(1, 7, 2), docs(1, 2), ((1 + 2 / 3) / 2, 2 / 3, 1.0, 0.8)),
        (docs(7, 8), docs(1, 2), (0.0, 0.0, 0.0, 0.0)),
        # four docs returned: precision divides by four
        (docs(1, 2, 8, 9), docs(1, 2, 3, 4, 5), (2 / 5, 0.5, 0.4, 0.4 / 0.9)),
        # the eleventh doc does not count
        (docs(*range(20, 30), 1), docs(1), (0.0, 0.0, 0.0, 0.0)),
        ([], docs(1), (0.0, 0.0, 0.0, 0.0)),
        (docs(1), [], (0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_values_by_hand(ranked, gold, expected):
    judged = dict.fromkeys(gold, 1) | {"other": 0}
    found = values({"q": ranked}, {"q": judged})
    assert tuple(found["q", name] for name in NAMES) == pytest.approx(expected, abs=1e-15)


def by_plain_python(ranked, gold):
    """Return AP, P, R and F1 of at most ten docs of a question."""
    ranked, hits, total = ranked[:10], 0, 0.0
    for place, doc in enumerate(ranked, 1):
        if doc in gold:
            hits += 1
            total += hits / place
    p, r = hits / len(ranked) if ranked else 0.0, hits / len(gold)
    return total / min(len(gold), 10), p, r, 2 * p * r / (p + r) if p + r else 0.0


def test_drawn_runs_have_the_values_of_plain_python_and_their_means():
    random = np.random.default_rng(5)
    lists, gold = {}, {}
    for number in range(200):
        drawn = [f"d{n}" for n in random.permutation(60)]
        lists[f"q{number:03}"] = drawn[: random.integers(0, 25)]
        size = random.integers(1, 30)
        chosen = random.choice(60, size=size, replace=False)
        gold[f"q{number:03}"] = dict.fromkeys([f"d{n}" for n in chosen], 1)
    found = values(lists, gold, [*NAMES, "BioASQ_GMAP@10"])
    for query, judged in gold.items():
        expected = by_plain_python(lists[query], {*judged})
        assert [found[query, name] for name in NAMES] == pytest.approx(expected, abs=1e-12)
        assert found[query, "BioASQ_GMAP@10"] == found[query, "BioASQ_AP@10"]
    table = evaluate(run_of(lists), qrels_of(gold), ["BioASQ_GMAP@10", "BioASQ_AP@10"])
    ap = [by_plain_python(lists[query], {*judged})[0] for query, judged in gold.items()]
    by_hand = math.exp(sum(math.log(value + 1e-5) for value in ap) / len(ap))
    averages = means(table)
    assert averages["BioASQ_GMAP@10"] == pytest.approx(by_hand, rel=1e-12)
    assert averages["BioASQ_AP@10"] == pytest.approx(sum(ap) / len(ap), rel=1e-12)
    assert averages["BioASQ_GMAP@10"] < averages["BioASQ_AP@10"] / 2


def test_a_geometric_mean_is_refused_where_runs_are_tested():
    assert not measures.is_tested("BioASQ_GMAP@10") and measures.is_tested("BioASQ_AP@10")
    fault = measures.fault("BioASQ_GMAP@10", ["judgements"])
    assert fault is not None and "tests compare arithmetic means, and its mean is another" in fault
    assert measures.fault("BioASQ_AP@10", ["judgements"]) is None

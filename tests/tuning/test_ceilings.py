"""Chance and ceiling of measures, against all orders of a few docs, by ir_measures."""

from itertools import permutations

import polars as pl
import pytest

from residuum.tuning.ceilings import ceiling, chance
from residuum.tuning.evaluation import evaluate

MEASURES = ["RR@10", "RR@2", "Success@2", "R@3", "R(rel=2)@3", "P@4", "AP@3", "AP", "nDCG@3"]
MEASURES += ["nDCG"]
DOCS = ["a", "b", "c", "d", "e", "f"]


def values(listed, grades):
    """Return the value of every order of listed docs by each measure, each order a query."""
    orders = list(permutations(listed))
    names = [f"q{number:04d}" for number in range(len(orders))]
    run = pl.DataFrame(
        [
            (name, doc, rank, float(-rank))
            for name, order in zip(names, orders, strict=True)
            for rank, doc in enumerate(order, 1)
        ],
        schema=["query_id", "doc_id", "rank", "score"],
        orient="row",
    )
    judged = [(name, doc, grade) for name in names for doc, grade in grades.items()]
    qrels = pl.DataFrame(judged, schema=["query_id", "doc_id", "relevance"], orient="row")
    found = evaluate(run, qrels, MEASURES)
    return {measure: found.filter(measure=measure)["value"].to_list() for measure in MEASURES}


@pytest.mark.parametrize(
    "grades", [{"c": 1}, {"a": 1, "f": 2}, {"b": 3, "c": 1, "d": 2, "a": 0}], ids=len
)
def test_chance_and_ceiling_are_the_mean_and_the_most_of_all_orders(grades):
    relevant = [grade for grade in grades.values() if grade > 0]
    for measure, every in values(DOCS, grades).items():
        assert chance(measure, relevant, relevant, len(DOCS)) == pytest.approx(
            sum(every) / len(every)
        )
        assert ceiling(measure, relevant, relevant) == pytest.approx(max(every))


def test_chance_and_ceiling_of_some_listed_docs_count_those_that_are_missing():
    grades = {"a": 1, "b": 2, "z": 2}
    listed = ["a", "b", "c", "d"]
    for measure, every in values(listed, grades).items():
        most = ceiling(measure, [1, 2], [1, 2, 2])
        assert most == pytest.approx(max(every)), measure
        mean = chance(measure, [1, 2], [1, 2, 2], len(listed))
        assert mean == pytest.approx(sum(every) / len(every)), measure


def test_what_no_formula_is_of_has_none_and_no_relevant_doc_gives_0():
    assert chance("Holes@10", [1], [1], 5) is None
    assert ceiling("Holes@10", [1], [1]) is None
    assert chance("RR@10", [], [], 5) == ceiling("RR@10", [], [1]) == 0.0


def test_average_precision_of_bioasq_counts_ten_docs():
    """Twelve of twelve docs are relevant: each rank has precision 1, and ten ranks count."""
    assert chance("BioASQ_AP@10", [1] * 12, [1] * 12, 12) == pytest.approx(1.0)
    assert ceiling("BioASQ_AP@10", [1] * 12, [1] * 12) == pytest.approx(1.0)


def test_answers_by_chance_as_the_audit_counted_them():
    """16 of 8,200 docs hold an answer: ten random docs answer 2% of the questions, 4 of 200."""
    assert 200 * chance("AnswerAccuracy@10", [1] * 16, [1] * 16, 8200) == pytest.approx(
        3.9, abs=0.05
    )

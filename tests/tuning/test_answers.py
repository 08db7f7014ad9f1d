"""AnswerAccuracy@k: DPR's answer match, by hand and against Pyserini's copy of DPR's own code."""

import random

import polars as pl
import pytest
from pyserini.eval.evaluate_dpr_retrieval import SimpleTokenizer, has_answers

from residuum.artefacts import trec
from residuum.tuning.answers import tokens
from residuum.tuning.evaluation import answer_accuracy

FORM = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
TOKENIZER = SimpleTokenizer()

PASSAGES = [
    "The prize went to Wilhelm Conrad Röntgen, of Germany, in 1901.",
    "In 1,901 cases — and only then — the U.S.A. paid $5.50 (about £4).",
    "Ro\u0308ntgen wrote of x-rays; 'X rays' came later. It's done.",
    "naïve cafés, déjà vu; 東京 and Straße, ﬁrst of all. 3rd",
    "",
]
ANSWERS = [
    "wilhelm conrad röntgen",
    "Wilhelm Conrad Ro\u0308ntgen",
    "Conrad",
    "rad",
    "1,901",
    "1901",
    "U.S.A.",
    "USA",
    "$5.50",
    "X-rays",
    "x rays",
    "it's",
    "its",
    "cafes",
    "cafés",
    "東京",
    "東",
    "STRASSE",
    "straße",
    "first",
    "3rd",
    "3",
    ".",
]


def result(passage, answers):
    run = trec.rank(pl.DataFrame([("q", "d", 1.0)], schema=FORM, orient="row"))
    docs = [{"doc_id": "d", "text": passage}]
    return answer_accuracy(run, {"q": answers}, docs, ["AnswerAccuracy@1"])["value"].item() == 1.0


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("passage", PASSAGES)
def test_a_match_is_dprs_match(passage, answer):
    assert result(passage, [answer]) == has_answers(passage, [answer], TOKENIZER)


def test_random_strings_match_as_dprs_do():
    draw = random.Random(1)
    letters = "aAbé\u0301 .-'5ß\u00a0\tﬁ東$"
    matches = 0
    for _ in range(2000):
        passage = "".join(draw.choices(letters, k=12))
        answer = "".join(draw.choices(letters.replace("\t", ""), k=draw.randint(1, 3)))
        if not tokens(answer):
            continue
        expected = has_answers(passage, [answer], TOKENIZER)
        matches += expected
        assert result(passage, [answer]) == expected, (passage, answer)
    assert 100 < matches < 1900, "the strings tell nothing apart"


def test_one_of_the_first_k_docs_is_enough_and_a_question_without_hits_counts_0():
    rows = [("q1", "no", 3.0), ("q1", "also no", 2.0), ("q1", "yes", 1.0), ("q2", "yes", 1.0)]
    run = trec.rank(pl.DataFrame(rows, schema=FORM, orient="row"))
    docs = [
        {"doc_id": "no", "text": "answer 42", "body": "nothing here"},
        {"doc_id": "yes", "text": "t 42", "body": "it is 42"},
        {"doc_id": "also no", "text": "none"},
        {"doc_id": "elsewhere", "text": "42"},
    ]
    answers = {"q1": ["41", "42"], "q2": ["43"], "q3": ["42"]}
    values = answer_accuracy(run, answers, docs, ["AnswerAccuracy@2", "AnswerAccuracy@3"])
    table = {(q, m): v for q, m, v in values.iter_rows()}
    assert table == {
        ("q1", "AnswerAccuracy@2"): 0.0, ("q1", "AnswerAccuracy@3"): 1.0,
        ("q2", "AnswerAccuracy@2"): 0.0, ("q2", "AnswerAccuracy@3"): 0.0,
        ("q3", "AnswerAccuracy@2"): 0.0, ("q3", "AnswerAccuracy@3"): 0.0,
    }  # fmt: skip

"""ir_datasets reads the replica of DPR's Natural Questions; answers are held where it says."""

import ast
import csv
import json
import unicodedata
from gzip import decompress

import pytest
import regex

from replicas import dpr_w100, reading

NAME = "dpr-w100"
TRAIN, DEV = f"{NAME}/natural-questions/train", f"{NAME}/natural-questions/dev"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def replica(folders):
    return dpr_w100.write(*folders)


@pytest.fixture(scope="module")
def result(folders, replica):
    return reading.read(folders[0], [NAME], [TRAIN, DEV])


def test_every_passage_is_read_with_the_quotes_of_the_file(replica, result):
    assert reading.docs(result, NAME) == replica.docs
    assert replica.counts()["docs"] == 600
    texts = [doc["text"] for _, doc in replica.docs]
    assert all(text[0] == text[-1] == '"' for text in texts)
    assert sum('""the ' in text for text in texts) == 120 + 40 + 60


def test_csv_takes_the_quotes_away(folders, replica):
    lines = decompress((folders[0] / NAME / "docs.tsv.gz").read_bytes()).decode().split("\n")
    rows = list(csv.reader(lines[:-1], delimiter="\t"))
    assert rows[0] == ["id", "text", "title"]
    assert [row[0] for row in rows[1:]] == [str(i) for i in range(1, 601)]
    assert [row[1] for row in rows[1:]] == list(_passages(replica).values())


@pytest.mark.parametrize(("split", "queries"), [(TRAIN, 120), (DEV, 40)])
def test_questions_answers_and_levels_are_read(replica, result, split, queries):
    assert reading.queries(result, split) == replica.queries[split]
    assert len(replica.queries[split]) == queries
    rows = {row["query_id"]: row["answers"] for row in result["queries"][split]["rows"]}
    assert rows == replica.answers[split]
    assert reading.qrels(result, split) == replica.qrels[split]
    levels = replica.counts()["splits"][split]["relevance"]
    assert set(levels) == {-1, 0, 1, 2}
    assert levels[2] == queries and levels[0] == 3 * queries and levels[-1] == 5 * queries


def test_contexts_have_the_fields_of_the_original(folders, replica):
    records = json.loads(decompress((folders[0] / NAME / "nq-dev.json.gz").read_bytes()))
    assert list(records[0]) == ["dataset", "question", "answers", "positive_ctxs", "negative_ctxs",
                                "hard_negative_ctxs"]  # fmt: skip
    texts = _passages(replica)
    for record in records:
        for context in record["positive_ctxs"]:
            assert context["text"] == texts[context["passage_id"]], "without the quotes of the TSV"
            assert set(context) == {"title", "text", "score", "title_score", "passage_id"}


def test_test_questions_are_read_as_dpr_reads_them(folders, replica):
    path = folders[1] / "nq" / "nq-test.qa.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert len(rows) == 60
    assert [row[0] for row in rows] == list(replica.queries["nq-test"].values())
    assert [ast.literal_eval(row[1]) for row in rows] == list(replica.answers["nq-test"].values())
    quoted = [line for line in path.read_text(encoding="utf-8").splitlines() if '\t"[' in line]
    assert quoted, "a list with an apostrophe is quoted by csv"


@pytest.mark.parametrize("split", [TRAIN, DEV, "nq-test"])
def test_passages_hold_the_answers_that_dpr_would_find(replica, split):
    texts = {doc_id: _tokens(text) for doc_id, text in _passages(replica).items()}
    for query_id, answers in replica.answers[split].items():
        expected = [_tokens(answer) for answer in answers]
        held = {doc_id for doc_id, text in texts.items() if any(a in text for a in expected)}
        assert held == replica.holders[split][query_id], answers
    assert {len(held) for held in replica.holders[split].values()} == {0, 1}


def test_the_quotes_of_the_file_hide_answers(replica):
    raw = {doc_id: _tokens(doc["text"]) for doc_id, doc in replica.docs}
    missed = [
        answers
        for query_id, answers in replica.answers["nq-test"].items()
        for doc_id in replica.holders["nq-test"][query_id]
        if not any(_tokens(answer) in raw[doc_id] for answer in answers)
    ]
    assert len(missed) == 6, "one question of ten asks for words in quotes"
    assert all('"' in answer for answers in missed for answer in answers)


def _tokens(text: str) -> str:
    """DPR's SimpleTokenizer, uncased (dpr/utils/tokenizers.py): words and single other signs."""
    normal = unicodedata.normalize("NFD", text)
    tokens = regex.findall(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]", normal)
    return f" {' '.join(tokens).lower()} "


def _passages(replica) -> dict[str, str]:
    return {doc_id: doc["text"][1:-1].replace('""', '"') for doc_id, doc in replica.docs}

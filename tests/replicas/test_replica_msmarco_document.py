"""ir_datasets reads the replica of MS MARCO documents: URL, title and body of every doc."""

import pytest

from replicas import msmarco_document, msmarco_passage, reading

NAME = "msmarco-document"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def replica(home):
    return msmarco_document.write(home)


@pytest.fixture(scope="module")
def result(home, replica):
    return reading.read(home, [NAME], list(replica.queries))


def test_every_doc_is_read_as_it_was_generated(replica, result):
    assert reading.docs(result, NAME) == replica.docs
    assert replica.counts()["docs"] == 600


def test_long_empty_and_untitled_docs_are_among_them(replica):
    docs = [doc for _, doc in replica.docs]
    long = [doc for doc in docs if len(doc["body"].split()) > 2000]
    assert len(long) == 24
    assert all("\n\n" in doc["body"] for doc in long)
    assert sum(doc["title"] == "" for doc in docs) == 3
    assert sum(doc["body"] == "" for doc in docs) == 3
    assert all(doc["body"].endswith("\n") for doc in docs if doc["body"])


@pytest.mark.parametrize(
    ("split", "queries"),
    [
        ("train", 640),
        ("dev", 30),
        ("trec-dl-2019", 10),
        ("trec-dl-2019/judged", 8),
        ("trec-dl-2020", 10),
        ("trec-dl-2020/judged", 8),
    ],
)
def test_queries_and_judgements_are_read_as_they_were_written(replica, result, split, queries):
    name = f"{NAME}/{split}"
    assert reading.queries(result, name) == replica.queries[name]
    assert len(replica.queries[name]) == queries
    assert reading.qrels(result, name) == replica.qrels[name]


def test_queries_are_those_of_the_passages(replica, tmp_path):
    passages = msmarco_passage.write(tmp_path)
    for split in ("train", "trec-dl-2019", "trec-dl-2020"):
        same = passages.queries[f"msmarco-passage/{split}"]
        assert replica.queries[f"{NAME}/{split}"] == same


def test_a_relevant_doc_holds_the_passage_that_answers(replica, tmp_path):
    passages = dict(msmarco_passage.write(tmp_path).docs)
    docs = dict(replica.docs)
    best = msmarco_passage.write(tmp_path).qrels["msmarco-passage/train"]
    for (_, passage, _), (_, doc, _) in zip(best, replica.qrels[f"{NAME}/train"], strict=True):
        assert passages[passage]["text"].partition(" See the")[0] in docs[doc]["body"]

"""ir_datasets reads the replica of NFCorpus: docs, both forms of a query, and graded links."""

import pytest

from replicas import nfcorpus, reading

NAME = "nfcorpus"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def replica(home):
    return nfcorpus.write(home)


@pytest.fixture(scope="module")
def result(home, replica):
    return reading.read(home, [NAME], list(replica.queries))


def test_every_doc_is_read_as_it_was_generated(replica, result):
    assert reading.docs(result, NAME) == replica.docs
    assert replica.counts()["docs"] == 600


@pytest.mark.parametrize(
    ("split", "queries", "levels"),
    [("train", 120, {3}), ("dev", 120, {3}), ("test", 20, {1, 2, 3})],
)
def test_queries_and_links_are_read_as_they_were_written(replica, result, split, queries, levels):
    name = f"{NAME}/{split}"
    assert reading.queries(result, name, "title") == replica.queries[name]
    whole = {q: nfcorpus.full(title) for q, title in replica.queries[name].items()}
    assert reading.queries(result, name, "all") == whole
    assert len(whole) == queries
    assert reading.qrels(result, name) == replica.qrels[name]
    assert set(replica.counts()["splits"][name]["relevance"]) == levels
    assert {query_id for query_id, *_ in replica.qrels[name]} == set(whole)

"""ir_datasets reads the replica of TREC CAR: paragraphs with links, headings as queries."""

import pytest

from replicas import car, reading


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def replica(home):
    return car.write(home)


@pytest.fixture(scope="module")
def result(home, replica):
    return reading.read(home, [car.NAME], list(replica.queries))


def test_every_paragraph_is_read_as_it_was_generated(replica, result):
    assert reading.docs(result, car.NAME) == replica.docs
    assert replica.counts()["docs"] == 600


def test_headings_are_queries_and_lead_to_paragraphs(replica, result):
    queries = replica.queries[car.SPLIT]
    assert reading.queries(result, car.SPLIT) == queries
    assert reading.qrels(result, car.SPLIT) == replica.qrels[car.SPLIT]
    assert len(queries) == 24 and {level for *_, level in replica.qrels[car.SPLIT]} == {1}
    outer, inner = [*queries][:2]
    assert inner.startswith(f"{outer}/") and queries[inner].startswith(f"{queries[outer]} ")

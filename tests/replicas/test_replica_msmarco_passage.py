"""ir_datasets reads the replica of MS MARCO passages and mends its characters."""

import tarfile

import pytest

from replicas import msmarco_passage, reading

NAME = "msmarco-passage"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def replica(home):
    return msmarco_passage.write(home)


@pytest.fixture(scope="module")
def result(home, replica):
    return reading.read(home, [NAME], list(replica.queries))


def test_every_passage_is_read_as_it_was_generated(replica, result):
    assert reading.docs(result, NAME) == replica.docs
    assert replica.counts()["docs"] == 600


def test_characters_stand_once_and_twice_encoded_in_one_passage(home, replica, result):
    with tarfile.open(home / NAME / "collectionandqueries.tar.gz") as tar:
        lines = tar.extractfile("collection.tsv").read().decode().split("\n")
    assert "cafÃ©" in lines[10] and "naïve" in lines[10]
    assert "cafÃ©" in lines[3] and "naÃ¯ve" in lines[3]
    assert "\x85" in lines[3], "a line end to str.splitlines within a passage"
    text = dict(reading.docs(result, NAME))["3"]["text"]
    assert text.endswith("façade, 20 °C, €5, Ångström, Łódź, 日本 and 😀.")


@pytest.mark.parametrize(
    ("split", "queries"),
    [
        ("train", 640),
        ("dev", 45),
        ("dev/small", 30),
        ("eval", 20),
        ("eval/small", 10),
        ("trec-dl-2019", 10),
        ("trec-dl-2019/judged", 8),
        ("trec-dl-2020", 10),
        ("trec-dl-2020/judged", 8),
    ],
)
def test_queries_are_read_as_they_were_written(replica, result, split, queries):
    name = f"{NAME}/{split}"
    assert reading.queries(result, name) == replica.queries[name]
    assert replica.counts()["splits"][name]["queries"] == queries


@pytest.mark.parametrize(("split", "qrels"), [("train", 640), ("dev", 45), ("dev/small", 30)])
def test_train_and_dev_have_one_relevant_passage_each(replica, result, split, qrels):
    name = f"{NAME}/{split}"
    assert reading.qrels(result, name) == replica.qrels[name]
    assert replica.counts()["splits"][name]["relevance"] == {1: qrels}


def test_eval_has_no_judgements(result):
    assert not {f"{NAME}/eval", f"{NAME}/eval/small"} & set(result["qrels"])


@pytest.mark.parametrize(("year", "iteration"), [("2019", "Q0"), ("2020", "0")])
def test_the_tracks_are_graded_and_printed_as_nist_prints_them(replica, result, year, iteration):
    name = f"{NAME}/trec-dl-{year}/judged"
    assert reading.qrels(result, name) == replica.qrels[name]
    assert {row["iteration"] for row in result["qrels"][name]["rows"]} == {iteration}
    levels = replica.counts()["splits"][name]["relevance"]
    assert set(levels) == {0, 1, 2, 3} and levels[3] == 8
    assert {query_id for query_id, *_ in replica.qrels[name]} == set(replica.queries[name])


def test_no_query_is_in_two_splits(replica):
    parts = ["train", "dev", "eval", "trec-dl-2019", "trec-dl-2020"]
    ids = [query_id for part in parts for query_id in replica.queries[f"{NAME}/{part}"]]
    assert len(set(ids)) == len(ids)

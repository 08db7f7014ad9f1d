"""ir_datasets reads the replica of disks 4 and 5: four kinds of SGML, three kinds of file."""

import subprocess
from collections import Counter

import pytest

from conftest import ROOT
from replicas import disks45, reading
from residuum.config import entries
from residuum.config.schema.datasets import Dataset

NOCR = "disks45/nocr"
ROBUST = f"{NOCR}/trec-robust-2004"
FOLDS = [f"{ROBUST}/fold{n}" for n in range(1, 6)]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def replica(home):
    return disks45.write(home)


@pytest.fixture(scope="module")
def result(home, replica):
    return reading.read(home, [NOCR], [ROBUST, *FOLDS])


def test_there_are_as_many_files_as_on_the_disks(home, replica):
    files = [path for path in (home / "disks45" / "corpus").rglob("*") if path.is_file()]
    assert len(files) == 2295
    kinds = {path.suffix for path in files}
    assert kinds == {".Z", ".0Z", ".1Z", ".2Z", ".gz", ""}


def test_every_doc_is_read_with_its_title_and_body(replica, result):
    collapsed = [
        (doc_id, {field: " ".join(text.split()) for field, text in doc.items()})
        for doc_id, doc in reading.docs(result, NOCR)
    ]
    assert collapsed == replica.docs
    assert replica.counts()["docs"] == 2500
    sources = Counter(doc_id[:2] for doc_id, _ in replica.docs)
    assert all(sources[source] > 400 for source in ("FB", "FR", "FT", "LA"))


def test_the_decoder_of_gzip_reads_the_same_markup(home, replica):
    path = home / "disks45" / "corpus" / "FR94" / "01" / "FR940103.0Z"
    done = subprocess.run(["gzip", "-dc"], input=path.read_bytes(), capture_output=True, check=True)
    assert done.stdout.startswith(b"<DOC>\n<DOCNO> FR940103-0-00001 </DOCNO>\n<PARENT>")
    assert b"<!-- PJG 0012 frnewline -->" in done.stdout


def test_topics_are_read_as_those_of_the_track(replica, result):
    assert reading.queries(result, ROBUST, "title") == replica.queries[ROBUST]
    numbers = [*range(301, 451), *range(601, 701)]
    assert list(replica.queries[ROBUST]) == [str(number) for number in numbers]
    first = result["queries"][ROBUST]["rows"][0]
    assert first["description"] == f"What is known about {first['title'].lower()}?"
    assert first["narrative"].endswith("Documents on other places are not relevant.")


def test_all_topics_but_one_are_judged(replica, result):
    assert reading.qrels(result, ROBUST) == replica.qrels[ROBUST]
    judged = {query_id for query_id, *_ in replica.qrels[ROBUST]}
    assert set(replica.queries[ROBUST]) - judged == {"672"}
    assert set(replica.counts()["splits"][ROBUST]["relevance"]) == {0, 1, 2}


def test_mcdonalds_folds_are_none_of_those_of_ir_datasets(replica, result):
    splits = entries.parse(ROOT / "config" / "datasets" / "robust04.yaml", Dataset).splits
    listed = [{*splits[name].part.ids} for name in splits["test-mcdonald"].folds]
    theirs = [set(reading.queries(result, fold, "title")) for fold in FOLDS]
    assert set.union(*listed) == set.union(*theirs) == set(replica.queries[ROBUST])
    assert max(len(one & other) for one in listed for other in theirs) < 25


def test_five_folds_of_fifty_topics_share_the_judgements_out(replica, result):
    topics = [query_id for fold in FOLDS for query_id in reading.queries(result, fold, "title")]
    assert [len(result["queries"][fold]["rows"]) for fold in FOLDS] == [50] * 5
    assert sorted(topics) == sorted(replica.queries[ROBUST])
    rows = [row for fold in FOLDS for row in reading.qrels(result, fold)]
    assert sorted(rows) == sorted(replica.qrels[ROBUST])

"""PubMed's files and BioASQ's are read as they were written, and damage is named."""

import gzip
import json
import shutil

import pytest

from replicas import pubmed
from residuum.cli.errors import ResiduumError
from residuum.collections import bioasq, splits
from residuum.collections import pubmed as reader
from residuum.config.schema.datasets import Collection

GOLDEN = ["8B1_golden.json", "8B2_golden.json"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    return folder, pubmed.write(folder)


@pytest.fixture
def data(written, tmp_path, monkeypatch):
    """A copy that a test may damage."""
    shutil.copytree(written[0], tmp_path / "data")
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def collection(**changes):
    made = {
        "source": {"kind": "pubmed", "folder": "pubmed"},
        "splits": {
            "test": {"bioasq": GOLDEN, "folds": ["batch1", "batch2"]},
            "batch1": {"bioasq": GOLDEN[:1]},
            "batch2": {"bioasq": GOLDEN[1:]},
        },
        "editions": [{"name": "of any year", "docs": 9, "about": True}],
        "access": "ask NLM",
    }
    return Collection.model_validate(made | changes)


def read(folder="pubmed"):
    return [*reader.docs(collection(source={"kind": "pubmed", "folder": folder}))]


def test_the_last_revision_of_each_record_is_read_with_its_whole_abstract(data, written, capsys):
    assert read() == written[1].docs
    left = capsys.readouterr().err
    assert "1 older revisions" in left and "2 records without an abstract" in left
    assert "3 revised or deleted later" in left


def test_questions_name_their_docs_once_whatever_their_address(data, written):
    rows = splits.load("bioasq", collection(), "test")
    assert dict(rows.queries) == written[1].queries
    assert rows.qrels == written[1].qrels
    parts = [splits.load("bioasq", collection(), name) for name in ("batch1", "batch2")]
    assert [row for part in parts for row in part.queries] == rows.queries


def test_the_last_questions_are_held_out(data, written):
    held = {
        "train": {"bioasq": GOLDEN},
        "dev": {"holdout": {"of": "train", "queries": 1, "drawn": "last"}},
    }
    of = collection(splits=held)
    judged = [query for query in written[1].queries if not query.endswith("4")]
    assert [query for query, _ in splits.load("bioasq", of, "dev").queries] == judged[-1:]
    rest = [query for query in written[1].queries if query != judged[-1]]
    assert [query for query, _ in splits.load("bioasq", of, "train").queries] == rest


@pytest.mark.parametrize("given", [{"seed": 1, "drawn": "last"}, {}])
def test_a_seed_goes_with_a_hash(given):
    held = {"of": "train", "queries": 1, **given}
    with pytest.raises(ValueError, match="give a seed where a hash draws the queries"):
        collection(splits={"train": {"bioasq": GOLDEN}, "dev": {"holdout": held}})


def second(data):
    return data / "pubmed" / "pubmed20n0002.xml.gz"


def test_xml_that_is_cut_short_is_named_by_its_line(data):
    text = gzip.decompress(second(data).read_bytes())[:-60]
    second(data).write_bytes(gzip.compress(text))
    second(data).with_name("pubmed20n0002.xml.gz.md5").unlink()
    with pytest.raises(ResiduumError, match=r"pubmed20n0002.xml.gz, line \d+: not well-formed XML"):
        read()


def test_a_download_that_is_cut_short_is_told_by_its_md5_or_by_its_end(data):
    second(data).write_bytes(second(data).read_bytes()[:-20])
    with pytest.raises(ResiduumError, match=r"its MD5 is \w+, pubmed20n0002.xml.gz.md5 says \w+"):
        read()
    second(data).with_name("pubmed20n0002.xml.gz.md5").unlink()
    with pytest.raises(
        ResiduumError, match=r"pubmed20n0002\.xml\.gz: the compressed data is cut short"
    ):
        read()


def test_a_file_that_is_missing_in_the_numbering_is_named(data):
    second(data).unlink()
    with pytest.raises(ResiduumError, match=r"pubmed20n0002.xml.gz is missing \(1 such"):
        read()


def test_other_files_in_the_folder_are_named(data):
    second(data).rename(second(data).with_name("mine.xml.gz"))
    with pytest.raises(ResiduumError, match="no name of NLM's files, such as pubmed20n0001"):
        read()


def test_a_record_without_a_number_is_named(data):
    bad = pubmed.article(1, "T", pubmed.part("A")).replace('"1">1<', '"1">1a<', 1)
    pubmed.pack(second(data), pubmed.article(40, "T", pubmed.part("A")), bad)
    with pytest.raises(ResiduumError, match="record 2: a PMID has one to eight digits, found '1a'"):
        read()


def test_a_folder_that_is_not_there_or_is_empty(data):
    with pytest.raises(ResiduumError, match=r"nowhere: no such file.*\nAccess: ask NLM"):
        read("nowhere")
    (data / "empty").mkdir()
    with pytest.raises(ResiduumError, match=r"empty: no \*.xml.gz in it.*\nAccess: ask NLM"):
        read("empty")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda raw: raw[:-40], r"8B1_golden.json, line \d+: not JSON, or cut short"),
        (lambda raw: raw.replace("β".encode(), b"\xe9"), "8B1_golden.json: not UTF-8"),
        (lambda raw: raw.replace(b'"questions"', b'"articles"'), "Is it a file of task A?"),
        (
            lambda raw: raw.replace(b"www.ncbi.nlm.nih.gov/pubmed/11", b"example.org/11"),
            r"question 5e2b0001d7f0a4c0a5000002: documents: 'http://example.org/11' is no address",
        ),
        (lambda raw: raw.replace(b'"body"', b'"text"', 1), "question 1: it has no body"),
    ],
)
def test_damaged_questions_are_named(data, damage, says):
    path = data / GOLDEN[0]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ResiduumError, match=says):
        bioasq.split(collection(), "test")


ARTICLES = [
    {"journal": "J", "meshMajor": ["Humans"], "year": "2019", "pmid": "11", "title": "One.",
     "abstractText": "First  abstract."},
    {"pmid": 12, "title": "Two.", "abstractText": ""},
    {"pmid": "13", "title": "", "abstractText": "Third.", "year": None, "meshMajor": ["A", "B"]},
]  # fmt: skip


def task_a(name="articles.json"):
    return bioasq.docs(collection(source={"kind": "bioasq", "articles": name}))


@pytest.mark.parametrize("end", ["]}", "\n]}\n", " ]}"])
def test_articles_of_task_a(data, end, capsys):
    pubmed.write_task_a(data / "articles.json", ARTICLES, end)
    assert [*task_a()] == [
        pubmed.doc(11, "One.", "First abstract."), pubmed.doc(13, "", "Third."),
    ]  # fmt: skip
    assert "left out 1 articles without an abstract" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("articles", "end", "says"),
    [
        (ARTICLES, "", "line 4: the file is cut short"),
        ([*ARTICLES, {"pmid": "14"}], "]}", "line 5: no pmid, title and abstractText"),
        ([{**ARTICLES[0], "pmid": "x1"}], "]}", "a pmid has up to 8 digits, found 'x1'"),
    ],
)
def test_damaged_articles_are_named(data, articles, end, says):
    pubmed.write_task_a(data / "articles.json", articles, end)
    with pytest.raises(ResiduumError, match=says):
        [*task_a()]


def test_questions_are_no_articles(data):
    with pytest.raises(ResiduumError, match=r"line 1: expected .* as task A has it"):
        [*task_a(GOLDEN[0])]
    text = json.dumps({"articles": ARTICLES[:1]})
    (data / "one.json").write_text(text)
    assert [doc_id for doc_id, _ in task_a("one.json")] == ["11"], "all on one line"

"""The stage data, given what does not fit: nothing of a user's is replaced, or half written."""

import gzip
import json
from pathlib import Path

import pytest

from commands import call
from corpora import make_corpus
from residuum.cli import command
from residuum.cli.errors import ResiduumError

SPEC = {"source": {"kind": "beir", "folder": "mine"}, "splits": {"dev": {}}}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return a BEIR folder in the folder of a user's files, which is where the command runs."""
    monkeypatch.delenv(command.JOB, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    folder = tmp_path / "mine"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "river"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "water"}\n')
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    return folder


def called(verb, spec=SPEC, **options):
    words = [verb, "--dataset", "mine", "--spec", json.dumps(spec)]
    words += [w for name, v in options.items() for w in (f"--{name.replace('_', '-')}", str(v))]
    return call("data", *words)


def refused(message, verb, **options):
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    with pytest.raises(ResiduumError, match=message):
        called(verb, **options)
    after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize(
    ("queries", "qrels"),
    [("mine/queries.jsonl", "r.trec"), ("q.tsv", "mine/qrels/dev.tsv"), ("same", "./same")],
)
def test_a_split_replaces_neither_its_source_nor_itself(mine, queries, qrels):
    message = "is one of the files that are read|is --queries too"
    refused(message, "split", name="dev", queries=queries, qrels=qrels)


def test_a_corpus_does_not_replace_the_folder_that_it_is_read_from(mine):
    record = {"artefact": {}, "spec": {}, "inputs": {}}
    (mine / "manifest.json").write_text(json.dumps(record))
    refused(r"--output mine: holds .*mine/corpus\.jsonl, which is read", "corpus", output="mine")


@pytest.mark.parametrize("verb", ["split", "answers", "docpairs"])
def test_a_split_that_the_spec_lacks_is_named(mine, verb):
    Path("q.tsv").write_text("q1\twater\n")
    where = {"queries": "q.tsv", "output": "o"} if verb == "docpairs" else {"output": "o"}
    where = {"queries": "new.tsv", "qrels": "r.trec"} if verb == "split" else where
    refused(r"^--name: mine: no split 'nope'; known: dev\.$", verb, name="nope", **where)


def test_a_split_is_written_whole_or_not_at_all(mine):
    where = {"name": "dev", "queries": "q.tsv", "qrels": "r.trec"}
    refused("^--corpus nowhere: no such file or folder$", "split", corpus="nowhere", **where)
    Path("empty").mkdir()
    refused("^empty: not a corpus folder: it has no manifest", "split", corpus="empty", **where)
    Path("r.trec").mkdir()  # the second of both cannot be written
    refused("r.trec: a folder or a device", "split", **where)
    Path("r.trec").rmdir()
    called("split", **where)
    assert Path("q.tsv").read_text() == "q1\twater\n"
    assert Path("r.trec").read_text() == "q1 0 d1 1\n"


@pytest.mark.parametrize("count", ["0", "-1"])
def test_shards_hold_a_doc_or_more(mine, count):
    with pytest.raises(Exception, match="greater than or equal to 1"):
        called("corpus", output="c", per_shard=count)


def test_a_file_of_the_dataset_that_is_none_is_named(mine):
    refused(
        "^--dataset-file no.yaml: not a file that can be read",
        "corpus",
        output="c",
        dataset_file="no.yaml",
    )
    Path("bad.yaml").write_text("a: [")
    refused("^--dataset-file bad.yaml: ", "corpus", output="c", dataset_file="bad.yaml")


@pytest.mark.parametrize("option", ["of", "vocabulary", "revision"])
def test_what_a_source_cannot_use_is_refused(mine, option):
    make_corpus(Path("other"), [("d1", "text")])
    refused(rf"^--{option} other: a source beir is", "corpus", output="c", **{option: "other"})


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/dev.tsv"])
def test_a_file_that_is_there_twice_is_refused(mine, name):
    (mine / f"{name}.gz").write_bytes(gzip.compress((mine / name).read_bytes() * 2))
    where = {"name": "dev", "queries": "q.tsv", "qrels": "r.trec"}
    verb, where = ("corpus", {"output": "c"}) if name == "corpus.jsonl" else ("split", where)
    refused(rf"mine/{name} and {Path(name).name}\.gz are both there", verb, **where)

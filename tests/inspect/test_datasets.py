"""What datasets are read from and what of it is here, against files laid by hand."""

import hashlib
import json
import subprocess
import sys

import pytest

import layouts
from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.collections import files
from residuum.config.entries import Folder
from residuum.inspect import datasets

YAML = """
title: Mine
description: A few docs.
licence: mine
access: ask the librarian
citation: none
source: {kind: files, corpus: mine/docs.tsv}
splits:
  test: {queries: mine/queries.tsv, qrels: mine/qrels.txt}
downloads:
  - {file: mine/docs.tsv, url: "https://example.org/docs.tsv", bytes: 15, md5: MD5}
editions:
  - {name: first, docs: 2, splits: {test: {queries: 1, qrels: 1, relevance: {2: 1}}}}
"""
DOCS = "d1\tone\nd2\ttwo\n\n"


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Lay a dataset and its files; return the config folder and the data folder."""
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "irds"))
    config, data = tmp_path / "config", tmp_path / "data" / "mine"
    (config / "datasets").mkdir(parents=True)
    data.mkdir(parents=True)
    md5 = hashlib.md5(DOCS.encode()).hexdigest()
    (config / "datasets" / "mine.yaml").write_text(YAML.replace("MD5", md5))
    (data / "docs.tsv").write_text(DOCS)
    (data / "queries.tsv").write_text("q\ta query\n")
    (data / "qrels.txt").write_text("q 0 d2 2\n")
    return config, data


def marks(config, name="mine"):
    return {finding.what: finding.good for finding in datasets.check(config, name)}


def printed(config, what, name="mine"):
    return next(f.message for f in datasets.check(config, name) if f.what == what)


def test_each_dataset_of_the_project_says_what_a_reader_should_know():
    """Of one's own, source and splits will do (tests/collections/test_layouts.py)."""
    for name, entry in datasets.load(ROOT / "config").items():
        texts = (entry.title, entry.description, entry.licence, entry.access, entry.citation)
        assert all(texts) and entry.editions, name


def test_what_is_not_pinned_is_listed_checked_and_shown(mine):
    config, _ = mine
    path = config / "datasets" / "mine.yaml"
    test = "{queries: mine/queries.tsv, qrels: mine/qrels.txt}"
    path.write_text(f"source: {{kind: files, corpus: mine/docs.tsv}}\nsplits:\n  test: {test}\n")
    assert set(marks(config).values()) == {True}
    assert printed(config, "corpus") == "2 docs; nothing is pinned"
    assert printed(config, "split test") == "1 queries, 1 qrels (2: 1); nothing is pinned; 1 judged"
    assert "| mine    | not pinned | test" in datasets.listing(config)
    shown = datasets.show(config, "mine").splitlines()
    assert shown[0] == "mine"
    assert shown[-1] == "  edition    none is pinned: residuum datasets pin mine"
    assert not any("licence" in line or "access" in line for line in shown)


def test_files_of_the_hub_are_listed_and_nothing_is_downloaded(mine, monkeypatch, tmp_path):
    config, _ = mine
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    commit = "0a" * 20
    address = f"hf://datasets/me/mine@{commit}"
    entry = f"source: {{kind: beir, folder: '{address}'}}\nsplits: {{test: {{}}}}\n"
    (config / "datasets" / "mine.yaml").write_text(entry)
    files = {file.name: file for file in datasets.files_of(datasets.find(config, "mine"))}
    names = [f"{address}/{name}" for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")]
    assert list(files) == names
    assert {file.state for file in files.values()} == {"absent: downloaded when needed"}
    assert files[names[0]].url == (
        f"https://huggingface.co/datasets/me/mine/tree/{commit}/corpus.jsonl"
    )
    assert printed(config, "corpus") == f"not checked, because of absent files: {names[0]}"
    cached = tmp_path / "hub" / "datasets--me--mine"
    (cached / "snapshots" / commit).mkdir(parents=True)
    (cached / "snapshots" / commit / "corpus.jsonl.gz").write_bytes(b"")
    assert datasets.files_of(datasets.find(config, "mine"))[0].state == "available"


def test_checking_what_is_cached_asks_nobody(mine, monkeypatch, tmp_path):
    config, _ = mine
    local_only = []

    def snapshot_download(*arguments, **options):
        local_only.append(options["local_files_only"])
        return str(tmp_path / "hub" / "datasets--me--mine" / "snapshots" / ("0a" * 20))

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    commit = "0a" * 20
    layouts.beir(tmp_path / "hub" / "datasets--me--mine" / "snapshots" / commit)
    address = f"hf://datasets/me/mine@{commit}/mine"
    path = config / "datasets" / "mine.yaml"
    path.write_text(f"source: {{kind: beir, folder: '{address}'}}\nsplits: {{test: {{}}}}\n")
    assert printed(config, "corpus") == "3 docs; nothing is pinned"
    assert set(marks(config).values()) <= {True, None} and set(local_only) == {True}
    with pytest.raises(ResiduumError) as error:
        files.resolve(f"{address}/absent.jsonl", "")
    assert local_only[-1] is False
    assert str(error.value).startswith(f"{address}/absent.jsonl: no such file in the dataset.")
    assert "Relative paths" not in str(error.value)


def test_a_whole_dataset_is_all_right(mine):
    config, _ = mine
    assert set(marks(config).values()) == {True}
    assert printed(config, "file mine/docs.tsv") == "MD5 as published"
    assert printed(config, "corpus") == "2 docs, as pinned (first)"
    assert printed(config, "split test") == "1 queries, 1 qrels (2: 1), as pinned; 1 judged"
    assert "no MD5 to compare with" in printed(config, "file mine/qrels.txt")
    files = datasets.files_of(datasets.find(config, "mine"))
    assert [file.name for file in files] == ["mine/docs.tsv", "mine/queries.tsv", "mine/qrels.txt"]
    row = next(line for line in datasets.listing(config).splitlines() if "| mine " in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert (cells[:3], cells[-1]) == (["mine", "2", "test 1"], "3 of 3 files")


def test_half_a_download_is_told_by_its_size_and_its_hash(mine):
    config, data = mine
    (data / "docs.tsv").write_text(DOCS[:9])
    state = datasets.files_of(datasets.find(config, "mine"))[0].state
    assert state == "cut short: 9 of 15 bytes"
    result = hashlib.md5(DOCS[:9].encode()).hexdigest()
    text = printed(config, "file mine/docs.tsv")
    assert f"docs.tsv has MD5 {result}, published is" in text and "9 of 15 bytes" in text
    assert marks(config)["corpus"] is False, "one doc is missing"


def test_a_changed_file_of_the_right_size_is_told_by_its_hash_and_a_wrong_level_by_its_pin(mine):
    config, data = mine
    (data / "docs.tsv").write_text(DOCS.replace("one", "eno"))
    (data / "qrels.txt").write_text("q 0 d2 1\n")
    assert marks(config) == {
        "file mine/docs.tsv": False, "file mine/queries.tsv": True, "file mine/qrels.txt": True,
        "corpus": True, "split test": False,
    }  # fmt: skip
    assert "1 queries, 1 qrels (1: 1), but" in printed(config, "split test")


def test_an_absent_file_says_where_it_belongs_and_whom_to_ask(mine):
    config, data = mine
    (data / "docs.tsv").unlink()
    text = printed(config, "file mine/docs.tsv")
    assert text == f"get it by hand; it belongs at {data / 'docs.tsv'}: ask the librarian"
    result = marks(config)
    assert result["corpus"] is None and result["split test"] is True
    assert "absent files: mine/docs.tsv" in printed(config, "corpus")


def test_an_unknown_dataset_and_a_folder_without_any_are_told(mine, tmp_path):
    config, _ = mine
    with pytest.raises(ResiduumError, match=r"no dataset 'mein'; known: mine\. Did you mean mine"):
        datasets.find(config, "mein")
    with pytest.raises(ResiduumError, match="Run this in the project's folder"):
        datasets.load(tmp_path)


def test_what_ir_datasets_lists_is_taken_from_its_own_list(monkeypatch, tmp_path):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    dataset = datasets.find(ROOT / "config", "msmarco-passage")
    files = {file.name: file for file in datasets.files_of(dataset)}
    collection = files["msmarco-passage/collectionandqueries"]
    assert collection.bytes == 1057717952
    assert collection.md5 == "31644046b18952c1386cd4564ba2ae69"
    assert collection.path == tmp_path / "msmarco-passage" / "collectionandqueries.tar.gz"
    assert not collection.available and collection.state == "absent: downloaded when needed"
    names = [file.name for file in datasets.needed(dataset, "tune")]
    assert names == ["msmarco-passage/queries", "msmarco-passage/train/qrels"], "as of train"
    (triples,) = datasets.needed(dataset, "train", docpairs=True)
    assert triples.name == "msmarco-passage/train/docpairs/small"
    assert triples.bytes == 7_930_881_353, "as ir_datasets lists it"
    assert datasets.needed(dataset, "dev", docpairs=True) == []
    for path in collection.makes:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert collection.available and collection.state == "unpacked"
    raw = datasets.find(ROOT / "config", "msmarco-passage-raw")
    assert not datasets.needed(raw, None)[0].available, "the mended text does not take its place"
    with pytest.raises(ResiduumError, match=r"no download 'msmarco-passage/querys'.*Did you mean"):
        datasets.listed_by_irds("msmarco-passage/querys")


@pytest.mark.parametrize("name", [*Folder(ROOT / "config" / "datasets").locations])
def test_every_dataset_of_the_project_can_be_shown(name, monkeypatch, tmp_path):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    text = datasets.show(ROOT / "config", name)
    assert text.startswith(f"{name}: ") and "edition" in text


@pytest.mark.shared_data
def test_the_command_checks_a_real_collection(shared_data):
    words = [sys.executable, "-m", "residuum", "datasets", "check", "cacm"]
    env = {"RESIDUUM_DATA": str(shared_data), "PYTHONPATH": str(ROOT / "workflow")}
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok     corpus: 3,204 docs, as pinned (Anserini)" in done.stdout
    docs = (shared_data / "cacm" / "docs.jsonl").read_text().splitlines()
    assert len(docs) == 3204 and all(json.loads(line)["doc_id"] for line in docs)


def test_training_triples_in_a_file_of_yours_are_listed_for_themselves_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    cacm = datasets.find(ROOT / "config", "cacm")
    split = cacm.splits["test"].model_copy(update={"docpairs": "cacm/triples.tsv"})
    mine = cacm.model_copy(update={"splits": {"test": split}})
    (triples,) = datasets.needed(mine, "test", docpairs=True)
    assert (triples.path, triples.by_hand) == (tmp_path / "cacm" / "triples.tsv", True)
    for of in (None, "test"):
        assert datasets.needed(mine, of) == datasets.needed(cacm, of)


def test_training_triples_and_questions_on_the_hub_are_listed(mine):
    config, _ = mine
    address = f"hf://datasets/me/mine@{'0a' * 20}"
    own = f"queries: mine/queries.tsv, qrels: mine/qrels.txt, docpairs: '{address}/triples.tsv'"
    (config / "datasets" / "mine.yaml").write_text(
        "source: {kind: files, corpus: mine/docs.tsv}\nsplits:\n"
        f"  train: {{{own}}}\n  test: {{questions: '{address}/questions.csv'}}\n"
    )
    dataset = datasets.find(config, "mine")
    (triples,) = datasets.needed(dataset, "train", docpairs=True)
    assert (triples.name, triples.state) == (
        f"{address}/triples.tsv",
        "absent: downloaded when needed",
    )
    assert triples not in datasets.needed(dataset, "train")
    (questions,) = datasets.needed(dataset, "test")
    assert questions.name == f"{address}/questions.csv" and not questions.by_hand
    shown = datasets.show(config, "mine")
    assert f"file       {triples.name}: absent" in shown and questions.name in shown


def test_a_residual_split_names_what_was_judged_before_it():
    text = " ".join(datasets.show(ROOT / "config", "cord19").split())
    assert "R@1000; residual of round1" in text and text.count("residual of") == 1

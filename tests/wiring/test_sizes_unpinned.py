"""A dataset of one's own that pins nothing: one shard, guesses for plans, what it trains itself."""

from dataclasses import replace

import pytest

import layouts
from plan_fixture import DATASET, registry
from residuum.config.registry import SplitId
from residuum.config.schema.datasets import Dataset
from residuum.wiring import sizes
from residuum.wiring.sizes import guessed_docs


def dataset(**entry):
    entry = {"source": {"kind": "beir", "folder": "mine"}, "splits": {"test": {}}, **entry}
    return Dataset.model_validate(entry)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    (tmp_path / "mine").mkdir()
    return tmp_path


def test_docs_are_guessed_by_the_bytes_of_their_file(home):
    corpus = home / "mine" / "corpus.jsonl"
    assert guessed_docs(dataset(), 100) == 1000  # there is no file
    corpus.write_bytes(b"x" * 250_000)
    assert guessed_docs(dataset(), 100) == 2500
    corpus.unlink()
    (home / "mine" / "corpus.jsonl.gz").write_bytes(b"x" * 250_000)
    assert guessed_docs(dataset(), 100) == 7500  # three times as much unpacked


def test_docs_of_a_folder_are_guessed_by_all_its_files(home):
    for name, size in (("a", 100_000), ("b.gz", 100_000), (".hidden", 10**6)):
        (home / "mine" / name).write_bytes(b"x" * size)
    source = {"kind": "trec", "docs": "mine"}
    split = {"queries": "topics", "qrels": "qrels"}
    assert guessed_docs(dataset(source=source, splits={"test": split}), 100) == 4000


def test_what_a_glob_leaves_out_is_not_guessed_and_a_graph_guesses_once(home):
    for name in ("one.tsv", "readme.dtd"):
        (home / "mine" / name).write_bytes(b"x" * 4_000_000)
    split = {"queries": "q", "qrels": "r"}
    source = {"kind": "trec", "docs": "mine", "below": "*.tsv"}
    mine = dataset(source=source, splits={"test": split})
    assert guessed_docs(mine, 1000) == 4000
    tables = dataset(source={"kind": "files", "corpus": "mine"}, splits={"test": split})
    assert guessed_docs(tables, 1000) == 4000
    toy = replace(registry(), datasets={"toy": mine})
    assert sizes.docs(toy, "toy") == 4000
    (home / "mine" / "one.tsv").unlink()
    assert sizes.docs(toy, "toy") == 4000 and guessed_docs(mine, 1000) == 1000


def test_what_is_not_pinned_is_one_shard_and_planned_by_a_guess(home):
    unpinned = Dataset.model_validate({**DATASET, "editions": []})
    assert registry().shards("toy", "dual") == 4  # of 1,000 docs, 300 in each at most
    toy = replace(registry(), datasets={"toy": unpinned})
    assert toy.shards("toy", "dual") == 1
    assert sizes.docs(toy, "toy") == 1000
    assert sizes.queries(toy, SplitId("toy", "dev")) == sizes.UNPINNED_QUERIES


def test_a_gzipped_file_is_available(home):
    layouts.beir(home / "packed", packed=True)
    packed = dataset(source={"kind": "beir", "folder": "packed/mine"})
    absent = dataset()
    assert packed.missing(None, home, home) == []
    assert absent.missing(None, home, home) == [home / "mine" / "corpus.jsonl"]


def test_files_of_the_hub_are_nobody_elses_to_lay(home):
    source = {"kind": "beir", "folder": f"hf://datasets/me/mine@{'0a' * 20}"}
    hub = dataset(source=source)
    assert hub.missing(None, home, home) == hub.missing("test", home, home) == []
    assert hub.source_files("test") == []
    of_two = dataset(source=source, splits={"test": {"qrels": "mine/test.tsv"}})
    assert of_two.source_files("test") == ["mine/test.tsv"]

"""Corpus shards, tuples and embeddings: what is written comes back, what is damaged is refused."""

import json

import numpy as np
import pytest

from corpora import make_corpus
from residuum.core import contracts, files
from residuum.core.errors import ResiduumError

HARD_TEXT = 'tab\tnewline\nemoji 🙂 quote " backslash \\ ' + "x" * 100_000


def test_hard_texts_and_ids_survive(tmp_path):
    docs = [("007", HARD_TEXT), ("NA", ""), ("d-3", "plain")]
    assert list(contracts.read_corpus(make_corpus(tmp_path / "corpus", docs))) == docs


def test_shards_split_by_count(tmp_path):
    shards = contracts.write_corpus(tmp_path, ((f"d{i}", {"text": "t"}) for i in range(5)), 2)
    assert [(s["name"], s["docs"]) for s in shards] == [
        ("part-00000.jsonl.gz", 2),
        ("part-00001.jsonl.gz", 2),
        ("part-00002.jsonl.gz", 1),
    ]


def test_duplicate_and_spaced_ids_are_refused(tmp_path):
    with pytest.raises(ResiduumError, match="doc_id a stands twice in the corpus"):
        contracts.write_corpus(tmp_path, [(i, {"text": ""}) for i in ["a", "b", "a"]])
    with pytest.raises(ResiduumError, match="'a b' is empty or holds white space"):
        contracts.write_corpus(tmp_path, [("a b", {"text": ""})])


def test_truncated_shard_and_wrong_count_are_named(tmp_path):
    corpus = make_corpus(tmp_path / "corpus", [(f"d{i}", f"text {i}") for i in range(99)])
    shard = corpus / "part-00000.jsonl.gz"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-30])
    with pytest.raises(ResiduumError, match=r"part-00000\.jsonl\.gz: the gzip data is truncated"):
        list(contracts.read_corpus(corpus))
    shard.write_bytes(whole)
    record = json.loads((corpus / "manifest.json").read_text())
    record["artefact"]["shards"][0]["docs"] = 100
    (corpus / "manifest.json").write_text(json.dumps(record))
    with pytest.raises(ResiduumError, match="99 docs, but the manifest says 100"):
        list(contracts.read_corpus(corpus))


def test_tuples_round_trip_and_refuse_a_positive_among_negatives(tmp_path):
    good = contracts.Tuple("q", "d1", 1.5, ["d2", "d3"], [0.5, 0.25])
    contracts.write_tuples(tmp_path / "t.gz", [good])
    assert contracts.read_tuples(tmp_path / "t.gz") == [good]
    with pytest.raises(ResiduumError, match="query q has its positive among its negatives"):
        contracts.write_tuples(tmp_path / "t.gz", [good._replace(negatives=["d1", "d3"])])
    assert contracts.read_tuples(tmp_path / "t.gz") == [good]


def test_embeddings_round_trip_and_refuse_nan(tmp_path):
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    contracts.write_shard(tmp_path / "shard-00000", ["a", "a", "b"], vectors)
    [(ids, read)] = list(contracts.read_shards(tmp_path))
    assert ids == ["a", "a", "b"]
    assert np.array_equal(read, vectors)
    with pytest.raises(ResiduumError, match="not finite"):
        contracts.write_shard(tmp_path / "shard-00001", ["a"], np.full((1, 2), np.nan, np.float32))
    with pytest.raises(ResiduumError, match="2 ids but vectors"):
        contracts.write_shard(tmp_path / "shard-00001", ["a", "b"], vectors)


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "kept.txt"
    files.write_text(path, "old")
    with pytest.raises(ValueError, match="half way"), files.whole(path) as temporary:
        temporary.write_text("new")
        raise ValueError("half way")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]


def test_whole_directory_replaces_only_when_finished(tmp_path):
    target = tmp_path / "made"
    with files.whole_directory(target) as folder:
        (folder / "a").write_text("1")
    with pytest.raises(ValueError, match="stop"), files.whole_directory(target) as folder:
        (folder / "b").write_text("2")
        raise ValueError("stop")
    assert [p.name for p in target.iterdir()] == ["a"]
    assert [p.name for p in tmp_path.iterdir()] == ["made"]

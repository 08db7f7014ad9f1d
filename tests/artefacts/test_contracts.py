"""Corpus shards, tuples and embeddings: what is written comes back, what is damaged is refused."""

import gzip
import json
import random
from itertools import pairwise

import numpy as np
import pytest

from corpora import make_corpus
from residuum.artefacts import contracts, files, streams
from residuum.cli.errors import ResiduumError

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


def test_spaced_and_empty_ids_are_refused(tmp_path):
    with pytest.raises(ResiduumError, match="'a b' is empty or holds white space"):
        contracts.write_corpus(tmp_path, [("a b", {"text": ""})])
    with pytest.raises(ResiduumError, match="'' is empty or holds white space"):
        contracts.write_corpus(tmp_path, [("", {"text": ""})])


@pytest.mark.parametrize("twice", [0, 1, 255, 256, 998])
def test_an_id_that_stands_twice_is_named_with_both_places(tmp_path, twice):
    ids = [*(f"d{number}" for number in range(999)), f"d{twice}"]
    with pytest.raises(ResiduumError, match=rf"doc_id d{twice} .*number {twice + 1} and 1000\)"):
        contracts.write_corpus(tmp_path, ((i, {"text": "t"}) for i in ids), per_shard=300)


def test_ids_of_one_digest_are_refused_only_where_they_are_equal(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "digest", lambda text: 0)
    docs = [(f"d{number}", {"text": "t"}) for number in range(5)]
    shards = contracts.write_corpus(tmp_path, docs, per_shard=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [s["name"] for s in shards]
    with pytest.raises(ResiduumError, match=r"duplicate doc_id d1 .*number 2 and 6\)"):
        contracts.write_corpus(tmp_path, [*docs, docs[1]], per_shard=2)


class Waiting:
    """Counts lines that were asked for and have not yet been given to gzip."""

    def __init__(self, monkeypatch):
        self.taken = self.written = self.most = 0
        write = files.write_gzip
        monkeypatch.setattr(
            files, "write_gzip", lambda path, blocks: write(path, self._leaving(blocks))
        )

    def entering(self, items):
        for item in items:
            self.taken += 1
            self.most = max(self.most, self.taken - self.written)
            yield item

    def _leaving(self, blocks):
        for block in blocks:
            self.written += block.count(b"\n")
            yield block


def test_a_bounded_number_of_docs_waits_to_be_written(tmp_path, monkeypatch):
    waiting = Waiting(monkeypatch)
    docs = ((f"d{number}", {"text": "t"}) for number in range(5000))
    shards = contracts.write_corpus(tmp_path, waiting.entering(docs), per_shard=4000)
    assert [shard["docs"] for shard in shards] == [4000, 1000]
    assert waiting.taken == waiting.written == 5000
    assert waiting.most <= streams.LINES_AT_ONCE + 1


def test_a_bounded_number_of_tuples_waits_to_be_written(tmp_path, monkeypatch):
    waiting = Waiting(monkeypatch)
    tuples = (contracts.Tuple(f"q{number}", "d", 0.0, [], []) for number in range(3000))
    assert contracts.write_tuples(tmp_path / "t.gz", waiting.entering(tuples)) == 3000
    assert waiting.taken == waiting.written == 3000
    assert waiting.most <= streams.LINES_AT_ONCE


def test_gzip_bytes_do_not_depend_on_the_blocks_or_the_clock(tmp_path):
    source = random.Random(1)
    words = [f"w{source.randrange(10**6)}" for _ in range(500)]
    data = " ".join(source.choices(words, k=200_000)).encode()
    cuts = [0, *sorted(source.sample(range(len(data)), 3000)), len(data)]
    blocks = (data[start:end] for start, end in pairwise(cuts))
    files.write_gzip(tmp_path / "x.gz", blocks)
    written = (tmp_path / "x.gz").read_bytes()
    files.write_gzip(tmp_path / "y.gz", [data])
    assert written == (tmp_path / "y.gz").read_bytes()
    assert gzip.decompress(written) == data
    flags, modified = written[3], written[4:8]
    assert (flags, modified) == (0, bytes(4))


def test_truncated_shard_and_wrong_count_are_named(tmp_path):
    corpus = make_corpus(tmp_path / "corpus", [(f"d{i}", f"text {i}") for i in range(99)])
    shard = corpus / "part-00000.jsonl.gz"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-30])
    with pytest.raises(
        ResiduumError, match=r"part-00000\.jsonl\.gz: the compressed data is cut short"
    ):
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


def test_a_part_of_a_corpus_is_read_by_position_and_no_other_file_is_opened(tmp_path):
    docs = [(f"d{number}", "text") for number in range(25)]
    corpus = make_corpus(tmp_path / "corpus", docs, per_shard=10)
    for span in (range(25), range(0, 10), range(8, 21), range(10, 20), range(24, 25), range(3, 3)):
        result = [doc_id for doc_id, _ in contracts.read_corpus(corpus, span)]
        assert result == [f"d{number}" for number in span]
    (corpus / "part-00000.jsonl.gz").unlink()
    assert len(list(contracts.read_corpus(corpus, range(10, 25)))) == 15
    with pytest.raises(ResiduumError, match=r"part-00000\.jsonl\.gz: no such file"):
        list(contracts.read_corpus(corpus, range(9, 25)))


def test_a_part_read_to_its_end_is_counted(tmp_path):
    corpus = make_corpus(tmp_path / "corpus", [(f"d{n}", "text") for n in range(20)], per_shard=10)
    record = json.loads((corpus / "manifest.json").read_text())
    for message in (9, 11):
        record["artefact"]["shards"][0]["docs"] = message
        (corpus / "manifest.json").write_text(json.dumps(record))
        with pytest.raises(ResiduumError, match=f"10 docs, but the manifest says {message}"):
            list(contracts.read_corpus(corpus, range(5, message)))


def test_embeddings_round_trip_and_refuse_nan(tmp_path):
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    contracts.write_vectors(tmp_path / "one", ["a", "a", "b"], vectors)
    ids, read = contracts.read_vectors(tmp_path / "one")
    assert ids == ["a", "a", "b"]
    assert np.array_equal(read, vectors)
    with pytest.raises(ResiduumError, match="not finite"):
        contracts.write_vectors(tmp_path / "two", ["a"], np.full((1, 2), np.nan, np.float32))
    with pytest.raises(ResiduumError, match="2 ids but vectors"):
        contracts.write_vectors(tmp_path / "two", ["a", "b"], vectors)
    (tmp_path / "one" / "ids.txt").write_text("a\n")
    with pytest.raises(ResiduumError, match="one: 1 ids but 3 vectors"):
        contracts.read_vectors(tmp_path / "one")


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "kept.txt"
    files.write_text(path, "old")
    with pytest.raises(ValueError, match="half way"), files.whole(path) as temporary:
        temporary.write_text("new")
        raise ValueError("half way")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]


def test_a_new_directory_takes_no_place_of_another(tmp_path):
    for name in ("kept", "link"):
        (tmp_path / name).symlink_to("nowhere") if name == "link" else (tmp_path / name).mkdir()
        with (
            pytest.raises(ResiduumError, match=rf"{name}: exists\. Name another folder"),
            files.new_directory(tmp_path / name),
        ):
            raise AssertionError("not entered")
    with files.new_directory(tmp_path / "deep" / "new") as folder:
        (folder / "part").write_text("x")
    assert [path.name for path in (tmp_path / "deep").rglob("*")] == ["new", "part"]


def test_whole_directory_replaces_only_when_finished(tmp_path):
    target = tmp_path / "made"
    with files.whole_directory(target) as folder:
        (folder / "a").write_text("1")
    with pytest.raises(ValueError, match="stop"), files.whole_directory(target) as folder:
        (folder / "b").write_text("2")
        raise ValueError("stop")
    assert [p.name for p in target.iterdir()] == ["a"]
    assert [p.name for p in tmp_path.iterdir()] == ["made"]

"""A file that is no longer what its manifest records is refused by whoever reads it."""

import os
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from residuum import learning
from residuum.artefacts import contracts, docpairs, files, intact, manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.tuning.learned import Learned

HITS = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [2.0, 1.0]})


def flip(path: Path, at: int = -1) -> None:
    """Change one bit of a file and nothing that its name, size or time of modification says."""
    state, data = path.stat(), bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def artefact(folder: Path) -> Path:
    """Make a folder artefact with a file of each kind that is read from one."""
    with files.whole_directory(folder) as part:
        vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
        contracts.write_vectors(part, ["d1", "d2", "d3"], vectors)
        contracts.write_vectors(part / "dev", ["q1", "q2", "q3"], vectors)
        trec.write_hits(part / "dev.parquet", HITS)
        shards = contracts.write_corpus(part, [("d1", {"text": "one"}), ("d2", {"text": "two"})])
        manifest.write(part, {"shards": shards, "docs": 2}, {}, [], "residuum.encode")
    return folder


READERS = {
    "vectors.npy": contracts.read_vectors,
    "ids.txt": contracts.read_vectors,
    "dev/vectors.npy": lambda folder: contracts.read_vectors(folder / "dev"),
    "dev.parquet": lambda folder: trec.read_hits(folder / "dev.parquet"),
    "part-00000.jsonl.gz": lambda folder: list(contracts.read_corpus(folder)),
}


@pytest.mark.parametrize("damage", [flip, cut])
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_of_a_folder_is_refused_and_named(tmp_path, name, damage):
    folder = artefact(tmp_path / "shard-00000")
    READERS[name](folder)
    damage(folder / name)
    with pytest.raises(ResiduumError, match=r"^[^\n]*$") as error:
        READERS[name](folder)
    message = str(error.value)
    assert message.startswith(f"{folder / name}: not the file that was made: found ")
    assert "its manifest records " in message
    assert f"Delete {folder}, then make it again: snakemake --cores all -- {folder}/man" in message


def test_the_hashes_are_those_recorded_and_found(tmp_path):
    folder = artefact(tmp_path / "shard-00000")
    path = folder / "vectors.npy"
    before = files.sha256(path)
    flip(path)
    with pytest.raises(ResiduumError, match=rf"found sha256 {files.sha256(path)}, .* {before}\."):
        intact.checked(path)
    cut(path)
    sizes = f"found {path.stat().st_size} bytes, its manifest records {path.stat().st_size + 3}"
    with pytest.raises(ResiduumError, match=sizes):
        intact.checked(path)


def test_qrels_stand_in_the_manifest_of_their_queries(tmp_path):
    queries, qrels = tmp_path / "queries.tsv", tmp_path / "qrels.trec"
    trec.write_queries(queries, [("q1", "one"), ("q2", "two")])
    trec.write_qrels(qrels, [("q1", "d1", 1), ("q2", "d1", 1)])
    manifest.write(queries, {}, {}, [], "residuum.data", [queries, qrels])
    assert trec.read_qrels(qrels).height == 2
    qrels.write_text("q1 0 d1 1\n")
    with pytest.raises(ResiduumError, match=rf"{qrels}: not the file .* Delete {qrels}, then"):
        trec.read_qrels(qrels)
    queries.write_text("q1\tone\n")
    with pytest.raises(ResiduumError, match=rf"{queries}: not the file"):
        trec.read_queries(queries)


def judge(scores: Path) -> None:
    learning.judge([scores], scores, [scores.parent], "RR@10", scores.parent / "verdict.json")


@pytest.mark.parametrize("damage", [flip, cut])
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("docpairs.tsv.gz", lambda path: docpairs.read(path, first=1)),
        ("seed1.json", Learned.read),
        ("seed1.tsv", judge),
    ],
)
def test_a_file_with_a_manifest_beside_it_is_checked_even_where_a_part_is_read(
    tmp_path, name, read, damage
):
    path = tmp_path / name
    docpairs.write(path, [("q1", "d1", "d2"), ("q1", "d1", "d3")])
    manifest.write(path, {}, {}, [], "residuum.data")
    damage(path)
    with pytest.raises(ResiduumError, match=rf"^{path}: not the file that was made: found "):
        read(path)


def test_a_folder_of_many_files_has_its_manifest_read_once(tmp_path, monkeypatch):
    docs = ((f"d{number}", {"text": "one"}) for number in range(5))
    shards = contracts.write_corpus(tmp_path, docs, per_shard=1)
    manifest.write(tmp_path, {"shards": shards, "docs": 5}, {}, [], "residuum.data")
    parsed, parse = [], intact.Listed.model_validate_json
    monkeypatch.setattr(
        intact.Listed, "model_validate_json", lambda d: parsed.append(d) or parse(d)
    )
    for shard in shards:
        intact.checked(tmp_path / shard["name"])
    assert len(shards) == 5 and len(parsed) == 1


def test_a_checkpoint_is_checked_whole_before_it_is_loaded(tmp_path):
    folder = tmp_path / "seed1"
    for name in ("model.safetensors", "1_Pooling/config.json"):
        files.write_text(folder / name, "weights")
    manifest.write(folder, {}, {}, [], "residuum.train")
    intact.check_folder(folder)
    files.write_text(folder / "notes.txt", "of a user")
    intact.check_folder(folder)
    flip(folder / "1_Pooling/config.json")
    with pytest.raises(ResiduumError, match=r"1_Pooling/config\.json: not the file that was made"):
        intact.check_folder(folder)
    (folder / "model.safetensors").unlink()
    (folder / "1_Pooling/config.json").write_text("weights")
    with pytest.raises(ResiduumError, match=rf"safetensors: no such file\. Delete {folder}, then"):
        intact.check_folder(folder)


def test_files_that_nothing_records_pass_and_bad_vectors_have_the_usual_words(tmp_path):
    contracts.write_vectors(tmp_path, ["d1"], np.zeros((1, 4), dtype=np.float32))
    for text in ("{}", "[]", '{"files": {"vectors.npy": "static/vectors.npy"}}', '{"files": []}'):
        (tmp_path / "manifest.json").write_text(text)
        contracts.read_vectors(tmp_path)
    for keep in (-3, 40, 0):
        data = (tmp_path / "vectors.npy").read_bytes()
        (tmp_path / "vectors.npy").write_bytes(data[:keep])
        with pytest.raises(
            ResiduumError, match=r"vectors\.npy: truncated or damaged \(.*delete it"
        ):
            contracts.read_vectors(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ResiduumError, match=r"manifest\.json: cut short or damaged: .*delete it"):
        contracts.read_vectors(tmp_path)


def test_a_file_is_hashed_once_a_process(tmp_path, monkeypatch):
    folder, hashed = artefact(tmp_path / "shard-00000"), []
    digest = files.hashlib.file_digest

    def counted(handle, kind):
        hashed.append(re.sub(r".*/", "", handle.name))
        return digest(handle, kind)

    monkeypatch.setattr(files.hashlib, "file_digest", counted)
    for _ in range(3):
        contracts.read_vectors(folder)
        files.sha256(folder / "vectors.npy")
    assert sorted(hashed) == ["ids.txt", "vectors.npy"]

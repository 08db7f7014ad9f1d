"""Encoding: each shard holds the vectors of its docs and reads no other; queries by split."""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from contents import contents
from corpora import make_corpus
from residuum import encode
from residuum.artefacts import contracts, files, manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import Encoder as EncoderSchema
from residuum.config.schema.reading import Windows
from residuum.neural import devices
from residuum.neural.encoders import Encoder
from residuum.neural.heads import HEADS
from residuum.neural.pretrained import Source
from residuum.neural.tokens import passages
from tiny_models import ENCODER, make_backbone, toy_docs, toy_queries

DOCS = [(f"{doc_id}-{n}", f"{text} {n}") for n in range(5) for doc_id, text in toy_docs()]  # 120


class Made(NamedTuple):
    """A corpus in parts of 50 docs, queries and an untrained checkpoint on disk."""

    folder: Path
    corpus: Path
    model: Path

    def shard(self, output: Path, shard: int, of: int, **changes: Any) -> Path:
        """Encode a shard in this process."""
        encode.encode_docs(**{**self.arguments(output, shard, of), **changes})
        return output

    def arguments(self, output: Path, shard: int, of: int) -> dict[str, Any]:
        """Return the arguments of `docs`."""
        sizes = {"shard": shard, "of": of, "batch_size": 4, "threads": 1}
        paths = {"corpus": self.corpus, "model": self.model, "output": output}
        return {**paths, **sizes, "device": "cpu"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("encode")
    corpus = make_corpus(folder / "corpus", DOCS, per_shard=50)
    trec.write_queries(folder / "queries.tsv", toy_queries())
    backbone = make_backbone(folder / "backbone", corpus)
    settings = EncoderSchema.model_validate(ENCODER)
    (folder / "model").mkdir()
    start = Encoder(Source(str(backbone)), settings, devices.choose("cpu", "fp32", 1))
    start.save(folder / "model")
    return Made(folder, corpus, folder / "model")


def expected(made: Made, texts: list[str], kind: Any) -> np.ndarray:
    return Encoder.load(made.model, devices.choose("cpu", "fp32", 1)).encode(texts, kind, 1)


def test_shards_hold_the_vectors_of_the_docs_in_corpus_order(made: Made, tmp_path: Path) -> None:
    folders = [made.shard(tmp_path / str(n), n, 7) for n in range(7)]
    shards = [contracts.read_vectors(folder) for folder in folders]
    assert [len(ids) for ids, _ in shards] == [17, 17, 17, 17, 17, 17, 18]
    assert [i for ids, _ in shards for i in ids] == [doc_id for doc_id, _ in DOCS]
    vectors = np.concatenate([vectors for _, vectors in shards])
    texts = [text for _, text in DOCS]
    np.testing.assert_allclose(vectors, expected(made, texts, "doc"), atol=1e-5)
    artefact = json.loads((folders[6] / "manifest.json").read_text())["artefact"]
    assert artefact["shard"] == {"number": 6, "of": 7, "docs": 18}
    assert artefact["dimensions"] == 16
    assert artefact["weights"] == files.sha256(made.model / "model.safetensors")


def test_a_shard_opens_no_part_of_the_corpus_that_lies_outside(made: Made, tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "corpus", DOCS, per_shard=50)
    (corpus / "part-00000.jsonl.gz").write_bytes(b"damaged")
    whole = made.shard(tmp_path / "whole", 1, 2)  # docs 60 to 119: parts 1 and 2
    other = made.shard(tmp_path / "other", 1, 2, corpus=corpus)
    assert files.sha256(other / "vectors.npy") == files.sha256(whole / "vectors.npy")
    with pytest.raises(ResiduumError, match=r"part-00000\.jsonl\.gz: the compressed data is"):
        made.shard(tmp_path / "none", 0, 2, corpus=corpus)
    assert not (tmp_path / "none").exists()


def test_a_failure_leaves_what_was_there(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made.shard(tmp_path / "shard", 0, 2)
    before = files.sha256_of(folder)

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(encode.manifest, "write", fail)
    with pytest.raises(OSError, match="disk full"):
        made.shard(tmp_path / "shard", 1, 2)
    assert files.sha256_of(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["shard"]


def test_shards_are_numbered_from_0_and_hold_docs(made: Made, tmp_path: Path) -> None:
    for shard in (-1, 2):
        with pytest.raises(ResiduumError, match="shards are counted from 0 to 1"):
            made.shard(tmp_path / "none", shard, 2)
    with pytest.raises(ResiduumError, match="has 120 docs, so that shard 0 is empty"):
        made.shard(tmp_path / "none", 0, 121)


def write_lists(path: Path, *docs: str) -> Path:
    """Write a run in which each doc is the hit of two queries."""
    rows = [(query, doc, float(n)) for query in ("q1", "q2") for n, doc in enumerate(docs)]
    hits = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    trec.write_run(path, trec.rank(hits), "lists")
    return path


def test_candidates_have_the_vectors_that_the_whole_corpus_gives_them(
    made: Made, tmp_path: Path
) -> None:
    every, vectors = contracts.read_vectors(made.shard(tmp_path / "whole", 0, 1))
    listed = every[100:3:-7]
    run = write_lists(tmp_path / "lists.trec.gz", *listed)
    encoded: dict[str, np.ndarray] = {}
    for n in range(3):
        arguments = made.arguments(tmp_path / f"part{n}", n, 3)
        encode.encode_candidates(**arguments, run=run)
        ids, own = contracts.read_vectors(tmp_path / f"part{n}")
        assert ids == [doc for doc in every if doc in ids], "in the order of the corpus"
        facts = json.loads((tmp_path / f"part{n}" / "manifest.json").read_text())
        assert facts["artefact"]["shard"] == {"number": n, "of": 3, "docs": len(ids)}
        assert any(str(run) in name for name in facts["inputs"])
        assert not encoded.keys() & {*ids}
        encoded |= dict(zip(ids, own, strict=True))
    assert encoded.keys() == {*listed} and len(listed) == 14
    for doc, vector in zip(every, vectors, strict=True):
        if doc in encoded:
            np.testing.assert_allclose(encoded[doc], vector, atol=1e-6)


def test_candidates_that_no_corpus_has_and_empty_shards_are_refused(
    made: Made, tmp_path: Path
) -> None:
    run = write_lists(tmp_path / "lists.trec.gz", DOCS[0][0], "of-another")
    with pytest.raises(
        ResiduumError, match=r"lists\.trec\.gz: doc_id of-another is no doc of .*corpus"
    ):
        encode.encode_candidates(**made.arguments(tmp_path / "none", 0, 1), run=run)
    for shard, of, fault in ((0, 3, "has 2 docs"), (-1, 1, "from 0 to 0"), (2, 2, "from 0 to 1")):
        with pytest.raises(ResiduumError, match=fault):
            encode.encode_candidates(**made.arguments(tmp_path / "none", shard, of), run=run)
    assert not (tmp_path / "none").exists()


def test_queries_of_each_split_have_their_vectors(made: Made, tmp_path: Path) -> None:
    trec.write_queries(tmp_path / "few.tsv", toy_queries()[:3])
    splits = [f"toy={made.folder / 'queries.tsv'}", f"few={tmp_path / 'few.tsv'}"]
    encode.encode_queries(splits, made.model, 4, tmp_path / "queries", 1, "cpu")
    texts = trec.read_queries(made.folder / "queries.tsv")
    ids, vectors = contracts.read_vectors(tmp_path / "queries" / "toy")
    assert ids == list(texts)
    required = expected(made, list(texts.values()), "query")
    np.testing.assert_allclose(vectors, required, atol=1e-5)
    assert contracts.read_vectors(tmp_path / "queries" / "few")[0] == ["q0", "q1", "q2"]
    artefact = json.loads((tmp_path / "queries" / "manifest.json").read_text())["artefact"]
    assert artefact["queries"] == {"toy": 8, "few": 3}


def test_queries_may_have_an_encoder_of_their_own(made: Made, tmp_path: Path) -> None:
    """Vectors are those of the other encoder; they are compared with docs of this model."""
    docs = tmp_path / "docs"
    shutil.copytree(made.model, docs)
    encoder = Encoder.load(docs, devices.choose("cpu", "fp32", 1))
    manifest.write(docs, {"dimensions": encoder.dimensions}, {}, [], "residuum.release")
    settings = encoder.settings.model_copy(update={"pooling": HEADS["cls"](kind="cls")})
    (tmp_path / "asking").mkdir()
    asking = Encoder(Source(str(docs)), settings, encoder.device)
    asking.save(tmp_path / "asking")
    given = [f"dev={made.folder / 'queries.tsv'}"], docs, 4
    encode.encode_queries(*given, tmp_path / "out", device="cpu", asking=tmp_path / "asking")
    _, vectors = contracts.read_vectors(tmp_path / "out" / "dev")
    texts = [text for _, text in toy_queries()]
    assert np.array_equal(vectors, asking.encode(texts, "query", 4))
    assert not np.allclose(vectors, encoder.encode(texts, "query", 4))
    encode.encode_queries(*given, tmp_path / "plain", device="cpu")
    facts = [manifest.read(tmp_path / name / manifest.FOLDER) for name in ("out", "plain")]
    assert facts[0]["artefact"]["weights"] == facts[1]["artefact"]["weights"]
    manifest.write(docs, {"dimensions": 7}, {}, [], "residuum.release")
    with pytest.raises(ResiduumError, match=r"those of docs by .* have 7\. Name two encoders"):
        encode.encode_queries(*given, tmp_path / "no", device="cpu", asking=tmp_path / "asking")


def test_the_same_shard_has_the_same_bytes(made: Made, tmp_path: Path) -> None:
    one, two = (made.shard(tmp_path / name, 1, 3) for name in ("one", "two"))
    assert contents(one) == contents(two)


def test_long_docs_get_a_vector_for_each_passage(made: Made, tmp_path: Path) -> None:
    text = " ".join(text for _, text in toy_docs())
    docs = [(f"d{n}", {"text": text[n:], "title": "water", "body": text[n:]}) for n in range(3)]
    docs.append(("short", {"text": "x", "title": "water", "body": "flour"}))
    long = make_corpus(tmp_path / "long", docs)
    form = Windows(length=10, stride=5, head=["title"], body="body", expected=4)
    options = {"corpus": long, "windows": form.model_dump_json()}
    folder = made.shard(tmp_path / "vectors", 0, 1, **options)
    ids, vectors = contracts.read_vectors(folder)
    encoder = Encoder.load(made.model, devices.choose("cpu", "fp32", 1))
    required = [(i, t) for i, d in docs for t in passages(d, form, encoder.tokenizer, 1000)]
    assert ids == [doc_id for doc_id, _ in required] and ids.count("d0") > 5 > ids.count("short")
    np.testing.assert_allclose(vectors, expected(made, [t for _, t in required], "doc"), atol=1e-6)
    facts = json.loads((folder / "manifest.json").read_text())
    assert facts["artefact"]["vectors"] == len(ids) and facts["artefact"]["shard"]["docs"] == 4
    assert facts["spec"]["windows"]["length"] == 10
    assert encoder.doc_room == ENCODER["doc_length"] - 2, "marker and [SEP]"


def test_the_number_of_vectors_of_a_text_is_recorded_where_it_tells_them_apart(
    made: Made, tmp_path: Path
) -> None:
    settings = {**ENCODER, "pooling": {"kind": "first", "vectors": 3}, "doc_marker": ""}
    start = Source(str(made.folder / "backbone"))
    device = devices.choose("cpu", "fp32", 1)
    Encoder(start, EncoderSchema.model_validate(settings), device).save(tmp_path / "model")
    docs = [("long", "mill " * 30), ("one", "mill")]  # [CLS] mill [SEP]: 3 vectors, as the long one
    fields = [(name, {"text": text, "title": "", "body": text}) for name, text in docs]
    form = Windows(length=10, stride=10, body="body", expected=3).model_dump_json()
    shown = {}
    for name, corpus in (
        ("alike", fields),
        ("with empty", [*fields, ("none", fields[0][1] | {"text": "", "body": ""})]),
    ):
        made_corpus = make_corpus(tmp_path / name, corpus)
        for windows in (None, form):
            output = tmp_path / f"{name} {bool(windows)}"
            options = {"corpus": made_corpus, "windows": windows, "model": tmp_path / "model"}
            facts = json.loads((made.shard(output, 0, 1, **options) / "manifest.json").read_text())
            shown[name, bool(windows)] = facts["artefact"].get("vectors_of_text")
    # an empty text has two vectors: then the passages of a doc cannot be told apart
    assert shown == {
        ("alike", False): 3, ("alike", True): 3,
        ("with empty", False): 3, ("with empty", True): None,
    }  # fmt: skip
    record = json.loads((made.shard(tmp_path / "single", 0, 3) / "manifest.json").read_text())
    assert "vectors_of_text" not in record["artefact"]


def test_a_snapshot_is_encoded_as_a_model_of_its_own(made: Made, tmp_path: Path) -> None:
    """Two snapshots, of which the first is what stands finished in another folder."""
    model = tmp_path / "model"
    shutil.copytree(made.model, model / "snapshots" / "1")
    shutil.copytree(made.model, model / "snapshots" / "2")
    whole = made.shard(tmp_path / "whole", 0, 3)
    kept = made.shard(tmp_path / "kept", 0, 3, model=model, snapshot=1)
    vectors = {k: v for k, v in contents(kept).items() if "manifest" not in k}
    assert vectors and vectors.items() <= contents(whole).items()
    assert json.loads((kept / "manifest.json").read_text())["spec"]["snapshot"] == 1
    with pytest.raises(ResiduumError, match=r"model: no snapshot 3; it has 1, 2 \(training\.snap"):
        made.shard(tmp_path / "absent", 0, 3, model=model, snapshot=3)
    with pytest.raises(ResiduumError, match="no snapshot 1; its training kept none"):
        made.shard(tmp_path / "absent", 0, 3, snapshot=1)

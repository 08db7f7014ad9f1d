"""Pairs scored by vectors have the scores of a dense run, whatever the vectors are."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoTokenizer

from corpora import make_corpus
from residuum import dense, encode, rerank
from residuum import release as stage
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.reading import Windows
from residuum.neural.devices import Device
from residuum.neural.encoders import Encoder
from tiny_models import make_backbone, toy_docs, toy_queries

KEYS = {"query_length": 12, "doc_length": 16, "similarity": "dot"}
TOKENS = {"kind": "tokens", "expanded": 10, "skipped": ["here"]}
POOLINGS: dict[str, Any] = {"mean": "mean", "splade": "splade", "tokens": TOKENS}
DOCS = [
    (doc_id, {"text": f"{text} " * (1 + n % 4), "body": f"{text} and {doc_id[1]} " * (1 + n % 5)})
    for n, (doc_id, text) in enumerate(toy_docs())
]
WINDOWS = Windows(length=9, stride=5, head=[], body="body", expected=2).model_dump_json()
Taker = Callable[..., Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a corpus, queries, a backbone and two overlapping runs."""
    folder = tmp_path_factory.mktemp("matching")
    corpus = make_corpus(folder / "corpus", DOCS)
    trec.write_queries(folder / "queries.tsv", toy_queries())
    for seed, name in enumerate(("start", "other"), 1):
        made = make_backbone(folder / f"bare {name}", corpus, seed=seed)
        torch.manual_seed(seed)
        model = AutoModelForMaskedLM.from_pretrained(made)  # its head is new
        model.save_pretrained(folder / name)
        AutoTokenizer.from_pretrained(made).save_pretrained(folder / name)
    ids = [doc_id for doc_id, _ in DOCS]
    for shift, name in enumerate(("one", "two")):
        rows = [
            (f"q{q}", ids[(3 * q + 2 * shift + i) % len(ids)], 10.0 - i)
            for q in range(8)
            for i in range(8)
        ]
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
        trec.write_run(folder / f"{name}.gz", trec.rank(frame), name)
    return folder


@pytest.fixture
def take(folder: Path, tmp_path: Path) -> Taker:
    """Return what takes a released encoder in: take(pooling, start="start", **keys) -> folder."""

    def taken(pooling: str, start: str = "start", **keys: object) -> Path:
        output = tmp_path / "-".join([pooling, start, *keys])
        settings = {**KEYS, "pooling": POOLINGS[pooling], **keys}
        stage.encoder(str(folder / start), json.dumps(settings), output)
        return output

    return taken


def scored(folder: Path, model: Path, output: Path, depth: int = 6, **more: Any) -> pl.DataFrame:
    """Return query_id, doc_id and score of the first docs of both runs, by `rerank score`."""
    spec = json.dumps({"batch_size": 4, "part_pairs": more.pop("part_pairs", 7)})
    runs = more.pop("runs", ["one", "two"])
    rerank.score([folder / f"{name}.gz" for name in runs], [depth] * len(runs),
                 folder / "queries.tsv", folder / "corpus", [str(model)], spec,
                 output.with_name("store"), output, device="cpu", **more)  # fmt: skip
    return trec.read_run(output).select(*trec.PAIR, "score").sort(trec.PAIR)


def of_search(folder: Path, model: Path, work: Path, pairs: Path, **more: Any) -> pl.DataFrame:
    """Return the scores of the same pairs by vectors of the whole corpus, as a dense run has."""
    queries = {"asking": more.pop("asking", None)}
    encode.encode_docs(folder / "corpus", model, 0, 1, 64, work / "docs", device="cpu", **more)
    encode.encode_queries([f"dev={folder / 'queries.tsv'}"], model, 64, work / "queries",
                          device="cpu", **queries)  # fmt: skip
    system = json.dumps({"kind": "dense", "model": "m", "k": 100})
    dense.score_run([work / "docs"], [work / "queries" / "dev"], [pairs], system, "tag",
                    work / "dense.gz")  # fmt: skip
    return trec.read_run(work / "dense.gz").select(*trec.PAIR, "score").sort(trec.PAIR)


@pytest.mark.parametrize("windows", [None, WINDOWS], ids=["whole", "windows"])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_scores_are_a_dense_runs(
    pooling: str, windows: str | None, folder: Path, take: Taker, tmp_path: Path
) -> None:
    model = take(pooling)
    made = scored(folder, model, tmp_path / "pairs.gz", windows=windows)
    assert made.height == 64  # the union of both lists, each pair once
    assert_close(made, of_search(folder, model, tmp_path, tmp_path / "pairs.gz", windows=windows))
    assert made["score"].n_unique() > 20


def assert_close(made: pl.DataFrame, expected: pl.DataFrame) -> None:
    """The same pairs, with scores within 1e-5: a narrow model's texts are padded otherwise."""
    assert made.select(trec.PAIR).equals(expected.select(trec.PAIR))
    np.testing.assert_allclose(made["score"], expected["score"], rtol=0, atol=1e-5)


def test_scores_of_a_wide_model_are_the_bytes_of_a_dense_runs(
    folder: Path, take: Taker, tmp_path: Path
) -> None:
    config = AutoConfig.from_pretrained(folder / "start")
    config.hidden_size, config.intermediate_size, config.num_attention_heads = 256, 64, 2
    torch.manual_seed(2)
    AutoModel.from_config(config).save_pretrained(folder / "wide")
    AutoTokenizer.from_pretrained(folder / "start").save_pretrained(folder / "wide")
    model = take("tokens", "wide")
    made = scored(folder, model, tmp_path / "pairs.gz")
    assert made.equals(of_search(folder, model, tmp_path, tmp_path / "pairs.gz"))


def test_a_late_encoders_scores_are_sums_of_best_products(
    folder: Path, take: Taker, tmp_path: Path
) -> None:
    """By a plain loop over the vectors of each text alone."""
    model = take("tokens")
    encoder, queries, docs = Encoder.load(model, rerank.devices.choose("cpu", "fp32", 1)), {}, {}
    for query, text in toy_queries():
        queries[query] = np.asarray(encoder.encode([text], "query", 1))
    for doc, record in DOCS:
        docs[doc] = np.asarray(encoder.encode([record["text"]], "doc", 1))
    for query, doc, score in scored(folder, model, tmp_path / "pairs.gz").iter_rows():
        total = 0.0
        for of_query in queries[query]:
            total += max(sum(float(a) * float(b) for a, b in zip(of_query, of_doc, strict=True))
                         for of_doc in docs[doc])  # fmt: skip
        assert score == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_text_is_encoded_once_and_scores_are_the_same_bytes_whatever_the_history(
    pooling: str, folder: Path, take: Taker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, int]] = []
    of_tokens = Encoder.vectors_of

    def counting(self: Encoder, tokens: Any, kind: Any, *more: Any) -> Any:
        rows = list(tokens)
        read.append((kind, len(rows)))
        return of_tokens(self, rows, kind, *more)

    def counted() -> dict[str, int]:
        sums = {kind: sum(n for k, n in read if k == kind) for kind in ("query", "doc")}
        read.clear()
        return sums

    model = take(pooling)
    monkeypatch.setattr(Encoder, "vectors_of", counting)
    fresh = scored(folder, model, tmp_path / "fresh" / "pairs.gz", part_pairs=100)
    assert counted() == {"query": 8, "doc": 24}, "64 pairs of 8 queries and 24 docs"
    first = scored(folder, model, tmp_path / "pairs.gz", runs=["one"], part_pairs=100)
    assert first.height == 48 and counted() == {"query": 8, "doc": 24}
    assert scored(folder, model, tmp_path / "pairs.gz", part_pairs=100).equals(fresh)
    assert counted() == {"query": 8, "doc": 16}, "16 pairs more, of 16 docs"
    scored(folder, model, tmp_path / "pairs.gz")
    assert counted() == {"query": 0, "doc": 0}


@pytest.mark.parametrize("pooling", POOLINGS)
def test_vectors_in_16_bits_are_near_those_in_32(pooling: str, take: Taker) -> None:
    """fp16 keeps eleven bits of a number and bf16 eight; weights and products have them, alike."""
    model, texts = take(pooling), [record["text"] for _, record in DOCS]
    made = {
        precision: Encoder.load(model, Device("cpu", precision)).encode(texts, "doc", 8)
        for precision in ("fp32", "fp16", "bf16")
    }
    exact, *others = (
        np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows) for rows in made.values()
    )
    assert all(rows.dtype == np.float32 for rows in (exact, *others))
    near, far = (np.linalg.norm(rows - exact) / np.linalg.norm(exact) for rows in others)
    assert 1e-5 < near < 2e-3 < 2 * far < 6e-2, (near, far)
    assert near < far / 2


def test_queries_may_be_read_by_another_encoder(folder: Path, take: Taker, tmp_path: Path) -> None:
    model, asking = take("mean"), take("mean", "other")
    made = scored(folder, model, tmp_path / "pairs.gz", asking=asking)
    expected = of_search(folder, model, tmp_path, tmp_path / "pairs.gz", asking=asking)
    assert_close(made, expected)
    record = json.loads((tmp_path / "pairs.gz.manifest.json").read_text())
    assert {str(model), str(asking)} < {*record["inputs"]}
    alone = scored(folder, model, tmp_path / "pairs.gz")
    assert not alone.equals(made), "scores by another model of queries are not kept"
    short = take("mean", "other", dimensions=5)
    with pytest.raises(ResiduumError, match=r"have 5 dimensions, and those of docs .* 16"):
        scored(folder, model, tmp_path / "no.gz", asking=short)
    sparse = take("splade", "other")
    with pytest.raises(ResiduumError, match="dimensions"):
        scored(folder, model, tmp_path / "no.gz", asking=sparse)

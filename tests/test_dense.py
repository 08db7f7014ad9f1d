"""Encoding, search and pair scores against brute force, ties and shards; kill -9 and resume."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from corpora import make_corpus
from killing import run_and_kill
from residuum import dense
from residuum.core import contracts, files, schema, trec
from residuum.core.errors import ResiduumError
from residuum.neural import devices, search
from residuum.neural.encoders import Encoder
from tiny_models import ENCODER, make_backbone, toy_docs, toy_queries

SHARD = tuple[list[str], np.ndarray]
FINE = {"score": pl.Float64}


def spec(k: int) -> str:
    return json.dumps({"kind": "dense", "label": "test", "model": "test", "k": k})


def cut(ids: list[str], vectors: np.ndarray, size: int) -> search.Shards:
    def shards() -> Iterator[SHARD]:
        for first in range(0, len(ids), size):
            yield ids[first : first + size], vectors[first : first + size]

    return shards


def found(shards: search.Shards, queries: np.ndarray, k: int) -> pl.DataFrame:
    """Search as the stage does; query ids are the row numbers."""
    hits = search.candidates(shards, queries, k, gpu=False)
    scored = search.pair_scores(shards, queries, hits)
    return trec.rank(scored.with_columns(query_id=pl.col("query").cast(pl.String)), k)


def brute(ids: list[str], vectors: np.ndarray, queries: np.ndarray, k: int) -> pl.DataFrame:
    """Score everything in float64, a doc by its best vector; rank by score, then doc_id."""
    rows = []
    for query, scores in enumerate(queries.astype(np.float64) @ vectors.T.astype(np.float64)):
        best: dict[str, float] = {}
        for doc_id, score in zip(ids, scores, strict=True):
            best[doc_id] = max(score, best.get(doc_id, -np.inf))
        rounded = [(-round(score, 6), doc_id) for doc_id, score in best.items()]
        for place, (score, doc_id) in enumerate(sorted(rounded)[:k], start=1):
            rows.append((str(query), doc_id, place, -score))
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "rank", "score"], orient="row")
    return run.sort("query_id", "rank")


def compare(one: pl.DataFrame, other: pl.DataFrame) -> None:
    assert one.select("query_id", "doc_id", "rank").rows() == (
        other.select("query_id", "doc_id", "rank").rows()
    )
    np.testing.assert_allclose(one["score"], other["score"], atol=1e-9)


@pytest.fixture(scope="module")
def random() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("k", [1, 10, 200, 500])
@pytest.mark.parametrize("size", [200, 64, 7])
def test_search_is_brute_force(random: np.random.Generator, k: int, size: int) -> None:
    vectors = random.normal(size=(200, 12)).astype(np.float32)
    queries = random.normal(size=(9, 12)).astype(np.float32)
    ids = [f"d{i:03d}" for i in random.permutation(200)]
    compare(found(cut(ids, vectors, size), queries, k), brute(ids, vectors, queries, k))


@pytest.mark.parametrize("size", [300, 50])
def test_ties_at_the_last_rank_go_by_doc_id(random: np.random.Generator, size: int) -> None:
    """Integers make exact ties: 300 docs have a handful of scores, more than the spare hits."""
    vectors = random.integers(0, 2, size=(300, 4)).astype(np.float32)
    queries = random.integers(0, 2, size=(8, 4)).astype(np.float32)
    ids = [f"d{i:03d}" for i in random.permutation(300)]
    for k in (1, 5, 100):
        compare(found(cut(ids, vectors, size), queries, k), brute(ids, vectors, queries, k))


def test_a_doc_with_several_vectors_scores_by_its_best(random: np.random.Generator) -> None:
    vectors = random.normal(size=(240, 6)).astype(np.float32)
    queries = random.normal(size=(5, 6)).astype(np.float32)
    ids = [f"d{i // 3:03d}" if i < 120 else f"e{i:03d}" for i in range(240)]
    for k in (3, 50, 400):
        run = found(cut(ids, vectors, 60), queries, k)
        compare(run, brute(ids, vectors, queries, k))
    assert len(run) == 5 * 160


def test_many_queries_and_docs_agree_with_brute_force_scores(random: np.random.Generator) -> None:
    vectors = random.normal(size=(3000, 16)).astype(np.float32)
    queries = random.normal(size=(60, 16)).astype(np.float32)
    ids = [f"d{i:04d}" for i in range(3000)]
    one, cuts = found(cut(ids, vectors, 3000), queries, 100), cut(ids, vectors, 701)
    assert one.equals(found(cuts, queries, 100))
    compare(one, brute(ids, vectors, queries, 100))


def test_a_doc_without_a_vector_is_named() -> None:
    shards = cut(["a", "b"], np.ones((2, 3), np.float32), 1)
    pairs = pl.DataFrame({"query": [0, 0], "doc_id": ["a", "zzz"]})
    with pytest.raises(ResiduumError, match=r"doc_id zzz has no vector \(1 such docs\)"):
        search.pair_scores(shards, np.ones((1, 3), np.float32), pairs)


class Made(NamedTuple):
    """A corpus, queries and an untrained checkpoint on disk."""

    folder: Path
    corpus: Path
    model: Path

    def encode(self, output: Path, shard_docs: int = 10, **changes: Any) -> Path:
        """Encode in this process."""
        dense.encode(**{**self.encoding(output, shard_docs), **changes})
        return output

    def encoding(self, output: Path, shard_docs: int) -> dict[str, Any]:
        """Return the arguments of `encode`; queries go beside the output."""
        return {
            "corpus": self.corpus,
            "split": [f"toy={self.folder / 'queries.tsv'}"],
            "model": self.model,
            "spec": json.dumps({"shard_docs": shard_docs, "batch_size": 4}),
            "output": output,
            "queries_output": output.with_name(f"{output.name}-queries"),
            "threads": 1,
            "device": "cpu",
        }

    def search(self, embeddings: Path, output: Path, k: int = 5) -> pl.DataFrame:
        """Search in this process and read the run back."""
        dense.search_corpus(embeddings, self.queries, spec(k), "test", output, device="cpu")
        return trec.read_run(output)

    @property
    def queries(self) -> Path:
        """The folder of the query embeddings."""
        return self.folder / "embeddings-queries" / "toy"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("dense")
    docs = [(f"{doc_id}-{n}", f"{text} {n}") for n in range(5) for doc_id, text in toy_docs()]
    docs.append(("copy", docs[3][1]))  # ties with another doc
    corpus = make_corpus(folder / "corpus", docs)
    trec.write_queries(folder / "queries.tsv", toy_queries())
    backbone = make_backbone(folder / "backbone", corpus)
    device = devices.choose("cpu", "fp32", 1)
    settings = schema.Encoder.model_validate(ENCODER)
    (folder / "model").mkdir()
    Encoder.start(str(backbone), None, settings, device).save(folder / "model")
    made = Made(folder, corpus, folder / "model")
    made.encode(folder / "embeddings")
    return made


def test_encoded_queries_hold_the_vectors_of_the_queries(made: Made) -> None:
    [(ids, vectors)] = list(contracts.read_shards(made.queries))
    texts = trec.read_queries(made.folder / "queries.tsv")
    assert ids == list(texts)
    encoder = Encoder.load(made.model, devices.choose("cpu", "fp32", 1))
    expected = encoder.encode(list(texts.values()), "query", 1)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_encoded_shards_hold_the_vectors_of_the_docs(made: Made, tmp_path: Path) -> None:
    embeddings = made.encode(tmp_path / "embeddings", shard_docs=50)
    shards = list(contracts.read_shards(embeddings))
    assert [len(ids) for ids, _ in shards] == [50, 50, 21]
    docs = list(contracts.read_corpus(made.corpus))
    assert [i for ids, _ in shards for i in ids] == [doc_id for doc_id, _ in docs]
    encoder = Encoder.load(made.model, devices.choose("cpu", "fp32", 1))
    expected = encoder.encode([text for _, text in docs], "doc", 1)
    np.testing.assert_allclose(np.concatenate([v for _, v in shards]), expected, atol=1e-5)
    artefact = json.loads((embeddings / "manifest.json").read_text())["artefact"]
    assert (artefact["docs"], artefact["dimensions"], artefact["shards"]) == (121, 16, 3)


def test_shards_do_not_change_the_run(made: Made, tmp_path: Path) -> None:
    for size in (7, 40, 1000):
        made.search(made.encode(tmp_path / f"by{size}", size), tmp_path / f"{size}.trec.gz", k=200)
    runs = [trec.read_run(tmp_path / f"{size}.trec.gz") for size in (7, 40, 1000)]
    assert [len(run) for run in runs] == [8 * 121] * 3  # k exceeds the corpus: every doc, no more
    for run in runs[1:]:
        both = runs[0].join(run, on=["query_id", "doc_id"], how="full", coalesce=True)
        np.testing.assert_allclose(both["score"], both["score_right"], atol=2e-6)
    assert json.loads((tmp_path / "7.trec.gz.manifest.json").read_text())["artefact"] == {
        "queries": 8,
        "hits": 8 * 121,
    }


def test_score_agrees_with_search(made: Made, tmp_path: Path) -> None:
    embeddings = made.encode(tmp_path / "embeddings")
    run = made.search(embeddings, tmp_path / "search.trec.gz", k=20)
    other = run.filter(pl.col("query_id") != "q3").with_columns(score=-pl.col("rank").cast(float))
    trec.write_run(tmp_path / "other.trec.gz", trec.rank(other), "other")
    files_in = (embeddings, made.queries, [tmp_path / "other.trec.gz"])
    dense.score_run(*files_in, spec(20), "test", tmp_path / "score.trec.gz")
    scored = trec.read_run(tmp_path / "score.trec.gz")
    assert scored.equals(run.filter(pl.col("query_id") != "q3"))


def test_score_refuses_queries_it_does_not_know(made: Made, tmp_path: Path) -> None:
    embeddings = made.encode(tmp_path / "embeddings")
    strange = pl.DataFrame({"query_id": ["q77"], "doc_id": ["copy"], "score": [1.0]})
    trec.write_run(tmp_path / "other.trec.gz", trec.rank(strange), "other")
    files_in = (embeddings, made.queries, [tmp_path / "other.trec.gz"])
    with pytest.raises(
        ResiduumError, match=r"other\.trec\.gz: query_id q77 is not in .*embeddings-queries"
    ):
        dense.score_run(*files_in, spec(20), "test", tmp_path / "no.trec.gz")


def test_embeddings_of_another_model_are_refused(made: Made, tmp_path: Path) -> None:
    embeddings = made.encode(tmp_path / "embeddings")
    record = json.loads((embeddings / "manifest.json").read_text())
    record["artefact"]["weights"] = "0" * 64
    (embeddings / "manifest.json").write_text(json.dumps(record))
    with pytest.raises(ResiduumError, match="made by different models"):
        made.search(embeddings, tmp_path / "no.trec.gz")


def test_killed_encoding_goes_on_at_the_first_missing_shard(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = made.encode(tmp_path / "whole", shard_docs=1)
    arguments = made.encoding(tmp_path / "killed", 1)
    options = [word for key, value in arguments.items() for word in option(key, value)]
    second = tmp_path / "killed" / "shard-00001"
    run_and_kill(["residuum.dense", "encode", *options], when=second.exists)
    assert not (tmp_path / "killed" / "manifest.json").exists()
    written = record_shards(monkeypatch)
    dense.encode(**arguments)
    assert "shard-00001" not in written
    assert "shard-00120" in written
    assert files.sha256_tree(tmp_path / "killed") == files.sha256_tree(whole)
    for output in (tmp_path / "killed-queries", tmp_path / "whole-queries"):
        assert (output / "toy" / "shard-00000" / "vectors.npy").exists()
    assert files.sha256_tree(tmp_path / "killed-queries") == files.sha256_tree(
        tmp_path / "whole-queries"
    )


def test_a_new_split_encodes_its_queries_and_no_doc(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embeddings = made.encode(tmp_path / "embeddings", shard_docs=50)
    before = files.sha256_tree(embeddings)
    (embeddings / "manifest.json").unlink()  # as Snakemake does before it runs a job again
    trec.write_queries(tmp_path / "more.tsv", toy_queries()[:3])
    split = [f"toy={made.folder / 'queries.tsv'}", f"more={tmp_path / 'more.tsv'}"]
    written = record_shards(monkeypatch)
    made.encode(tmp_path / "embeddings", shard_docs=50, split=split)
    assert written == ["shard-00000", "shard-00000"]
    assert files.sha256_tree(embeddings) == before
    record = json.loads((tmp_path / "embeddings-queries" / "manifest.json").read_text())
    assert record["artefact"]["queries"] == {"toy": 8, "more": 3}
    [(ids, _)] = list(contracts.read_shards(tmp_path / "embeddings-queries" / "more"))
    assert ids == ["q0", "q1", "q2"]


def test_embeddings_of_other_weights_or_docs_are_not_kept(
    made: Made, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made.encode(tmp_path / "embeddings", shard_docs=50)
    docs = [(doc_id, f"{text} water") for doc_id, text in contracts.read_corpus(made.corpus)]
    other = make_corpus(tmp_path / "corpus", docs[:90])
    embeddings = made.encode(tmp_path / "embeddings", shard_docs=50, corpus=other)
    assert "starting afresh" in capfd.readouterr().err
    fresh = made.encode(tmp_path / "fresh", shard_docs=50, corpus=other)
    assert files.sha256_tree(embeddings) == files.sha256_tree(fresh)


def option(key: str, value: object) -> Iterable[str]:
    values = value if isinstance(value, list) else [value]
    return [word for each in values for word in (f"--{key.replace('_', '-')}", str(each))]


def record_shards(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    write = contracts.write_shard

    def recording(folder: Path, ids: list[str], vectors: np.ndarray) -> None:
        names.append(folder.name)
        write(folder, ids, vectors)

    monkeypatch.setattr(contracts, "write_shard", recording)
    return names


def test_earlier_embeddings_of_another_spec_are_discarded(
    made: Made, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "embeddings" / "shard-00000"
    contracts.write_shard(stale, ["old"], np.ones((1, 16), np.float32))
    embeddings = made.encode(tmp_path / "embeddings")
    assert "starting afresh" in capfd.readouterr().err
    fresh = made.encode(tmp_path / "fresh")
    assert files.sha256_tree(embeddings) == files.sha256_tree(fresh)

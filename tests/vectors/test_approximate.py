"""Approximate search: against FAISS alone, exact where it looks at all, deeper where it must be."""

import json
from pathlib import Path

import faiss
import numpy as np
import polars as pl
import pytest

from residuum import dense
from residuum.artefacts import contracts
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.systems import DenseSystem
from residuum.vectors.approximate import SEARCHES, Approximate
from residuum.vectors.nearest import Index

DOCS, DIMENSIONS = 3000, 16
IVF = {"kind": "ivf", "nlist": 40, "nprobe": 4}
HNSW = {"kind": "hnsw", "m": 12, "ef_search": 40}


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Vectors around fifty centres."""
    random = np.random.default_rng(3)
    centres = random.normal(size=(50, DIMENSIONS))
    rows = centres[random.integers(50, size=DOCS)] + 0.5 * random.normal(size=(DOCS, DIMENSIONS))
    return rows.astype(np.float32)


@pytest.fixture(scope="module")
def queries() -> np.ndarray:
    return np.random.default_rng(4).normal(size=(30, DIMENSIONS)).astype(np.float32)


def how(search: dict[str, object] | None) -> Approximate | None:
    return SEARCHES[str(search["kind"])].model_validate(search) if search else None


def named(vectors: np.ndarray, each: int = 1) -> list[str]:
    return [f"d{row // each:04d}" for row in range(len(vectors))]


def hits(
    vectors: np.ndarray, queries: np.ndarray, search: dict | None, k: int = 10, each: int = 1
) -> dict[int, list[tuple[str, float]]]:
    """Return the best k docs of each query, with their scores."""
    docs = Index((named(vectors, each), vectors), how(search), device="cpu")
    frame = pl.concat(docs.search(([], queries), k))
    assert frame.select("query", "doc_id").is_unique().all()
    ordered = frame.sort("query", "score", "doc_id", descending=[False, True, False])
    own = ordered.group_by("query", maintain_order=True).head(k)
    return {
        query: list(part.select("doc_id", "score").iter_rows())
        for (query,), part in own.group_by(["query"], maintain_order=True)
    }


def ids(found: dict[int, list[tuple[str, float]]]) -> list[list[str]]:
    return [[doc_id for doc_id, _ in found[query]] for query in sorted(found)]


def recall(vectors: np.ndarray, queries: np.ndarray, search: dict) -> float:
    exact, other = (ids(hits(vectors, queries, s)) for s in (None, search))
    return float(np.mean([len({*a} & {*b}) / 10 for a, b in zip(exact, other, strict=True)]))


def test_an_ivf_index_gives_what_faiss_gives(vectors: np.ndarray, queries: np.ndarray) -> None:
    centres = faiss.IndexFlatIP(DIMENSIONS)
    index = faiss.IndexIVFFlat(centres, DIMENSIONS, 40, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    index.nprobe = 4
    _, rows = index.search(queries, 10)
    assert ids(hits(vectors, queries, IVF)) == [[f"d{r:04d}" for r in row] for row in rows]


def test_a_graph_gives_what_faiss_gives(vectors: np.ndarray, queries: np.ndarray) -> None:
    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(DIMENSIONS, 12, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = 200, 74  # a depth of 10, and 64 to spare
    index.add(vectors)
    _, rows = index.search(queries, 74)
    found = hits(vectors, queries, HNSW)
    assert ids(found) == [[f"d{r:04d}" for r in row[:10]] for row in rows]


@pytest.mark.parametrize("search", [IVF, HNSW, IVF | {"code": "pq", "code_size": 8}])
def test_scores_of_what_is_found_are_exact(
    vectors: np.ndarray, queries: np.ndarray, search: dict
) -> None:
    products = queries.astype(np.float64) @ vectors.astype(np.float64).T
    for query, own in hits(vectors, queries, search).items():
        assert len(own) == 10
        for doc_id, score in own:
            assert score == pytest.approx(products[query, int(doc_id[1:])], rel=1e-12)


def test_all_lists_are_an_exact_search(vectors: np.ndarray, queries: np.ndarray) -> None:
    whole = hits(vectors, queries, IVF | {"nprobe": 40})
    assert whole == hits(vectors, queries, None)


def test_recall_rises_with_what_is_looked_at(vectors: np.ndarray, queries: np.ndarray) -> None:
    by_probes = [recall(vectors, queries, IVF | {"nprobe": n}) for n in (1, 3, 10, 40)]
    assert by_probes == sorted(by_probes) and by_probes[0] < 0.9 and by_probes[-1] == 1
    by_effort = [recall(vectors, queries, HNSW | {"ef_search": n}) for n in (1, 400)]
    assert by_effort[0] <= by_effort[1] > 0.95


@pytest.mark.parametrize("search", [IVF | {"nprobe": 1}, HNSW | {"ef_search": 1}])
@pytest.mark.parametrize("each", [1, 4])
def test_a_search_looks_at_more_until_it_has_k_docs(
    vectors: np.ndarray, queries: np.ndarray, search: dict, each: int
) -> None:
    found = hits(vectors, queries, search, k=500, each=each)
    assert {len(own) for own in found.values()} == {500}
    every = hits(vectors[:40], queries, IVF | {"nlist": 5, "nprobe": 1}, k=60, each=each)
    assert {len(own) for own in every.values()} == {40 // each}, "all, where there are fewer"


def test_a_doc_of_several_vectors_scores_by_its_best(
    vectors: np.ndarray, queries: np.ndarray
) -> None:
    products = queries.astype(np.float64) @ vectors.astype(np.float64).T
    best = products.reshape(len(queries), -1, 3).max(axis=2)
    for search in (None, IVF | {"nprobe": 40}):
        for query, own in hits(vectors, queries, search, each=3).items():
            order = np.argsort(-best[query], kind="stable")[:10]
            assert [doc_id for doc_id, _ in own] == [f"d{row:04d}" for row in order]
            np.testing.assert_allclose([score for _, score in own], best[query][order])


def stage(folder: Path, vectors: np.ndarray, queries: np.ndarray) -> None:
    """Write a shard and queries as the stage encode does."""
    contracts.write_vectors(folder / "docs", named(vectors), vectors)
    record = {"shard": {"number": 0, "of": 1, "docs": DOCS}, "weights": "w"}
    (folder / "docs" / "manifest.json").write_text(json.dumps({"artefact": record}))
    contracts.write_vectors(folder / "queries" / "dev", [str(n) for n in range(30)], queries)
    record = {"queries": {"dev": 30}, "weights": "w"}
    (folder / "queries" / "manifest.json").write_text(json.dumps({"artefact": record}))


def test_hits_are_the_same_bytes_with_more_threads_and_again(
    tmp_path: Path, vectors: np.ndarray, queries: np.ndarray
) -> None:
    stage(tmp_path, vectors, queries)
    for search in (IVF, HNSW, IVF | {"code": "pq", "code_size": 4}):
        written = []
        for threads in (1, 2, 2):
            output = tmp_path / f"{search['kind']}-{len(written)}-{search.get('code')}"
            dense.search_shard(
                tmp_path / "docs",
                tmp_path / "queries",
                20,
                output,
                threads,
                "cpu",
                spec=json.dumps(search),
            )
            written.append((output / "dev" / "00000.parquet").read_bytes())
        assert written[0] == written[1] == written[2]
        record = json.loads((output / "manifest.json").read_text())
        assert record["spec"]["search"]["kind"] == search["kind"]


def test_of_several_encoded_splits_those_that_are_named_are_searched(
    tmp_path: Path, vectors: np.ndarray, queries: np.ndarray
) -> None:
    stage(tmp_path, vectors, queries)
    contracts.write_vectors(tmp_path / "queries" / "train", ["t1", "t2"], queries[:2])
    record = {"queries": {"dev": 30, "train": 2}, "weights": "w"}
    (tmp_path / "queries" / "manifest.json").write_text(json.dumps({"artefact": record}))
    for split, found in ((["train"], {"train": 10}), (None, {"dev": 150, "train": 10})):
        hits = tmp_path / str(split)
        dense.search_shard(tmp_path / "docs", tmp_path / "queries", 5, hits, split=split)
        assert json.loads((hits / "manifest.json").read_text())["artefact"]["hits"] == found
        assert {path.parent.name for path in hits.glob("*/*.parquet")} == {*found}
    with pytest.raises(ResiduumError, match=r"queries: no encoded split 'tran'; known: dev, train"):
        dense.search_shard(tmp_path / "docs", tmp_path / "queries", 5, hits, split=["tran"])


@pytest.mark.parametrize(
    ("search", "says"),
    [
        (IVF | {"nprobe": 41}, "search: nprobe: 41 of 40 lists; give at most as many"),
        (IVF | {"code": "pq"}, "search: code_size: give it for code pq, and for nothing else"),
        (IVF | {"code_size": 4}, "search: code_size: give it for code pq, and for nothing else"),
        ({"kind": "tree"}, "search.*ivf, hnsw|search.*hnsw, ivf"),
        (HNSW | {"nprobe": 3}, "search.nprobe: unknown key"),
    ],
)
def test_settings_that_contradict_are_refused(search: dict[str, object], says: str) -> None:
    entry = {"kind": "dense", "model": "clear", "k": 10, "search": search}
    with pytest.raises(ValueError, match=says):
        entries.validate("x.yaml", entry, DenseSystem)


@pytest.mark.parametrize(
    ("search", "says"),
    [
        (IVF | {"nlist": 3001}, "search.nlist: 3001, but a shard has 3000 vectors; give at most"),
        (
            IVF | {"code": "pq", "code_size": 5},
            "code_size: 5, but vectors have 16 dimensions; give a div",
        ),
    ],
)
def test_settings_that_vectors_do_not_allow_are_refused(
    vectors: np.ndarray, queries: np.ndarray, search: dict[str, object], says: str
) -> None:
    with pytest.raises(ResiduumError, match=says):
        hits(vectors, queries, search)
    with pytest.raises(ResiduumError, match="pq: a shard has 200 vectors, but a code needs 256"):
        hits(vectors[:200], queries, IVF | {"code": "pq", "code_size": 4})


def test_search_one_search_lie_apart_from_those_of_another() -> None:
    def found(search: dict | None) -> str:
        return DenseSystem(kind="dense", model="clear", k=10, search=search).hits_id

    assert found(None) == "10"
    assert found(IVF) == "10-ivf-40-4-flat"
    assert found(IVF | {"code": "pq", "code_size": 8}) == "10-ivf-40-4-pq-8"
    assert found(HNSW) == "10-hnsw-12-40-200"

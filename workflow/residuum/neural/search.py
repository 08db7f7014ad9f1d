"""Exact inner-product search of one embedding shard, and the scores of given pairs.

Usage: `found = search.hits(ids, vectors, queries, k, gpu=False)`, or `pair_scores(shards, ...)`.
FAISS finds the candidates; float64 sums give the scores that runs keep, so that a score depends
neither on the shards nor on what else was searched. Must not know models, texts or run files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from residuum.cli.errors import ResiduumError

SPARE = 64  # hits asked for beyond the depth, to see whether its last one ties
TIE = 1e-4  # share of the largest score below which float32 sums may swap two docs
GPU_DEPTH = 2048  # faiss-gpu returns no more hits than this
HITS_AT_ONCE = 8_000_000  # hits of the queries that are searched together
PAIR_VALUES = 4_000_000  # float64 values multiplied at once: 32 MB on each side

Shard = tuple[list[str], np.ndarray]


class Found(NamedTuple):
    """Best vectors of each query: scores (queries, depth), descending, and their row numbers."""

    scores: np.ndarray
    rows: np.ndarray


Searcher = Callable[[np.ndarray, int], Found]


def hits(
    ids: list[str], vectors: np.ndarray, queries: np.ndarray, k: int, gpu: bool
) -> Iterator[pl.DataFrame]:
    """Yield query (row number), doc_id and score of all docs that may be among a shard's best k.

    Those are at least k docs per query, where the shard has as many, and every doc that ties
    with the last of them. A doc with several vectors scores by its best. A frame holds whole
    queries; memory holds one frame, whatever the number of queries.
    """
    docs = _docs(ids)
    searcher = _searcher(vectors, gpu)
    for part in _slices(len(queries), max(1, HITS_AT_ONCE // k)):
        found, floor = _search(searcher, queries[part], k, docs)
        rows, columns = np.nonzero(found.scores >= floor[:, None])
        names = pl.Series("doc_id", ids, pl.String)[found.rows[rows, columns]]
        pairs = pl.DataFrame({"query": rows + part.start, "doc_id": names})
        yield pair_scores([(ids, vectors)], queries, pairs.unique(maintain_order=True))


def _docs(ids: list[str]) -> np.ndarray:
    """Number the docs that the vectors belong to: (vectors,), counted from 0."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(doc_id, len(numbers)) for doc_id in ids])


def _search(
    searcher: Searcher, queries: np.ndarray, k: int, docs: np.ndarray
) -> tuple[Found, np.ndarray]:
    """Search deeper and deeper until the last hit no longer ties with the k-th doc.

    Returns the hits and, per query, the least score that may tie with that doc's.
    """
    asked = min(k + SPARE, len(docs))
    while True:
        found = searcher(queries, asked)
        floor = _floor(found, k, docs)
        if asked == len(docs) or (found.scores[:, -1] < floor).all():
            return found, floor
        asked = min(2 * asked, len(docs))


def _searcher(vectors: np.ndarray, gpu: bool) -> Searcher:
    """Return what finds the n best of the vectors: on all GPUs, or on the CPU without a copy."""
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    on_gpu = gpu and faiss.get_num_gpus() > 0
    if on_gpu:
        index = faiss.index_cpu_to_all_gpus(index)
        index.add(np.ascontiguousarray(vectors, dtype=np.float32))

    def search(queries: np.ndarray, asked: int) -> Found:
        if on_gpu and asked <= GPU_DEPTH:
            return Found(*index.search(queries, asked))
        return Found(*faiss.knn(queries, vectors, asked, metric=faiss.METRIC_INNER_PRODUCT))

    return search


def _floor(found: Found, k: int, docs: np.ndarray) -> np.ndarray:
    """Return, per query, the least score that may tie with its k-th doc; -inf if it has fewer."""
    place = _places(docs[found.rows], k)
    last = found.scores[np.arange(len(place)), place]
    return np.where(place >= 0, last - TIE * (np.abs(found.scores).max(axis=1) + 0.01), -np.inf)


def _places(docs: np.ndarray, k: int) -> np.ndarray:
    """Return, per row of doc numbers (queries, depth), where the k-th doc first stands, or -1."""
    if docs.shape[1] < k:
        return np.full(len(docs), -1)
    firsts = (np.sort(np.unique(row, return_index=True)[1]) for row in docs)
    return np.array([first[k - 1] if len(first) >= k else -1 for first in firsts])


def pair_scores(shards: Iterable[Shard], queries: np.ndarray, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with `score`, the inner product s_emb (CLEAR Eq. 4).

    `pairs` has query (row of `queries`) and doc_id, each pair once; a doc with several vectors
    scores by its best. One shard's ids are held at a time, and of memory-mapped vectors those of
    the pairs are read. Raises ResiduumError for a doc that has no vector.
    """
    asked = pairs.select("query", "doc_id")
    parts = [_shard_scores(ids, vectors, queries, asked) for ids, vectors in shards]
    scored = (
        pl.concat(parts).group_by("query", "doc_id", maintain_order=True).agg(pl.col("score").max())
    )
    if len(scored) < len(asked):
        lost = asked.join(scored, on=["query", "doc_id"], how="anti")["doc_id"]
        raise ResiduumError(
            f"doc_id {lost[0]} has no vector ({lost.n_unique()} such docs): the embeddings are "
            "of another collection than the run"
        )
    return asked.join(scored, on=["query", "doc_id"], how="left", maintain_order="left")


def _shard_scores(
    ids: list[str], vectors: np.ndarray, queries: np.ndarray, pairs: pl.DataFrame
) -> pl.DataFrame:
    rows = pl.DataFrame({"doc_id": ids, "row": np.arange(len(ids))})
    found = pairs.join(rows, on="doc_id", how="inner", maintain_order="left")
    left, right = found["query"].to_numpy(), found["row"].to_numpy()
    scores = [
        _products(queries[left[part]], vectors[right[part]])
        for part in _slices(len(found), max(1, PAIR_VALUES // vectors.shape[1]))
    ]
    score = np.concatenate([np.zeros(0), *scores])
    return found.select("query", "doc_id", pl.Series("score", score, pl.Float64))


def _products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Multiply row by row in float64.

    Cast before, not by einsum: its buffer would cut the sum of a row at a place that depends on
    the rows before it.
    """
    return np.einsum("ij,ij->i", left.astype(np.float64), right.astype(np.float64))


def _slices(length: int, size: int) -> Iterator[slice]:
    for first in range(0, length, size):
        yield slice(first, min(first + size, length))

"""Exact inner-product search over embedding shards, and the scores of given pairs.

Usage: `candidates(shards, queries, k, gpu=False)`, then `pair_scores(shards, ...)`. FAISS finds
the candidates; float64 sums give the scores that runs keep, so that a score depends neither on
the shards nor on what else was searched. Must not know models, texts or run files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from residuum.core.errors import ResiduumError

SPARE = 64  # hits asked for beyond the depth, to see whether its last one ties
TIE = 1e-4  # share of the largest score below which float32 sums may swap two docs
GPU_DEPTH = 2048  # faiss-gpu returns no more hits than this
PAIR_VALUES = 4_000_000  # float64 values multiplied at once: 32 MB on each side

Shards = Callable[[], Iterable[tuple[list[str], np.ndarray]]]


class Hits(NamedTuple):
    """Best vectors of each query: scores (queries, depth), descending, and their numbers."""

    scores: np.ndarray
    numbers: np.ndarray


def candidates(shards: Shards, queries: np.ndarray, k: int, gpu: bool) -> pl.DataFrame:
    """Return query (row number) and doc_id of all docs that may be among the best k.

    Those are at least k docs per query, where the corpus has as many, and every doc that ties
    with the last of them. A doc with several vectors counts by its best.
    """
    depth = k * max(max(Counter(ids).values()) for ids, _ in shards())
    best = Hits(np.zeros((len(queries), 0), np.float32), np.zeros((len(queries), 0), np.int64))
    names: list[str] = []
    for ids, vectors in shards():
        found = _search(np.asarray(vectors), queries, depth, gpu)
        best = _merge(best, found._replace(numbers=found.numbers + len(names)), depth)
        names += ids
    rows, columns = np.nonzero(best.scores > -np.inf)
    docs = pl.Series("doc_id", names, pl.String)[best.numbers[rows, columns]]
    return pl.DataFrame({"query": rows, "doc_id": docs}).unique(maintain_order=True)


def _search(vectors: np.ndarray, queries: np.ndarray, depth: int, gpu: bool) -> Hits:
    """Search one shard, deeper and deeper until the last hit no longer ties with the depth-th."""
    asked = min(depth + SPARE, len(vectors))
    while True:
        index = _index(vectors, gpu and asked <= GPU_DEPTH)
        hits = Hits(*index.search(queries, asked))
        if asked == len(vectors) or (hits.scores[:, -1] < _floor(hits.scores, depth)).all():
            return hits
        asked = min(2 * asked, len(vectors))


def _index(vectors: np.ndarray, gpu: bool) -> Any:
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    if gpu and faiss.get_num_gpus():
        index = faiss.index_cpu_to_all_gpus(index)
    index.add(np.ascontiguousarray(vectors, dtype=np.float32))
    return index


def _floor(scores: np.ndarray, depth: int) -> np.ndarray:
    """Return, per query, the least score that may tie with its depth-th best."""
    if scores.shape[1] < depth:
        return np.full(len(scores), -np.inf)
    largest = np.abs(scores, where=np.isfinite(scores), out=np.zeros_like(scores)).max(axis=1)
    return scores[:, depth - 1] - TIE * (largest + 0.01)


def _merge(one: Hits, other: Hits, depth: int) -> Hits:
    scores = np.concatenate([one.scores, other.scores], axis=1)
    numbers = np.concatenate([one.numbers, other.numbers], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")
    scores = np.take_along_axis(scores, order, axis=1)
    numbers = np.take_along_axis(numbers, order, axis=1)
    kept = scores >= _floor(scores, depth)[:, None]
    width = int(kept.sum(axis=1).max(initial=0))
    return Hits(np.where(kept, scores, -np.inf)[:, :width], numbers[:, :width])


def pair_scores(shards: Shards, queries: np.ndarray, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with `score`, the inner product s_emb (CLEAR Eq. 4).

    `pairs` has query (row of `queries`) and doc_id, each pair once; a doc with several vectors
    scores by its best. Raises ResiduumError for a doc that has no vector.
    """
    asked = pairs.select("query", "doc_id")
    parts = [_shard_scores(ids, vectors, queries, asked) for ids, vectors in shards()]
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
        np.einsum("ij,ij->i", queries[left[part]], vectors[right[part]], dtype=np.float64)
        for part in _slices(len(found), max(1, PAIR_VALUES // vectors.shape[1]))
    ]
    score = np.concatenate([np.zeros(0), *scores])
    return found.select("query", "doc_id", pl.Series("score", score, pl.Float64))


def _slices(length: int, size: int) -> Iterator[slice]:
    for first in range(0, length, size):
        yield slice(first, first + size)

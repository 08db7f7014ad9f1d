"""Exact inner-product search of one embedding shard, and the scores of given pairs.

Usage: `frames = search.hits(ids, vectors, queries, k, gpu=False)`, or `pair_scores(shards, ...)`.
FAISS finds the candidates; float64 sums give the scores that runs keep, so that a score depends
neither on the shards nor on what else was searched. Must not know models, texts or run files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import polars as pl

from residuum.cli.errors import ResiduumError

SPARE = 64  # hits beyond the depth, to see whether its last one ties
TIE = 1e-4  # share of the largest score below which float32 sums may swap two docs
GPU_DEPTH = 2048  # faiss-gpu returns no more hits than this
HITS_AT_ONCE = 8_000_000  # hits of the queries that are searched together
PAIR_VALUES = 4_000_000  # float64 values multiplied at once: 32 MB on each side

Shard = tuple[list[str], np.ndarray]
# From queries and a depth: the best scores of each query (queries, depth), descending, and rows.
Searcher = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def hits(
    ids: list[str], vectors: np.ndarray, queries: np.ndarray, k: int, gpu: bool
) -> Iterator[pl.DataFrame]:
    """Yield query (row number), doc_id and score of all docs that may be among a shard's best k.

    Those are at least k docs per query, where the shard has as many, and every doc that ties
    with the last of them. A doc with several vectors scores by its best. A frame holds whole
    queries; memory holds one frame, whatever the number of queries.
    """
    names = pl.Series("doc_id", ids, pl.String)
    docs = names.cast(pl.Categorical).to_physical().to_numpy()  # a number for each doc
    search = _searcher(vectors, gpu)
    for part in _slices(len(queries), max(1, HITS_AT_ONCE // k)):
        depth = min(k + SPARE, len(docs))
        while True:  # deeper and deeper until the last hit no longer ties with the k-th doc
            scores, rows = search(queries[part], depth)
            floor = _floor(scores, docs[rows], k)
            if depth == len(docs) or (scores[:, -1] < floor).all():
                break
            depth = min(2 * depth, len(docs))
        query, place = np.nonzero(scores >= floor[:, None])
        pairs = pl.DataFrame({"query": query + part.start, "doc_id": names[rows[query, place]]})
        yield pair_scores([(ids, vectors)], queries, pairs.unique(maintain_order=True))


def _searcher(vectors: np.ndarray, gpu: bool) -> Searcher:
    """Return what finds the best of the vectors: on all GPUs, or on the CPU without a copy."""
    import faiss

    index = None
    if gpu and faiss.get_num_gpus() > 0:
        index = faiss.index_cpu_to_all_gpus(faiss.IndexFlatIP(vectors.shape[1]))
        index.add(np.ascontiguousarray(vectors, dtype=np.float32))

    def search(queries: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        if index is not None and depth <= GPU_DEPTH:
            return tuple(index.search(queries, depth))
        return tuple(faiss.knn(queries, vectors, depth, metric=faiss.METRIC_INNER_PRODUCT))

    return search


def _floor(scores: np.ndarray, docs: np.ndarray, k: int) -> np.ndarray:
    """Return, per query, the least score that may tie with its k-th doc; -inf if it has fewer.

    Scores and numbers of docs are (queries, depth); a doc counts where it is first.
    """
    floor = np.full(len(scores), -np.inf)
    for query, (own, row) in enumerate(zip(scores, docs, strict=True)):
        firsts = np.sort(np.unique(row, return_index=True)[1])
        if len(firsts) >= k:
            floor[query] = own[firsts[k - 1]] - TIE * (np.abs(own).max() + 0.01)
    return floor


def pair_scores(shards: Iterable[Shard], queries: np.ndarray, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with `score`, the inner product s_emb (CLEAR Eq. 4).

    `pairs` has query (row of `queries`) and doc_id, each pair once; a doc with several vectors
    scores by its best. One shard's ids are held at a time, and of memory-mapped vectors those of
    the pairs are read. Raises ResiduumError for a doc that has no vector.
    """
    key = ["query", "doc_id"]
    pairs = pairs.select(key)
    parts = [_shard_scores(ids, vectors, queries, pairs) for ids, vectors in shards]
    best = pl.concat(parts).group_by(key, maintain_order=True).agg(pl.col("score").max())
    if len(best) < len(pairs):
        lost = pairs.join(best, on=key, how="anti")["doc_id"]
        raise ResiduumError(
            f"doc_id {lost[0]} has no vector ({lost.n_unique()} such docs): the embeddings are "
            "of another collection than the run"
        )
    return pairs.join(best, on=key, how="left", maintain_order="left")


def _shard_scores(
    ids: list[str], vectors: np.ndarray, queries: np.ndarray, pairs: pl.DataFrame
) -> pl.DataFrame:
    rows = pl.DataFrame({"doc_id": ids, "row": np.arange(len(ids))})
    local = pairs.join(rows, on="doc_id", how="inner", maintain_order="left")
    left, right = local["query"].to_numpy(), local["row"].to_numpy()
    scores = [np.zeros(0)]
    for part in _slices(len(local), max(1, PAIR_VALUES // vectors.shape[1])):
        # Cast before, not by einsum: its buffer would cut the sum of a row at a place that depends
        # on the rows before it.
        query = queries[left[part]].astype(np.float64)
        scores.append(np.einsum("ij,ij->i", query, vectors[right[part]].astype(np.float64)))
    score = pl.Series("score", np.concatenate(scores), pl.Float64)
    return local.select("query", "doc_id", score)


def _slices(length: int, size: int) -> Iterator[slice]:
    for first in range(0, length, size):
        yield slice(first, min(first + size, length))

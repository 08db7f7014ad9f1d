"""The nearest docs of queries by inner product, and the scores of given pairs, exactly.

Usage: `Compared(docs, None, gpu).hits_of(queries, k)`, `pair_scores(shards, queries, pairs)`. FAISS
finds candidates of dense vectors; sums of float64 give scores that depend neither on the shards
nor on what else was searched. Sparse vectors are multiplied as they are, and a doc that shares no
term with a query is no hit of it. Must not know where vectors lie, or how they are made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.config.schema.search import Search
from residuum.vectors import products
from residuum.vectors.approximate import SEARCHES, Found, Looked

SPARE = 64  # hits beyond the depth, to see whether its last one ties
TIE = 1e-4  # share of the largest score below which float32 sums may swap two docs
GPU_DEPTH = 2048  # faiss-gpu returns no more hits than this
HITS_AT_ONCE = 8_000_000  # hits of the queries that are searched together
PAIR_VALUES = 4_000_000  # float64 values multiplied at once: 32 MB on each side

Shard = tuple[list[str], np.ndarray]
Vectors = Shard | TermVectors


class Compared:
    """The vectors of docs, with the index of an approximate search where one is asked for."""

    def __init__(self, docs: Vectors, how: Search | None, gpu: bool) -> None:
        if how and isinstance(docs, TermVectors):
            raise ResiduumError(f"search {how.kind}: these vectors are sparse; leave it out")
        self._docs, self._gpu = docs, gpu
        own = np.ascontiguousarray(docs[1], dtype=np.float32) if how else docs[1]
        self._found = SEARCHES[how.kind].model_validate(how).build(own) if how else None

    def hits_of(self, queries: Vectors, k: int) -> Iterator[pl.DataFrame]:
        """Yield query (row number), doc_id and score of all docs that may be among the best k."""
        docs = self._docs
        if isinstance(docs, TermVectors) and isinstance(queries, TermVectors):
            return _sparse_hits(docs, queries, k)
        if isinstance(docs, TermVectors) or isinstance(queries, TermVectors):
            raise ResiduumError("docs and queries: the vectors of one are sparse, of the other not")
        return best_hits(*docs, np.asarray(queries[1]), k, self._gpu, self._found)


def _sparse_hits(docs: TermVectors, queries: TermVectors, k: int) -> Iterator[pl.DataFrame]:
    names = pl.Series("doc_id", docs.ids, pl.String)
    most = max(Counter(docs.ids).values(), default=1)  # vectors of a doc, which scores by its best
    for query, doc, score in products.best(queries, docs, k * most):
        hits = pl.DataFrame({"query": query, "doc_id": names[doc], "score": score})
        best = hits.group_by("query", "doc_id", maintain_order=True).agg(pl.col("score").max())
        yield best if most > 1 else hits


def best_hits(
    ids: list[str],
    vectors: np.ndarray,
    queries: np.ndarray,
    k: int,
    gpu: bool,
    approximate: Found | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield query (row number), doc_id and score of all docs that may be among a shard's best k.

    Those are at least k docs per query, where the shard has as many, and all that tie with the
    last; of an approximate search, of those that it looked at. A doc with several vectors scores by
    its best. Memory holds a frame of some queries.
    """
    import faiss

    names = pl.Series("doc_id", ids, pl.String)
    once = names.unique(maintain_order=True)
    numbers = pl.DataFrame({"doc_id": once, "doc": np.arange(len(once))})
    listed = names.to_frame().join(numbers, on="doc_id", how="left", maintain_order="left")
    docs = listed["doc"].to_numpy()  # a number for each doc
    own = None if len(once) == len(names) else _Owned(once, docs)
    index = None  # on a CPU the vectors are searched without a copy
    if gpu and approximate is None:
        index = faiss.index_cpu_to_all_gpus(faiss.IndexFlatIP(vectors.shape[1]))
        index.add(np.ascontiguousarray(vectors, dtype=np.float32))

    def search(some: np.ndarray, depth: int, passes: int) -> tuple[np.ndarray, np.ndarray]:
        if approximate is not None:
            return approximate.search(some, depth, passes)
        if index is not None and depth <= GPU_DEPTH:
            return index.search(some, depth)
        return faiss.knn(some, vectors, depth, faiss.METRIC_INNER_PRODUCT)

    at_once = max(1, HITS_AT_ONCE // k)
    for first in range(0, len(queries), at_once):
        passes = approximate.passes if approximate else 0
        found = _deeply(search, queries[first : first + at_once], docs, k, passes)
        query, row = (np.concatenate(each) for each in zip(*found, strict=True))
        order = np.argsort(query, kind="stable")
        query, row = query[order] + first, row[order]
        if own is not None:
            yield own.scored(queries, vectors, query, docs[row])
        else:
            pairs = pl.DataFrame({"query": query, "doc_id": names[row]})
            yield pair_scores([(ids, vectors)], ([], queries), pairs)


def _deeply(
    search: Looked, queries: np.ndarray, docs: np.ndarray, k: int, passes: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield query and vector (row numbers) of all hits that may be of a query's best k docs.

    Those queries are searched again, deeper and deeper, whose last hit ties with the k-th doc, or
    that have fewer docs: where docs have equally many vectors, k times as many hits have k docs. A
    search that looked through all that it looks at, and has fewer, looks at more, `passes` times.
    """
    each = -(-len(docs) // int(docs.max(initial=0) + 1))  # vectors of a doc
    waiting = [(np.arange(len(queries)), min(k * each + SPARE, len(docs)), 0)]
    while waiting:
        left, depth, before = waiting.pop()
        scores, rows = search(queries[left], depth, before)
        floor = _floor(scores, docs[rows], k, (rows >= 0).sum(axis=1))
        whole = (depth == len(docs)) | (rows[:, -1] < 0)  # of what was looked at
        few = whole & np.isneginf(floor) & (before < passes)
        ties = ~whole & (scores[:, -1] >= floor)
        query, place = np.nonzero((scores >= floor[:, None]) & (rows >= 0) & ~(few | ties)[:, None])
        yield left[query], rows[query, place]
        again = ((ties, min(2 * depth, len(docs)), before), (few, depth, before + 1))
        waiting += [(left[which], deep, more) for which, deep, more in again if which.any()]


def _floor(scores: np.ndarray, docs: np.ndarray, k: int, found: np.ndarray) -> np.ndarray:
    """Return, per query, the least score that may tie with its k-th doc; -inf if it has fewer.

    `found` says how many hits a query has.
    """
    floor = np.full(len(scores), -np.inf)
    for query, (own, row, count) in enumerate(zip(scores, docs, found, strict=True)):
        firsts = np.sort(np.unique(row[:count], return_index=True)[1])
        if len(firsts) >= k:
            floor[query] = own[firsts[k - 1]] - TIE * (np.abs(own[:count]).max() + 0.01)
    return floor


class _Owned:
    """Vectors of docs that have several, by the docs' numbers: those of their names."""

    def __init__(self, names: pl.Series, docs: np.ndarray) -> None:
        self._names, self._rows = names, np.argsort(docs, kind="stable")
        self._counts = np.bincount(docs)
        self._starts = np.cumsum(self._counts) - self._counts

    def scored(
        self, queries: np.ndarray, vectors: np.ndarray, query: np.ndarray, doc: np.ndarray
    ) -> pl.DataFrame:
        """Return query, doc_id and score of each pair once: that of the doc's best vector."""
        pairs = pl.DataFrame({"query": query, "doc": doc}).unique(maintain_order=True)
        query, doc = pairs["query"].to_numpy(), pairs["doc"].to_numpy()
        each = self._counts[doc]
        ends = np.cumsum(each)
        places = np.arange(each.sum()) + np.repeat(self._starts[doc] - ends + each, each)
        scores = _dense_products(queries, vectors, np.repeat(query, each), self._rows[places])
        best = np.maximum.reduceat(scores, ends - each) if len(each) else scores
        return pl.DataFrame({"query": query, "doc_id": self._names[doc], "score": best})


def pair_scores(shards: Iterable[Vectors], queries: Vectors, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with `score`, the inner product s_emb (CLEAR Eq. 4).

    `pairs` has query (number of its vector) and doc_id, each pair once; a doc with several vectors
    scores by its best. One shard's ids are held at a time, and of memory-mapped vectors those of
    the pairs are read. Raises ResiduumError for a doc that has no vector.
    """
    key = ["query", "doc_id"]
    pairs = pairs.select(key)
    parts = [_shard_scores(shard, queries, pairs) for shard in shards]
    scored = pl.concat(parts)
    if scored.select(key).equals(pairs):  # one shard, one vector a doc
        return scored
    best = scored.group_by(key, maintain_order=True).agg(pl.col("score").max())
    if len(best) < len(pairs):
        lost = pairs.join(best, on=key, how="anti")["doc_id"]
        raise ResiduumError(
            f"doc_id {lost[0]} has no vector ({lost.n_unique()} such docs): the embeddings are "
            "of another collection than the run"
        )
    return pairs.join(best, on=key, how="left", maintain_order="left")


def _shard_scores(shard: Vectors, queries: Vectors, pairs: pl.DataFrame) -> pl.DataFrame:
    rows = pl.DataFrame({"doc_id": shard[0], "row": np.arange(len(shard[0]))})
    local = pairs.join(rows, on="doc_id", how="inner", maintain_order="left")
    left, right = local["query"].to_numpy(), local["row"].to_numpy()
    if isinstance(shard, TermVectors) and isinstance(queries, TermVectors):
        scores = products.pairs(queries, shard, left, right)
    else:
        scores = _dense_products(queries[1], shard[1], left, right)
    return local.select("query", "doc_id", pl.Series("score", scores, pl.Float64))


def _dense_products(
    queries: np.ndarray, docs: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    scores = [np.zeros(0)]
    at_once = max(1, PAIR_VALUES // docs.shape[1])
    for first in range(0, len(left), at_once):
        part = slice(first, first + at_once)
        # Cast before, not by einsum: its buffer would cut the sum of a row at a place that depends
        # on the rows before it.
        query = queries[left[part]].astype(np.float64)
        scores.append(np.einsum("ij,ij->i", query, docs[right[part]].astype(np.float64)))
    return np.concatenate(scores)

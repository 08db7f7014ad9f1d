"""The nearest docs of queries by inner product, and the scores of given pairs, exactly.

Usage: `Index(docs, None, "cpu").search(queries, k)`, `pair_scores(shards, queries, pairs)`. FAISS
finds candidates of dense vectors; on a card torch does. Sums of float64 then give the scores, which
depend neither on the shards nor on other searches. Sparse vectors are multiplied directly, and a
doc is a hit only of queries with which it shares a term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.config.schema.search import Search
from residuum.vectors import exact, products
from residuum.vectors.approximate import SEARCHES, Found, VectorIndex

SPARE = 64  # hits beyond the depth, to see whether the last hit ties
TIE = 1e-4  # share of the largest score below which float32 sums may swap two docs
HITS_AT_ONCE = 8_000_000  # hits of the queries that are searched together
QUERIES_AT_ONCE = 100_000  # 307 MB at 768 dimensions
SEEN_AT_ONCE = 100_000  # numbers of docs that queries have met: 0.4 MB, which fits a cache
PAIR_VALUES = 250_000  # float64 values multiplied at once: 2 MB on each side, which fits a cache
MIXED = "docs and queries: one side has sparse vectors, the other dense"

Shard = tuple[list[str], np.ndarray]
Vectors = Shard | TermVectors


def use_threads(count: int) -> None:
    """Set the number of threads of all searches in this process."""
    import faiss

    faiss.omp_set_num_threads(count)


class Index:
    """The vectors of docs, with an index if an approximate search is requested."""

    def __init__(self, docs: Vectors, approximate: Search | None, device: str) -> None:
        """Prepare a search on the device cpu or cuda; sparse vectors stay on the CPU."""
        if approximate and isinstance(docs, TermVectors):
            text = "these vectors are sparse. Leave the search out"
            raise ResiduumError(f"search {approximate.kind}: {text}")
        self._docs = docs
        if not isinstance(docs, TermVectors):
            index = None
            if approximate:
                form = SEARCHES[approximate.kind].model_validate(approximate)
                index = form.build(np.ascontiguousarray(docs[1], dtype=np.float32), device)
            self._dense = _Dense(docs[0], docs[1], index or _exact(docs[1], device))

    def search(self, queries: Vectors, k: int, effort: int | None = None) -> Iterator[pl.DataFrame]:
        """Yield query (row number), doc_id and score of all docs that may be among the best k.

        Each query gets at least k docs, if the shard has as many, and all docs that tie with the
        last. An approximate search finds them among the vectors that it compares. With an effort,
        it keeps that effort even if it finds fewer docs. A doc with several vectors scores by its
        best vector. Memory holds one frame, of some queries, at a time.
        """
        docs = self._docs
        if isinstance(docs, TermVectors) and isinstance(queries, TermVectors):
            return _sparse_hits(docs, queries, k)
        if isinstance(docs, TermVectors) or isinstance(queries, TermVectors):
            raise ResiduumError(MIXED)
        return self._dense.search(np.asarray(queries[1]), k, effort)

    def compared(self) -> int:
        """Return how many dense vectors were compared with queries since the last call."""
        return self._dense.index.compared()


def _sparse_hits(docs: TermVectors, queries: TermVectors, k: int) -> Iterator[pl.DataFrame]:
    names = pl.Series("doc_id", docs.ids, pl.String)
    most = max(Counter(docs.ids).values(), default=1)  # of a doc, which scores by its best vector
    for query, doc, score in products.best(queries, docs, k * most):
        hits = pl.DataFrame({"query": query, "doc_id": names[doc], "score": score})
        best = hits.group_by("query", "doc_id", maintain_order=True).agg(pl.col("score").max())
        yield best if most > 1 else hits


def _exact(vectors: np.ndarray, device: str) -> VectorIndex:
    """Return an index that compares all vectors; on a CPU it copies none."""
    if device != "cpu":
        return exact.Card(vectors, device).index()
    import faiss

    queries = 0

    def search(some: np.ndarray, depth: int, effort: int) -> Found:
        nonlocal queries
        queries += len(some)
        scores, rows = faiss.knn(some, vectors, depth, faiss.METRIC_INNER_PRODUCT)
        return scores, rows

    def compared() -> int:
        nonlocal queries
        count, queries = queries * len(vectors), 0
        return count

    return VectorIndex(search, 1, 1, compared)


class _Dense:
    """Dense vectors of docs, one or several for each doc, and their index."""

    def __init__(self, ids: list[str], vectors: np.ndarray, index: VectorIndex) -> None:
        self._vectors, self.index = vectors, index
        names = pl.Series("doc_id", ids, pl.String)
        self._names = names.unique(maintain_order=True)
        numbers = pl.DataFrame({"doc_id": self._names, "doc": np.arange(len(self._names))})
        listed = names.to_frame().join(numbers, on="doc_id", how="left", maintain_order="left")
        self._docs = listed["doc"].to_numpy()  # doc number of each vector
        self._rows = np.argsort(self._docs, kind="stable")
        self._counts = np.bincount(self._docs)
        self._starts = np.cumsum(self._counts) - self._counts
        self._single = len(self._names) == len(names)
        self._each = -(-len(names) // max(1, len(self._names)))  # a doc's mean number of vectors

    def search(self, queries: np.ndarray, k: int, effort: int | None) -> Iterator[pl.DataFrame]:
        """Yield hits of a block of queries at a time; a given effort is kept."""
        at_once = min(QUERIES_AT_ONCE, max(1, HITS_AT_ONCE // (k * self._each)))
        for first in range(0, len(queries), at_once):
            some = queries[first : first + at_once]
            [(query, row), *deeper] = self._deeply(some, k, effort)
            if deeper:
                parts = zip((query, row), *deeper, strict=True)
                query, row = (np.concatenate(each) for each in parts)
                order = np.argsort(query, kind="stable")
                query, row = query[order], row[order]
            hits = self._scored(some, query, row if self._single else self._docs[row])
            yield hits.with_columns(pl.col("query") + first)

    def _deeply(
        self, queries: np.ndarray, k: int, given: int | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield query and vector (row numbers) of all hits that may be of a query's best k docs.

        Only a doc's best vector is a hit. A query is searched again with twice the depth if its
        last hit ties with the k-th doc, or if it has fewer docs. A search that has returned all
        hits that it can, and has fewer docs, is repeated with more effort, unless the effort was
        given.
        """
        total = len(self._docs)
        most = given or self.index.most
        start = min(k * self._each + SPARE, total), given or self.index.effort
        waiting = [(np.arange(len(queries)), *start)]
        while waiting:
            left, depth, effort = waiting.pop()
            asked = queries[left]
            scores, rows = self.index.search(asked, depth, effort)
            firsts = self._firsts(rows)
            floor = self._floor(asked, scores, rows, firsts, k)
            whole = (depth == total) | (rows[:, -1] < 0)  # all hits of the vectors compared
            few = whole & np.isneginf(floor) & (effort < most)
            ties = ~whole & (scores[:, -1] >= floor)
            kept = (scores >= floor[:, None]) & firsts & ~(few | ties)[:, None]
            yield np.repeat(left, kept.sum(axis=1)), rows[kept]
            deeper, harder = min(2 * depth, total), min(2 * effort, most)
            again = ((ties, deeper, effort), (few, depth, harder))
            waiting += [(left[which], *how) for which, *how in again if which.any()]

    def _firsts(self, rows: np.ndarray) -> np.ndarray:
        """Say whether each hit is its query's first hit of a doc. A row below 0 is no hit."""
        if self._single:
            return np.asarray(rows >= 0)
        depth, docs = rows.shape[1], len(self._names) + 1  # the last number stands for no hit
        at_once = max(1, min(len(rows), SEEN_AT_ONCE // docs))
        seen, firsts = np.empty(at_once * docs, np.int32), np.empty(rows.shape, bool)
        places = np.tile(np.arange(depth, dtype=np.int32), at_once)
        for first in range(0, len(rows), at_once):
            some = rows[first : first + at_once]
            numbers = np.where(some >= 0, self._docs[some], docs - 1)
            numbers = (numbers + docs * np.arange(len(some))[:, None]).ravel()
            place = places[: len(numbers)]
            seen[numbers[::-1].copy()] = place[::-1].copy()  # the last write, a first place, counts
            firsts[first : first + at_once] = (seen[numbers] == place).reshape(some.shape)
        return firsts & (rows >= 0)

    def _floor(
        self, queries: np.ndarray, scores: np.ndarray, rows: np.ndarray, firsts: np.ndarray, k: int
    ) -> np.ndarray:
        """Return, per query, the least score that may tie with its k-th doc; -inf without k docs.

        `firsts` marks the hits that are a doc's first.
        """
        found, last = firsts.sum(axis=1), np.full(len(rows), k - 1)
        if not self._single and firsts.any():
            places, ends = np.nonzero(firsts)[1], np.cumsum(found)
            last = places[np.minimum(ends - found + k, ends) - 1]
        last = np.where(found >= k, last, -1)
        most = np.abs(np.where(rows >= 0, scores, 0)).max(axis=1, initial=0)
        width = TIE * (most + 0.01)
        if self.index.uncertain:
            width = np.maximum(width, self.index.uncertain(queries))
        floor = scores[np.arange(len(rows)), last] - width
        return np.where(last < 0, -np.inf, floor)

    def _scored(self, queries: np.ndarray, query: np.ndarray, doc: np.ndarray) -> pl.DataFrame:
        """Return query, doc_id and score of each pair, by the doc's best vector."""
        if self._single:  # here a doc and its vector have the same number
            scores = self._products(queries, query, doc)
            return pl.DataFrame({"query": query, "doc_id": self._names[doc], "score": scores})
        each = self._counts[doc]
        ends = np.cumsum(each)
        places = np.arange(each.sum()) + np.repeat(self._starts[doc] - ends + each, each)
        scores = self._products(queries, np.repeat(query, each), self._rows[places])
        best = np.maximum.reduceat(scores, ends - each) if len(each) else scores
        return pl.DataFrame({"query": query, "doc_id": self._names[doc], "score": best})

    def _products(self, queries: np.ndarray, query: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return float64 sums that a run rounds as it rounds a CPU's sums, on any device."""
        if not self.index.products:
            return _dense_products(queries, self._vectors, query, row)
        scores, near = self.index.products(queries, query, row)
        scores[near] = _dense_products(queries, self._vectors, query[near], row[near])
        return scores


def won_by_others(docs: Shard, queries: Shard, hits: pl.DataFrame, each: int) -> pl.DataFrame:
    """Return the hits (query_id, doc_id) that are not won by the first vector of a text.

    A doc's vectors are those of its text, `each` at most, or of its passages, `each` of every one.
    The winner of a hit is the doc's vector with the largest inner product, the first of equals.
    """
    rows = pl.DataFrame({"doc_id": docs[0]}).with_row_index("row")
    rows = rows.with_columns(place=pl.int_range(pl.len()).over("doc_id"))
    numbers = pl.DataFrame({"query_id": queries[0]}).with_row_index("query")
    pairs = hits.select("query_id", "doc_id").join(numbers, on="query_id", maintain_order="left")
    every = pairs.join(rows, on="doc_id", maintain_order="left_right")
    query, row = (every[name].to_numpy() for name in ("query", "row"))
    every = every.with_columns(score=pl.Series(row_scores(docs, queries, query, row)))
    best = every.group_by("query_id", "doc_id", maintain_order=True).agg(
        pl.col("place").get(pl.col("score").arg_max())
    )
    return best.filter(pl.col("place") % each > 0).select("query_id", "doc_id")


def with_ids(scored: pl.DataFrame, query_ids: list[str]) -> pl.DataFrame:
    """Return query_id, doc_id and score of hits or pairs whose queries are row numbers."""
    ids = pl.Series("query_id", query_ids, pl.String)[scored["query"]]
    return scored.select(ids, "doc_id", "score")


def pair_scores(shards: Iterable[Vectors], queries: Vectors, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with `score`, the inner product s_emb (CLEAR Eq. 4).

    `pairs` has query (number of its vector) and doc_id, each pair once. A doc with several vectors
    scores by its best vector. Memory holds one shard's ids at a time. Of memory-mapped vectors only
    those of the pairs are read. Raises ResiduumError for a doc without a vector.
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
    scores = row_scores(shard, queries, left, right)
    return local.select("query", "doc_id", pl.Series("score", scores, pl.Float64))


def row_scores(docs: Vectors, queries: Vectors, query: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the product of query `query[i]` and vector `row[i]`, as `pair_scores` does."""
    if isinstance(docs, TermVectors) and isinstance(queries, TermVectors):
        return products.pairs(queries, docs, query, row)
    return _dense_products(np.asarray(queries[1]), np.asarray(docs[1]), query, row)


def _dense_products(
    queries: np.ndarray, docs: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    at_once = max(1, PAIR_VALUES // docs.shape[1])
    query, doc = (_Rows(vectors, min(at_once, len(left))) for vectors in (queries, docs))
    scores = np.empty(len(left))
    for first in range(0, len(left), at_once):
        part = slice(first, first + at_once)
        np.einsum("ij,ij->i", query.take(left[part]), doc.take(right[part]), out=scores[part])
    return scores


class _Rows:
    """Rows of vectors as float64 in reused memory: new pages would cost as much as the sums.

    Rows are cast here, not by einsum. Its buffer would split the sum of a row at a point that
    depends on the rows before it.
    """

    def __init__(self, vectors: np.ndarray, count: int) -> None:
        self._vectors = vectors
        self._taken = np.empty((count, vectors.shape[1]), vectors.dtype)
        self._cast = np.empty((count, vectors.shape[1]))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows with these numbers; the next call overwrites them."""
        taken, cast = self._taken[: len(rows)], self._cast[: len(rows)]
        np.take(self._vectors, rows, axis=0, out=taken, mode="clip")  # any other mode copies
        cast[:] = taken
        return cast

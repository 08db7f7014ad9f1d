"""The nearest docs of queries by inner product, and the scores of given pairs, exactly.

Usage: `Index(docs, None, "cpu").search(queries, k)`, `pair_scores(shards, queries, pairs)`. FAISS
finds candidates of dense vectors; on a card torch does. Sums of float64 then give the scores, which
depend neither on the shards nor on other searches. Sparse vectors are multiplied directly, and a
doc is a hit only of queries with which it shares a term. Queries with several vectors compare all
docs, or those of the vectors that an approximate search finds near one of theirs (scores.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import polars as pl

from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.config.schema.search import Search
from residuum.vectors import exact, hybrid, products
from residuum.vectors.approximate import SEARCHES, Found, VectorIndex
from residuum.vectors.scores import (
    MIXED,
    TIE,
    Queries,
    Shard,
    Vectors,
    best_of,
    dense_products,
    distinct,
    row_scores,
    rows_of,
    several,
    starts_of,
    sums_of_best,
    text_scores,
)

SPARE = 64  # hits beyond the depth, to see whether the last hit ties
HITS_AT_ONCE = 8_000_000  # hits of the queries that are searched together
QUERIES_AT_ONCE = 100_000  # 307 MB at 768 dimensions
MOST_ASKED = 64  # vectors of a query, about: ColBERT's have 32
SEEN_AT_ONCE = 100_000  # numbers of docs that queries have met: 0.4 MB, which fits a cache


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
        self._docs, self._device = docs, device
        self._index: VectorIndex | None = None
        self._products = 0  # of vectors, by searches of all docs for queries of several vectors
        if approximate and not isinstance(docs, TermVectors):
            form = SEARCHES[approximate.kind].model_validate(approximate)
            self._index = form.build(np.ascontiguousarray(docs[1], dtype=np.float32), device)

    def search(self, queries: Vectors, k: int, effort: int | None = None) -> Iterator[pl.DataFrame]:
        """Yield query (number), doc_id and score of all docs that may be among the best k.

        Each query gets at least k docs, if the shard has as many, and all docs that tie with the
        last. An approximate search finds them among the vectors that it compares. With an effort,
        it keeps that effort even if it finds fewer docs. Memory holds one frame, of some queries,
        at a time.
        """
        docs = self._docs
        if isinstance(docs, TermVectors) and isinstance(queries, TermVectors):
            return _sparse_hits(docs, queries, k)
        if isinstance(docs, TermVectors) or isinstance(queries, TermVectors):
            raise ResiduumError(MIXED)
        if not several(queries):
            return self._dense.search(np.asarray(queries[1]), k, effort)
        if self._index:
            return _late_hits(self._dense, queries, k, effort)
        self._products += len(queries[1]) * len(docs[1])
        blocks = hybrid.in_blocks([[hybrid.docs_of(docs, queries)]], k)
        hits = hybrid.search(blocks, [queries], [[1.0]], k, self._device)
        return iter([hits.select("query", "doc_id", "score")])

    @cached_property
    def _dense(self) -> _Dense:
        """Dense vectors with their index: the approximate one, or one that compares all vectors."""
        docs = self._docs
        assert not isinstance(docs, TermVectors), "sparse vectors are multiplied"
        return _Dense(docs[0], docs[1], self._index or _exact(docs[1], self._device))

    def compared(self) -> int:
        """Return how many dense vectors were compared with queries since the last call."""
        count, self._products = self._products, 0
        return count or self._dense.index.compared()


def _late_hits(docs: _Dense, queries: Shard, k: int, given: int | None) -> Iterator[pl.DataFrame]:
    """Yield the docs of vectors near some vector of a query, with their exact scores.

    Each vector of a query finds k / 2 vectors (Khattab and Zaharia 2020, section 3.6), or twice as
    many until the query has k docs.
    """
    starts, at_once = starts_of(queries[0]), max(1, HITS_AT_ONCE // (k * MOST_ASKED))
    for first in range(0, len(starts) - 1, at_once):
        numbers = np.arange(first, min(first + at_once, len(starts) - 1))
        query, doc = docs.near(np.asarray(queries[1]), starts, numbers, k, given)
        scores = docs.sums_of_best(np.asarray(queries[1]), starts, query, doc)
        hits = pl.DataFrame({"query": query, "doc_id": docs.names[doc], "score": scores})
        yield hits.filter(hybrid.is_best(pl.col("score"), k))


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
        self.names = names.unique(maintain_order=True)
        numbers = pl.DataFrame({"doc_id": self.names, "doc": np.arange(len(self.names))})
        listed = names.to_frame().join(numbers, on="doc_id", how="left", maintain_order="left")
        self._docs = listed["doc"].to_numpy()  # doc number of each vector
        self._rows = np.argsort(self._docs, kind="stable")
        counts = np.bincount(self._docs, minlength=len(self.names))
        self._starts = np.append(0, np.cumsum(counts))  # places in `_rows`, the count last
        self._single = len(self.names) == len(names)
        self._each = -(-len(names) // max(1, len(self.names)))  # a doc's mean number of vectors

    def near(
        self,
        vectors: np.ndarray,
        starts: np.ndarray,
        numbers: np.ndarray,
        k: int,
        given: int | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return query and doc (numbers) of the docs near some vector of each of some queries.

        `starts` has the row of each query's first vector. A query with fewer than k docs is
        searched again with twice the depth. A search that has returned all hits that it can is
        repeated with more effort, unless the effort was given.
        """
        total, most = len(self._docs), given or self.index.most
        waiting = [(numbers, min(-(-k // 2), total), given or self.index.effort)]
        made: list[tuple[np.ndarray, np.ndarray]] = []
        while waiting:
            left, depth, effort = waiting.pop()
            asked, each = rows_of(starts, left)
            _, rows = self.index.search(np.ascontiguousarray(vectors[asked]), depth, effort)
            of_row = np.repeat(np.repeat(np.arange(len(left)), each), rows.shape[1])
            found = rows.ravel() >= 0
            keys = of_row[found] * len(self.names) + self._docs[rows.ravel()[found]]
            place, doc = np.divmod(np.unique(keys), len(self.names))
            few = np.bincount(place, minlength=len(left)) < min(k, len(self.names))
            firsts = np.cumsum(each) - each
            spent = np.logical_and.reduceat(rows[:, -1] < 0, firsts)  # no vector finds more
            harder = few & spent & (effort < most)
            deeper = few & ~spent & (depth < total)
            again = harder | deeper
            made.append((left[place[~again[place]]], doc[~again[place]]))
            more = ((deeper, min(2 * depth, total), effort), (harder, depth, min(2 * effort, most)))
            waiting += [(left[which], *how) for which, *how in more if which.any()]
        query, doc = (np.concatenate(some) for some in zip(*made, strict=True))
        order = np.argsort(query, kind="stable")
        return query[order], doc[order]

    def sums_of_best(
        self, queries: np.ndarray, starts: np.ndarray, query: np.ndarray, doc: np.ndarray
    ) -> np.ndarray:
        """Return the exact score of each query and doc (numbers): float64 (pairs,)."""
        return sums_of_best(self._vectors, queries, self._starts, starts, query, doc)

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
        depth, docs = rows.shape[1], len(self.names) + 1  # the last number stands for no hit
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
            return pl.DataFrame({"query": query, "doc_id": self.names[doc], "score": scores})
        places, each = rows_of(self._starts, doc)
        scores = self._products(queries, np.repeat(query, each), self._rows[places])
        best = best_of(scores, each)
        return pl.DataFrame({"query": query, "doc_id": self.names[doc], "score": best})

    def _products(self, queries: np.ndarray, query: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return float64 sums that a run rounds as it rounds a CPU's sums, on any device."""
        if not self.index.products:
            return dense_products(queries, self._vectors, query, row)
        scores, near = self.index.products(queries, query, row)
        scores[near] = dense_products(queries, self._vectors, query[near], row[near])
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
    """Return query_id, doc_id and score of hits or pairs whose queries are numbers.

    `query_ids` names the query of each vector.
    """
    ids = pl.Series("query_id", distinct(query_ids), pl.String)[scored["query"]]
    return scored.select(ids, "doc_id", "score")


def pair_scores(shards: Iterable[Vectors], queries: Vectors, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with `score`, the inner product s_emb (CLEAR Eq. 4).

    `pairs` has query (number) and doc_id, each pair once. A doc with several vectors scores by its
    best vector, for each vector of the query. Memory holds one shard's ids at a time. Of
    memory-mapped vectors only those of the pairs are read. Raises ResiduumError for a doc without a
    vector.
    """
    key = ["query", "doc_id"]
    pairs = pairs.select(key)
    asked = Queries.of(queries)
    parts = [_shard_scores(shard, asked, pairs) for shard in shards]
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


def _shard_scores(shard: Vectors, queries: Queries, pairs: pl.DataFrame) -> pl.DataFrame:
    if queries.several:
        ids = distinct(shard[0])
        numbers = pl.DataFrame({"doc_id": ids, "doc": np.arange(len(ids))})
        local = pairs.join(numbers, on="doc_id", how="inner", maintain_order="left")
        each = (local[name].to_numpy() for name in ("query", "doc"))
        made = text_scores(shard, starts_of(shard[0]), queries, *each)
        return local.select("query", "doc_id", pl.Series("score", made, pl.Float64))
    rows = pl.DataFrame({"doc_id": shard[0], "row": np.arange(len(shard[0]))})
    local = pairs.join(rows, on="doc_id", how="inner", maintain_order="left")
    left, right = local["query"].to_numpy(), local["row"].to_numpy()
    scores = row_scores(shard, queries.vectors, left, right)
    return local.select("query", "doc_id", pl.Series("score", scores, pl.Float64))

"""The docs with the largest weighted sums of inner products, by several weights in one pass.

Usage: `search(in_blocks(parts, queries, k), queries, coefficients, k)`: a block has the vectors of
the same docs in each part. Sparse and dense vectors go together. No list of one part is cut before
the sum: every doc is compared.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from residuum.artefacts import trec
from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.vectors import products
from residuum.vectors.nearest import TIE, Vectors, row_scores

QUERIES_AT_ONCE = 1024
ROWS_KEPT = 1_000_000  # docs near the best that are held before any is dropped
VALUES_AT_ONCE = 4_000_000  # products of some docs and some queries: 16 MB for each part


class Docs(NamedTuple):
    """Docs in their order, and the row of the first vector of each; an end more."""

    ids: list[str]
    starts: np.ndarray
    vectors: Vectors

    def some(self, first: int, last: int) -> "Docs":
        """Return the docs from one to before another."""
        starts, (ids, *rest) = self.starts[first : last + 1], self.vectors
        rows = slice(int(starts[0]), int(starts[-1]))
        if isinstance(self.vectors, TermVectors):
            own: Vectors = TermVectors(ids[rows], self.vectors.terms, self.vectors.rows[rows])
        else:
            own = (ids[rows], rest[0][rows])
        return Docs(self.ids[first:last], starts - starts[0], own)


NO_DOCS = Docs([], np.zeros(1, dtype=np.int64), ([], np.zeros((0, 0), dtype=np.float32)))


def docs_of(vectors: Vectors, queries: Vectors) -> Docs:
    """Return the docs of a shard; the vectors of each stand together.

    Of sparse ones the terms of the queries are kept alone: others add nothing to a product.
    """
    if isinstance(vectors, TermVectors) != isinstance(queries, TermVectors):
        raise ResiduumError("docs and queries: the vectors of one are sparse, of the other not")
    if isinstance(vectors, TermVectors) and isinstance(queries, TermVectors):
        rows = products.aligned(vectors, queries.terms)
        vectors = TermVectors(vectors.ids, queries.terms, rows)
    ids = np.array(vectors[0], dtype=object)
    first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1])) if len(ids) else np.zeros(0, int)
    return Docs(list(ids[first]), np.append(first, len(ids)), vectors)


def in_blocks(parts: Sequence[Iterable[Docs]], k: int) -> Iterator[list[Docs]]:
    """Yield the same docs of all parts, some at a time; parts may lie in shards of other sizes.

    Parts with other docs, or in another order, are a ResiduumError.
    """
    most = max(4 * k, VALUES_AT_ONCE // QUERIES_AT_ONCE)
    streams = [filter(_any, part) for part in parts]  # unlike a loop, it holds no shard
    shards, places = [next(stream, NO_DOCS) for stream in streams], [0] * len(parts)
    while any(docs.ids for docs in shards):
        left = [len(docs.ids) - place for docs, place in zip(shards, places, strict=True)]
        size = min(most, *left)
        pairs = [*zip(shards, places, strict=True)]
        block = [docs.some(place, place + size) for docs, place in pairs]
        del pairs  # each shard is to go before the next of its part comes
        if not size or any(docs.ids != block[0].ids for docs in block):
            both = zip(shards, places, strict=True)
            doc_id = next(docs.ids[place] for docs, place in both if docs.ids)
            text = "the parts of a hybrid have other docs, or in another order"
            raise ResiduumError(f"{text}: about doc {doc_id}; make their vectors again")
        yield block
        del block  # of a dense part it is a view of its shard
        for number, stream in enumerate(streams):
            places[number] += size
            if places[number] == len(shards[number].ids):
                shards[number] = NO_DOCS
                shards[number], places[number] = next(stream, NO_DOCS), 0


def _any(docs: Docs) -> bool:
    return bool(docs.ids)


class _Floors:
    """The least sums that may be among the best k, by weight and query: they rise with the docs."""

    def __init__(self, weights: int, queries: int, k: int) -> None:
        self._k = k
        self._best = np.full((weights, k, queries), -np.inf, dtype=np.float32)
        self._least = np.full((weights, queries), -np.inf, dtype=np.float32)  # of those
        self._largest = np.zeros((weights, queries), dtype=np.float32)

    def near(
        self, weight: int, queries: slice, sums: np.ndarray, largest: np.ndarray
    ) -> np.ndarray:
        """Say which sums of docs (docs, queries) may be among the best k of all docs so far.

        `largest` is what a sum of float32 could be in all: it may lie from the true one by a share
        of that.
        """
        best, least = self._best[weight, :, queries], self._least[weight, queries]
        rising = (sums > least).any(axis=1)  # fewer and fewer docs: a partition takes long
        if rising.any():
            both = np.concatenate([best, sums[rising]])
            best[:] = np.partition(both, -self._k, axis=0)[-self._k :]
            least[:] = best[0]
        most = self._largest[weight, queries]
        np.maximum(most, largest, out=most)
        return np.asarray(sums >= least - TIE * (most + 0.01))


def search(
    blocks: Iterable[Sequence[Docs]],
    queries: Sequence[Vectors],
    coefficients: Sequence[Sequence[float]],
    k: int,
) -> pl.DataFrame:
    """Return weight and query (numbers), doc_id and score of all that may be the best k.

    `coefficients` has, for each weight, a factor for each part. Those are at least k docs per
    weight and query, where there are as many, and all that tie with the last. Scores are sums of
    float64 products, as `pair_scores` has them, which neither blocks nor other weights change.
    Memory holds a block's products, and of what was near the best no more than twice what still is.
    """
    count, factors = len(queries[0][0]), np.array(coefficients, dtype=np.float32)
    floors, scored, size = _Floors(len(factors), count, k), [_none(len(queries))], ROWS_KEPT
    parts = [slice(n, n + QUERIES_AT_ONCE) for n in range(0, count, QUERIES_AT_ONCE)]
    for block in blocks:
        for part in parts:
            both = zip(block, queries, strict=True)
            each = [_products(docs, own, part) for docs, own in both]
            largest = np.stack([np.abs(own).max(axis=0) for own in each])
            near = np.zeros(each[0].shape, dtype=bool)
            for weight, own in enumerate(factors):
                sums = _sums(own, each)
                near |= floors.near(weight, part, sums, np.abs(own) @ largest)
            scored.append(_scored(block, queries, near, part.start))
            del both
        del block
        if sum(map(len, scored)) > size:
            scored = [_may_be_best(pl.concat(scored), coefficients, k)]
            size = max(ROWS_KEPT, 2 * len(scored[0]))
    every = pl.concat(scored)
    return pl.concat(_best(every, number, own, k) for number, own in enumerate(coefficients))


def _sums(factors: np.ndarray, products: Sequence[np.ndarray]) -> np.ndarray:
    """Return the weighted sum of the products of all parts, float32."""
    sums = factors[0] * products[0]
    for factor, own in zip(factors[1:], products[1:], strict=True):
        sums += own if factor == 1 else factor * own
    return sums


def _products(docs: Docs, queries: Vectors, part: slice) -> np.ndarray:
    """Return the products of docs, of each its best vector's, and some queries: float32."""
    if isinstance(docs.vectors, TermVectors) and isinstance(queries, TermVectors):
        rows = (docs.vectors.rows @ queries.rows[part].T).toarray()
    else:
        rows = np.asarray(docs.vectors[1], dtype=np.float32) @ np.asarray(queries[1])[part].T
    if len(rows) > len(docs.ids):
        rows = _of_best_vectors(rows, docs.starts)
    return np.asarray(rows, dtype=np.float32)


def _of_best_vectors(rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the greatest values of each doc's rows, in a fifth of `reduceat`'s time."""
    counts, best = np.diff(starts), rows[starts[:-1]]
    for place in range(1, counts.max()):
        docs = np.flatnonzero(counts > place)
        best[docs] = np.maximum(best[docs], rows[starts[docs] + place])
    return best


def _none(parts: int) -> pl.DataFrame:
    form: dict[str, pl.DataType] = {"query": pl.Int64(), "doc_id": pl.String()}
    return pl.DataFrame(schema=form | {str(number): pl.Float64() for number in range(parts)})


def _scored(
    block: Sequence[Docs], queries: Sequence[Vectors], near: np.ndarray, start: int
) -> pl.DataFrame:
    """Return query, doc_id and the exact product of each part of those that are near.

    The queries of `near` begin with the one of number `start`.
    """
    doc, query = np.nonzero(near)
    query += start
    scores = {
        str(number): _exactly(docs, own, query, doc)
        for number, (docs, own) in enumerate(zip(block, queries, strict=True))
    }
    ids = pl.Series("doc_id", block[0].ids, pl.String)
    return pl.DataFrame({"query": query, "doc_id": ids[doc], **scores})


def _exactly(docs: Docs, queries: Vectors, query: np.ndarray, doc: np.ndarray) -> np.ndarray:
    """Return the product of each pair (numbers), of a doc its best vector's: float64."""
    each = np.diff(docs.starts)[doc]
    ends = np.cumsum(each)
    rows = np.arange(each.sum()) + np.repeat(docs.starts[doc] - ends + each, each)
    scores = row_scores(docs.vectors, queries, np.repeat(query, each), rows)
    return np.maximum.reduceat(scores, ends - each) if len(rows) > len(doc) else scores


def _score(coefficients: Sequence[float]) -> pl.Expr:
    return pl.sum_horizontal(c * pl.col(str(n)) for n, c in enumerate(coefficients))


def _is_best(score: pl.Expr, k: int) -> pl.Expr:
    """Say which docs are the best k of their query, or tie with the last."""
    return score >= score.top_k(k).min().over("query") - trec.ROUNDING


def _may_be_best(
    scored: pl.DataFrame, coefficients: Sequence[Sequence[float]], k: int
) -> pl.DataFrame:
    """Return what is among the best k of its query by any weight."""
    return scored.filter(pl.any_horizontal(_is_best(_score(own), k) for own in coefficients))


def _best(scored: pl.DataFrame, weight: int, coefficients: Sequence[float], k: int) -> pl.DataFrame:
    """Return the best k of each query by a weight, with those that tie with the last."""
    score = _score(coefficients)
    named = scored.select(pl.lit(weight).alias("weight"), "query", "doc_id", score=score)
    return named.filter(_is_best(pl.col("score"), k))

"""The docs with the largest weighted sums of inner products, for several weights in one pass.

Usage: `search(in_blocks(parts, queries, k), queries, coefficients, k)`. A block has the vectors of
the same docs in each part. Parts may be sparse or dense. No part's list is cut before the sum:
every doc is compared.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from residuum.artefacts import trec
from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.vectors import products
from residuum.vectors.scores import (
    MIXED,
    TIE,
    Queries,
    Vectors,
    best_products,
    starts_of,
    text_scores,
)

QUERIES_AT_ONCE = 1024
ROWS_KEPT = 1_000_000  # docs near the best that are held before any is dropped
VALUES_AT_ONCE = 4_000_000  # products of a block's docs and queries: 16 MB for each part


class Docs(NamedTuple):
    """Docs in their order, and the row of each doc's first vector, with the row count last."""

    ids: list[str]
    starts: np.ndarray
    vectors: Vectors

    def some(self, first: int, last: int) -> "Docs":
        """Return the docs from number `first` to before number `last`."""
        starts, (ids, *rest) = self.starts[first : last + 1], self.vectors
        rows = slice(int(starts[0]), int(starts[-1]))
        if isinstance(self.vectors, TermVectors):
            vectors: Vectors = TermVectors(ids[rows], self.vectors.terms, self.vectors.rows[rows])
        else:
            vectors = (ids[rows], rest[0][rows])
        return Docs(self.ids[first:last], starts - starts[0], vectors)


NO_DOCS = Docs([], np.zeros(1, dtype=np.int64), ([], np.zeros((0, 0), dtype=np.float32)))


def docs_of(vectors: Vectors, queries: Vectors) -> Docs:
    """Return the docs of a shard; each doc's vectors are neighbours.

    Sparse vectors keep only the queries' terms: other terms add nothing to a product.
    """
    if isinstance(vectors, TermVectors) != isinstance(queries, TermVectors):
        raise ResiduumError(MIXED)
    if isinstance(vectors, TermVectors) and isinstance(queries, TermVectors):
        rows = products.aligned(vectors, queries.terms)
        vectors = TermVectors(vectors.ids, queries.terms, rows)
    ids, starts = vectors[0], starts_of(vectors[0])
    return Docs([ids[row] for row in starts[:-1]], starts, vectors)


def in_blocks(parts: Sequence[Iterable[Docs]], k: int) -> Iterator[list[Docs]]:
    """Yield blocks with the same docs of all parts; the parts' shards may differ in size.

    Raises ResiduumError for parts with other docs, or with another order.
    """
    most = max(4 * k, VALUES_AT_ONCE // QUERIES_AT_ONCE)
    streams = [filter(_any, part) for part in parts]  # unlike a loop, it holds no shard
    shards, places = [next(stream, NO_DOCS) for stream in streams], [0] * len(parts)
    while any(docs.ids for docs in shards):
        left = [len(docs.ids) - place for docs, place in zip(shards, places, strict=True)]
        size = min(most, *left)
        pairs = [*zip(shards, places, strict=True)]
        block = [docs.some(place, place + size) for docs, place in pairs]
        del pairs  # frees each shard before the next one of its part
        if not size or any(docs.ids != block[0].ids for docs in block):
            both = zip(shards, places, strict=True)
            doc_id = next(docs.ids[place] for docs, place in both if docs.ids)
            text = f"the parts of a hybrid differ in docs, or in their order, at doc {doc_id}"
            raise ResiduumError(f"{text}. Make their vectors again")
        yield block
        del block  # a dense part's block is a view of its shard
        for number, stream in enumerate(streams):
            places[number] += size
            if places[number] == len(shards[number].ids):
                shards[number] = NO_DOCS
                shards[number], places[number] = next(stream, NO_DOCS), 0


def _any(docs: Docs) -> bool:
    return bool(docs.ids)


class _Floors:
    """The least sums that may be among the best k, by weight and query; more docs raise them."""

    def __init__(self, weights: int, queries: int, k: int) -> None:
        self._k = k
        self._best = np.full((weights, k, queries), -np.inf, dtype=np.float32)
        self._least = np.full((weights, queries), -np.inf, dtype=np.float32)  # least of the best k
        self._largest = np.zeros((weights, queries), dtype=np.float32)

    def near(
        self, weight: int, queries: slice, sums: np.ndarray, largest: np.ndarray
    ) -> np.ndarray:
        """Say which sums of docs (docs, queries) may be among the best k of all docs so far.

        `largest` is the largest possible absolute value of the sums. A float32 sum may differ from
        the true sum by a share of `largest`.
        """
        best, least = self._best[weight, :, queries], self._least[weight, queries]
        rising = (sums > least).any(axis=1)  # ever fewer docs; a partition is slow
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
    device: str = "cpu",
) -> pl.DataFrame:
    """Return weight and query (numbers), doc_id and score of all docs that may be the best k.

    `coefficients` has, for each weight, a factor for each part. Each weight and query gets at least
    k docs, if there are as many, and all docs that tie with the last. Scores are sums of float64
    products, equal to those of `pair_scores`. Neither blocks nor other weights change them. Memory
    holds a block's products, and at most twice the docs that are still near the best.
    """
    asked = [Queries.of(given) for given in queries]
    count, factors = len(asked[0].starts) - 1, np.array(coefficients, dtype=np.float32)
    floors, scored, size = _Floors(len(factors), count, k), [_none(len(queries))], ROWS_KEPT
    parts = [slice(n, n + QUERIES_AT_ONCE) for n in range(0, count, QUERIES_AT_ONCE)]
    for block in blocks:
        for part in parts:
            both = zip(block, asked, strict=True)
            each = [_products(docs, given, part, device) for docs, given in both]
            largest = np.stack([np.abs(scores).max(axis=0) for scores in each])
            near = np.zeros(each[0].shape, dtype=bool)
            for weight, row in enumerate(factors):
                sums = _sums(row, each)
                near |= floors.near(weight, part, sums, np.abs(row) @ largest)
            scored.append(_scored(block, asked, near, part.start))
            del both
        del block
        if sum(map(len, scored)) > size:
            scored = [_may_be_best(pl.concat(scored), coefficients, k)]
            size = max(ROWS_KEPT, 2 * len(scored[0]))
    every = pl.concat(scored)
    return pl.concat(_best(every, weight, row, k) for weight, row in enumerate(coefficients))


def _sums(factors: np.ndarray, products: Sequence[np.ndarray]) -> np.ndarray:
    """Return the weighted sum of the products of all parts, float32."""
    sums = factors[0] * products[0]
    for factor, part in zip(factors[1:], products[1:], strict=True):
        sums += part if factor == 1 else factor * part
    return sums


def _products(docs: Docs, queries: Queries, part: slice, device: str) -> np.ndarray:
    """Return the scores of docs and of a part of the queries: float32 (docs, queries)."""
    asked, vectors = queries.vectors, docs.vectors
    if isinstance(vectors, TermVectors) and isinstance(asked, TermVectors):
        rows = (vectors.rows @ asked.rows[part].T).toarray()
    elif queries.several:
        starts = queries.starts[part.start : part.stop + 1]
        both = np.asarray(vectors[1]), docs.starts, np.asarray(asked[1]), starts
        return best_products(*both, device)
    else:
        rows = np.asarray(vectors[1], dtype=np.float32) @ np.asarray(asked[1])[part].T
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
    block: Sequence[Docs], queries: Sequence[Queries], near: np.ndarray, start: int
) -> pl.DataFrame:
    """Return query, doc_id and the exact product of each part, for the pairs marked in `near`.

    Column 0 of `near` is query number `start`.
    """
    doc, query = np.nonzero(near)
    query += start
    scores = {
        str(number): text_scores(docs.vectors, docs.starts, asked, query, doc)
        for number, (docs, asked) in enumerate(zip(block, queries, strict=True))
    }
    ids = pl.Series("doc_id", block[0].ids, pl.String)
    return pl.DataFrame({"query": query, "doc_id": ids[doc], **scores})


def _score(coefficients: Sequence[float]) -> pl.Expr:
    return pl.sum_horizontal(c * pl.col(str(n)) for n, c in enumerate(coefficients))


def is_best(score: pl.Expr, k: int) -> pl.Expr:
    """Say which docs are the best k of their query, or tie with the last of them."""
    return score >= score.top_k(k).min().over("query") - trec.ROUNDING


def _may_be_best(
    scored: pl.DataFrame, coefficients: Sequence[Sequence[float]], k: int
) -> pl.DataFrame:
    """Return the docs that are among the best k of their query by any weight."""
    return scored.filter(pl.any_horizontal(is_best(_score(row), k) for row in coefficients))


def _best(scored: pl.DataFrame, weight: int, coefficients: Sequence[float], k: int) -> pl.DataFrame:
    """Return the best k docs of each query by one weight, and docs that tie with the last."""
    score = _score(coefficients)
    named = scored.select(pl.lit(weight).alias("weight"), "query", "doc_id", score=score)
    return named.filter(is_best(pl.col("score"), k))

"""The docs with the largest weighted sums of inner products, by several weights in one pass.

Usage: `for hits in search(blocks, coefficients, k)`: a block has the vectors of some docs in each
part, beside those of all queries. Sparse and dense vectors go together. No list of one part is cut
before the sum: every doc is compared. Must not know files, nor where weights come from.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.vectors import products
from residuum.vectors.nearest import TIE, Vectors, pair_scores

ROUNDING = 2e-6  # two scores this near may be equal in a run file
VALUES_AT_ONCE = 4_000_000  # products of some docs and all queries: 16 MB for each part


class Docs(NamedTuple):
    """The docs of a shard in their order, and the row of the first vector of each; an end more."""

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


def docs_of(vectors: Vectors) -> Docs:
    """Return the docs of a shard; the vectors of each stand together."""
    ids = np.array(vectors[0], dtype=object)
    first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1])) if len(ids) else np.zeros(0, int)
    return Docs(list(ids[first]), np.append(first, len(ids)), vectors)


def blocks(parts: Sequence[Iterable[Docs]], queries: int) -> Iterator[list[Docs]]:
    """Yield the same docs of all parts, some at a time; parts may lie in shards of other sizes.

    Parts with other docs, or in another order, are a ResiduumError.
    """
    most = max(1, VALUES_AT_ONCE // max(1, queries))
    streams = [iter(part) for part in parts]
    waiting: list[Docs | None] = [None] * len(parts)
    while True:
        for number, stream in enumerate(streams):
            while waiting[number] is None or not waiting[number].ids:  # type: ignore[union-attr]
                if (shard := next(stream, None)) is None:
                    break
                waiting[number] = shard
        held = [docs for docs in waiting if docs is not None and docs.ids]
        if not held:
            return
        size = min(most, *(len(docs.ids) for docs in held))
        block = [docs.some(0, size) for docs in held]
        if len(held) < len(parts) or any(docs.ids != block[0].ids for docs in block):
            text = "the parts of a hybrid have other docs, or in another order"
            raise ResiduumError(f"{text}: about doc {block[0].ids[0]}; make their vectors again")
        yield block
        waiting = [docs.some(size, len(docs.ids)) for docs in held]


def search(
    found: Iterable[Sequence[Docs]],
    queries: Sequence[Vectors],
    coefficients: Sequence[Sequence[float]],
    k: int,
) -> pl.DataFrame:
    """Return weight and query (numbers), doc_id and score of all that may be the best k.

    `coefficients` has, for each weight, a factor for each part. Those are at least k docs per
    weight and query, where there are as many, and all that tie with the last. Scores are sums of
    float64 products, as `pair_scores` has them, which neither blocks nor other weights change.
    """
    factors = np.array(coefficients, dtype=np.float32)
    asked = [_asked(part) for part in queries]
    floors = np.full((len(factors), len(queries[0][0])), -np.inf, dtype=np.float32)
    scored: list[pl.DataFrame] = []
    for block in found:
        each = [_products(docs, own) for docs, own in zip(block, asked, strict=True)]
        near = np.zeros(each[0].shape, dtype=bool)
        for factor, floor in zip(factors, floors, strict=True):
            fused = sum(f * own for f, own in zip(factor, each, strict=True))
            _raise(floor, fused, k)
            near |= fused >= floor
        scored.append(_scored(block, queries, near))
    every = pl.concat(scored) if scored else pl.DataFrame(schema=_schema(len(queries)))
    return pl.concat(_best(every, number, own, k) for number, own in enumerate(coefficients))


def _asked(queries: Vectors) -> Vectors:
    """Return queries as they are multiplied: dense ones contiguous."""
    if isinstance(queries, TermVectors):
        return queries
    return queries[0], np.ascontiguousarray(queries[1], dtype=np.float32)


def _products(docs: Docs, queries: Vectors) -> np.ndarray:
    """Return the products of docs, of each its best vector's, and queries: float32."""
    if isinstance(docs.vectors, TermVectors) and isinstance(queries, TermVectors):
        asked = products.aligned(queries, docs.vectors.terms)
        rows = csr_array(docs.vectors.rows.astype(np.float64) @ asked.T).toarray()
    elif isinstance(docs.vectors, TermVectors) or isinstance(queries, TermVectors):
        raise ResiduumError("docs and queries: the vectors of one are sparse, of the other not")
    else:
        rows = np.asarray(docs.vectors[1], dtype=np.float32) @ queries[1].T
    if len(rows) > len(docs.ids):
        rows = np.maximum.reduceat(rows, docs.starts[:-1], axis=0)
    return np.asarray(rows, dtype=np.float32)


def _raise(floor: np.ndarray, fused: np.ndarray, k: int) -> None:
    """Raise the least sum that may be among the best k of each query by what a block has.

    As much below its k-th as sums of float32 may lie from the true ones.
    """
    if len(fused) < k:
        return
    last = np.partition(fused, -k, axis=0)[-k]
    np.maximum(floor, last - TIE * (np.abs(fused).max(axis=0) + 0.01), out=floor)


def _schema(parts: int) -> dict[str, pl.DataType]:
    form: dict[str, pl.DataType] = {"query": pl.Int64(), "doc_id": pl.String()}
    return form | {str(number): pl.Float64() for number in range(parts)}


def _scored(block: Sequence[Docs], queries: Sequence[Vectors], near: np.ndarray) -> pl.DataFrame:
    """Return query, doc_id and the exact product of each part of those that are near."""
    doc, query = np.nonzero(near)
    ids = pl.Series("doc_id", block[0].ids, pl.String)
    pairs = pl.DataFrame({"query": query, "doc_id": ids[doc]}).cast({"query": pl.Int64})
    scores = {
        str(number): pair_scores([docs.vectors], own, pairs)["score"]
        for number, (docs, own) in enumerate(zip(block, queries, strict=True))
    }
    return pairs.with_columns(**scores)


def _best(scored: pl.DataFrame, weight: int, coefficients: Sequence[float], k: int) -> pl.DataFrame:
    """Return the best k of each query by a weight, with those that tie with the last."""
    score = pl.sum_horizontal(c * pl.col(str(n)) for n, c in enumerate(coefficients))
    named = scored.select(pl.lit(weight).alias("weight"), "query", "doc_id", score=score)
    last = pl.col("score").top_k(k).min().over("query")
    return named.filter(pl.col("score") >= last - ROUNDING)

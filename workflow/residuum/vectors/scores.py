"""Scores of queries and docs by their vectors, exactly: the one place that says what ids mean.

Usage: `text_scores(docs, starts_of(docs[0]), Queries.of(vectors), query, doc)`. Vectors of one text
are neighbours and repeat its id, for docs and for queries alike. The score of a query and a doc is
the sum, over the query's vectors, of the largest inner product with a vector of the doc (Khattab
and Zaharia 2020, ColBERT, Eq. 3). A query with one vector therefore scores a doc by its best
vector. Sums of float64 give the scores. They depend neither on the shards nor on other pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from residuum.artefacts.termvectors import TermVectors
from residuum.vectors import exact, products

PAIR_VALUES = 250_000  # float64 values multiplied at once: 2 MB on each side, which fits a cache
TOKENS_AT_ONCE = 1024  # vectors of docs, and of queries, multiplied at once: products of 4 MB
CARD_TOKENS = 8192  # the same on a card: 268 MB
TIE = 1e-4  # share of the largest score below which float32 sums may swap two docs
MIXED = "docs and queries: one side has sparse vectors, the other dense"

Shard = tuple[list[str], np.ndarray]
Vectors = Shard | TermVectors


def distinct(ids: Sequence[str]) -> list[str]:
    """Return the id of each text, given the id of each vector."""
    return [name for place, name in enumerate(ids) if place == 0 or ids[place - 1] != name]


def starts_of(ids: Sequence[str]) -> np.ndarray:
    """Return the row of each text's first vector, with the number of rows last: int64 (texts + 1,).

    `ids` names the text of each vector.
    """
    names = np.array(ids, dtype=object)
    first = np.flatnonzero(np.append(True, names[1:] != names[:-1])) if len(ids) else np.zeros(0)
    return np.append(first, len(ids)).astype(np.int64)


def in_order(vectors: Vectors, at_once: int) -> Iterator[Vectors]:
    """Yield the vectors of `at_once` texts, then of others, by rising id."""
    ids = vectors[0]
    order = sorted(range(len(ids)), key=ids.__getitem__)  # a text's vectors keep their order
    begins = starts_of([ids[row] for row in order])
    for first, end in pairwise([*begins[:-1:at_once].tolist(), len(order)]):
        yield some_rows(vectors, order[first:end])


def some_rows(vectors: Vectors, rows: Sequence[int]) -> Vectors:
    """Return the vectors with these row numbers, in their order."""
    named = [vectors[0][row] for row in rows]
    if isinstance(vectors, TermVectors):
        return TermVectors(named, vectors.terms, vectors.rows[rows])
    return named, vectors[1][rows]


def several(vectors: Vectors) -> bool:
    """Say whether some text has more vectors than one."""
    return any(one == other for one, other in pairwise(vectors[0]))


def rows_of(starts: np.ndarray, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the vectors of some texts (numbers), text by text, and each one's count.

    `starts` is what `starts_of` returns.
    """
    each = np.diff(starts)[texts]
    shift = starts[texts] - np.cumsum(each) + each  # from a place in the answer to a row
    return np.arange(each.sum()) + np.repeat(shift, each), each


class Queries(NamedTuple):
    """Queries, the row of each one's first vector, and whether some has more vectors than one."""

    vectors: Vectors
    starts: np.ndarray
    several: bool

    @classmethod
    def of(cls, vectors: Vectors) -> Queries:
        """Return queries by their vectors."""
        return cls(vectors, starts_of(vectors[0]), several(vectors))


def best_products(
    docs: np.ndarray,
    doc_starts: np.ndarray,
    queries: np.ndarray,
    query_starts: np.ndarray,
    device: str,
) -> np.ndarray:
    """Return the scores of all docs and queries: float32 (docs, queries), to find candidates.

    Docs of about equal numbers of vectors are multiplied together. A doc with fewer repeats its
    last vector, which changes no maximum. Memory holds the products of `TOKENS_AT_ONCE` vectors of
    each side.
    """
    multiply = _multiply if device == "cpu" else partial(exact.best_of_each, device)
    at_once = TOKENS_AT_ONCE if device == "cpu" else CARD_TOKENS
    counts = np.diff(doc_starts)
    scores = np.empty((len(counts), len(query_starts) - 1), dtype=np.float32)
    parts = list(_parts(query_starts, at_once))
    for some in _alike(counts, at_once):
        longest = counts[some].max()
        rows = doc_starts[some, None] + np.minimum(np.arange(longest), counts[some, None] - 1)
        tokens = np.ascontiguousarray(docs[rows.ravel()], dtype=np.float32)
        for first, last in parts:
            starts = query_starts[first : last + 1]
            asked = np.ascontiguousarray(queries[starts[0] : starts[-1]], dtype=np.float32)
            best = multiply(tokens, asked, int(longest))
            scores[some, first:last] = np.add.reduceat(best, starts[:-1] - starts[0], axis=1)
    return scores


def _parts(starts: np.ndarray, at_once: int) -> Iterator[tuple[int, int]]:
    """Yield the first text and the end of parts of at most `at_once` vectors, or of one text."""
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + at_once, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _alike(counts: np.ndarray, at_once: int) -> Iterator[np.ndarray]:
    """Yield numbers of docs, those of about equal numbers of vectors together."""
    order = np.argsort(counts, kind="stable")
    while len(order):
        size = max(1, int(at_once // counts[order[-1]]))  # the longest docs first
        yield order[-size:]
        order = order[:-size]


def _multiply(docs: np.ndarray, queries: np.ndarray, each: int) -> np.ndarray:
    """Return the largest product of each doc's vectors, `each` a doc: (docs, query vectors)."""
    return np.asarray((docs @ queries.T).reshape(-1, each, len(queries)).max(axis=1))


def text_scores(
    docs: Vectors, doc_starts: np.ndarray, queries: Queries, query: np.ndarray, doc: np.ndarray
) -> np.ndarray:
    """Return the score of query `query[i]` and doc `doc[i]` (numbers of texts): float64 (pairs,).

    `doc_starts` is `starts_of` the docs' ids.
    """
    asked = queries.vectors
    if not isinstance(asked, TermVectors) and queries.several:
        rows = np.asarray(docs[1]), np.asarray(asked[1])
        return sums_of_best(*rows, doc_starts, queries.starts, query, doc)
    places, each = rows_of(doc_starts, doc)
    return best_of(row_scores(docs, asked, np.repeat(query, each), places), each)


def best_of(scores: np.ndarray, each: np.ndarray) -> np.ndarray:
    """Return the largest of each text's scores, of which there are `each`, 1 or more."""
    several = len(scores) > len(each)
    return np.maximum.reduceat(scores, np.cumsum(each) - each) if several else scores


def sums_of_best(
    docs: np.ndarray,
    queries: np.ndarray,
    doc_starts: np.ndarray,
    query_starts: np.ndarray,
    query: np.ndarray,
    doc: np.ndarray,
) -> np.ndarray:
    """Return the score of each pair. A pair is multiplied alone: its sums depend on it alone."""
    scores, last = np.empty(len(query)), -1
    asked = np.zeros((0, 0))
    for pair in np.argsort(query, kind="stable").tolist():
        number, place = query[pair], doc[pair]
        if number != last:
            first, end = query_starts[number : number + 2]
            asked, last = queries[first:end].astype(np.float64), number
        start, end = doc_starts[place : place + 2]
        scores[pair] = (docs[start:end].astype(np.float64) @ asked.T).max(axis=0).sum()
    return scores


def row_scores(docs: Vectors, queries: Vectors, query: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the product of the vectors `query[i]` and `row[i]` (numbers of rows): float64."""
    if isinstance(docs, TermVectors) and isinstance(queries, TermVectors):
        return products.pairs(queries, docs, query, row)
    return dense_products(np.asarray(queries[1]), np.asarray(docs[1]), query, row)


def dense_products(
    queries: np.ndarray, docs: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Return the product of query `left[i]` and doc `right[i]` (numbers of rows): float64."""
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

"""Inner products of sparse vectors: the best docs of each query, and the scores of given pairs.

Usage: `best(queries, docs, k)`, `pairs(queries, docs, left, right)`, with `TermVectors`. Products
are summed in float64 over rising terms, so that a product depends on its two vectors alone.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from residuum.artefacts.termvectors import TermVectors

QUERIES_AT_ONCE = 64
PAIRS_AT_ONCE = 100_000


def best(
    queries: TermVectors, docs: TermVectors, k: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield query, doc (row numbers) and score of docs that may be among the best k of each query.

    Only docs that share a term with the query count. A query gets the best k of them, and all that
    tie with the last. Memory holds the products of some queries at a time.
    """
    asked, columns = aligned(queries, docs.terms), docs.rows.T.tocsr().astype(np.float64)
    for first in range(0, asked.shape[0], QUERIES_AT_ONCE):
        product = (asked[first : first + QUERIES_AT_ONCE] @ columns).tocsr()
        product.sum_duplicates()
        for row in range(product.shape[0]):
            part = slice(*product.indptr[row : row + 2])
            scores, numbers = product.data[part], product.indices[part]
            if len(scores) > k:
                kept = scores >= np.partition(scores, -k)[-k]
                scores, numbers = scores[kept], numbers[kept]
            yield np.full(len(scores), first + row), numbers, scores


def pairs(
    queries: TermVectors, docs: TermVectors, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Return the product of query `left[i]` and doc `right[i]` (row numbers): float64 (pairs,)."""
    asked, rows = aligned(queries, docs.terms), docs.rows.astype(np.float64)
    scores = np.zeros(len(left))
    for first in range(0, len(left), PAIRS_AT_ONCE):
        part = slice(first, first + PAIRS_AT_ONCE)
        scores[part] = asked[left[part]].multiply(rows[right[part]]).sum(axis=1)
    return scores


def aligned(vectors: TermVectors, terms: list[str]) -> csr_array:
    """Return vectors with `terms` as their columns, float64; terms outside `terms` are dropped."""
    if vectors.terms == terms:
        return vectors.rows.astype(np.float64)
    columns = {term: number for number, term in enumerate(terms)}
    places = np.array([columns.get(term, -1) for term in vectors.terms], dtype=np.int32)
    indices = places[vectors.rows.indices]
    kept = indices >= 0
    ends = np.append(0, np.cumsum(kept))[vectors.rows.indptr]
    values = vectors.rows.data[kept].astype(np.float64), indices[kept], ends
    made = csr_array(values, shape=(vectors.rows.shape[0], len(terms)))
    made.sum_duplicates()  # also sorts the columns
    return made

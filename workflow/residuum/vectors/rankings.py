"""How far random projections keep the ranking of sparse vectors: pairs, margins and recall.

Usage: `ranked = Rankings(queries, shards)`; `ranked.margins(pool)`, `ranked.turned(pool, ...)`.
Source: Luan et al. 2021 (ME-BERT), section 2. A query's first doc has the largest inner product; of
several, the least doc_id. Docs that tie with it are no competitors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.sparse import csr_array

from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.vectors import bounds
from residuum.vectors.products import aligned
from residuum.vectors.projection import Drawn

DOCS_AT_ONCE = 4096
TIED = 1e-12  # scores within this share of the first score are equal: sums of float64
PARTS = 64  # parts of a bin; pairs of a part count as of one margin in an error
SAME = 1e-9  # share of two squared norms below which a squared distance is only rounding


class Competitors(NamedTuple):
    """Competing docs: their rows, and each query's first doc among them, or -1."""

    rows: np.ndarray
    first: np.ndarray


class Rankings:
    """Vectors of queries and docs over the same terms, float64, and their ranking by products.

    Queries that share no term with any doc are left out.
    """

    def __init__(
        self, queries: TermVectors, shards: Iterable[TermVectors], present: bool = False
    ) -> None:
        """Take vectors unchanged, or with 1 for every term if `present` (Boolean vectors)."""
        parts = list(shards)
        self.terms = sorted({term for part in parts for term in part.terms})
        self.docs = csr_array(sparse.vstack([aligned(part, self.terms) for part in parts]))
        self.doc_ids = np.array([doc_id for part in parts for doc_id in part.ids], dtype=object)
        if len({*self.doc_ids}) < len(self.doc_ids):
            raise ResiduumError("a doc has two vectors; give each shard once, and whole docs")
        asked = aligned(queries, self.terms)
        for rows in (asked, self.docs):
            rows.eliminate_zeros()
            if present:
                rows.data[:] = 1.0
        used = np.zeros(len(self.terms), dtype=bool)
        used[np.unique(self.docs.indices)] = True
        known = np.asarray(abs(asked) @ used.astype(np.float64)) > 0
        self.queries = asked[np.flatnonzero(known)]
        self.query_ids = [queries.ids[number] for number in np.flatnonzero(known)]
        if not self.query_ids:
            raise ResiduumError("no query shares a term with a doc, so that nothing is ranked")
        self.norms = _squares(self.docs)
        self.lengths = np.diff(self.docs.indptr)

    @property
    def most_terms(self) -> tuple[int, int]:
        """Return the number of terms of the longest query and of the longest doc: L_Q and L_D."""
        return int(np.diff(self.queries.indptr).max()), int(self.lengths.max())

    def pool(self, rows: np.ndarray) -> Competitors:
        """Return the docs of these rows as a pool. A query that matches none has no first doc."""
        best = np.zeros(len(self.query_ids))
        first = np.full(len(self.query_ids), -1, dtype=np.int64)
        order = rows[np.argsort(self.doc_ids[rows], kind="stable")]
        for part in _chunks(order):
            scores = (self.queries @ self.docs[part].T).toarray()
            place = scores.argmax(axis=1)  # of equals the first, with the least doc_id
            largest = scores[np.arange(len(scores)), place]
            better = largest > best * (1 + TIED)
            best, first = np.where(better, largest, best), np.where(better, part[place], first)
        return Competitors(order, first)

    def margins(self, pool: Competitors) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows of docs and the margins to them: (queries, docs), nan without a margin.

        The first doc and docs that tie with it have no margin. A query without a first doc has
        none.
        """
        with_first = np.flatnonzero(pool.first >= 0)
        asked, firsts = self.queries[with_first], pool.first[with_first]
        first_scores = np.asarray(asked.multiply(self.docs[firsts]).sum(axis=1))[:, None]
        norms, lengths = self.norms[firsts][:, None], np.sqrt(_squares(asked))[:, None]
        for part in _chunks(pool.rows):
            docs = self.docs[part].T
            gaps = first_scores - (asked @ docs).toarray()
            total = norms + self.norms[part]
            squares = total - 2 * (self.docs[firsts] @ docs).toarray()
            none = (gaps <= first_scores * TIED) | (squares <= total * SAME)
            margins = np.full((len(self.query_ids), len(part)), np.nan)
            with np.errstate(invalid="ignore", divide="ignore"):
                margins[with_first] = np.where(none, np.nan, gaps / (lengths * np.sqrt(squares)))
            yield part, margins

    def turned(
        self,
        pool: Competitors,
        dimensions: Sequence[int],
        seed: int,
        distribution: str,
        pairs: Pairs,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Count the pairs that one draw turns, at each of rising numbers of dimensions.

        A pair is turned if the projection scores the doc at least as high as the first doc. Returns
        int64 (dimensions, queries), and (dimensions, bins) in the bins of `pairs`.
        """
        by_query = np.zeros((len(dimensions), len(self.query_ids)), dtype=np.int64)
        by_bin = np.zeros((len(dimensions), pairs.bins + 1), dtype=np.int64)
        how = dimensions, seed, distribution
        asked = list(self._projected(self.queries, *how))
        firsts = self._projected(self.docs[np.where(pool.first >= 0, pool.first, 0)], *how)
        products = ((q * d).sum(axis=1) for q, d in zip(asked, firsts, strict=True))
        first_scores = list(accumulate(products))
        for part, margins in self.margins(pool):
            known = ~np.isnan(margins)
            place = np.full(margins.shape, pairs.bins)
            place[known] = pairs.place(margins[known])
            blocks = self._projected(self.docs[part], *how)
            total = np.zeros(margins.shape)
            for number, (queries, docs) in enumerate(zip(asked, blocks, strict=True)):
                total += queries @ docs.T
                turned = (total >= first_scores[number][:, None]) & known
                by_query[number] += turned.sum(axis=1)
                by_bin[number] += np.bincount(place[turned], minlength=by_bin.shape[1])
        return by_query, by_bin[:, :-1]  # the last bin is no bin of `pairs`

    def _projected(
        self, rows: csr_array, dimensions: Sequence[int], seed: int, distribution: str
    ) -> Iterator[np.ndarray]:
        """Yield A x of each row x, float64, from one number of dimensions to the next.

        A's entries have variance 1: the scale turns no pair.
        """
        used = np.unique(rows.indices)
        drawn = Drawn([self.terms[i] for i in used], dimensions[-1], seed, distribution)
        weights = rows[:, used]
        for start, end in pairwise((0, *dimensions)):
            yield weights @ drawn.block(start, end)


class Pairs:
    """Pairs of a query's first doc and another, in bins of x = 1/(eps^2/2 - eps^3/3)."""

    def __init__(self, dimensions: Sequence[int], error: float, bins: int) -> None:
        """Make bins of equal width, up to where the most dimensions keep a pair with that error."""
        self.edges = np.linspace(6, _reach(dimensions[-1], error), bins + 1)  # 6: x at margin 1
        self.bins, self.beyond, self.least = bins, 0, math.inf
        self.counts = np.zeros((bins, PARTS), dtype=np.int64)  # by equal parts of each bin
        self.margins, self.x = np.zeros((bins, PARTS)), np.zeros((bins, PARTS))  # sums

    @property
    def count(self) -> np.ndarray:
        """Return the number of pairs in each bin."""
        return np.asarray(self.counts.sum(axis=1))

    def place(self, margins: np.ndarray) -> np.ndarray:
        """Return the bin number of each pair; `bins` stands for a pair beyond the last bin."""
        return self._part(margins) // PARTS

    def _part(self, margins: np.ndarray) -> np.ndarray:
        width = (self.edges[-1] - self.edges[0]) / (self.bins * PARTS)
        parts = np.floor((1 / bounds.exponent(margins) - self.edges[0]) / width)
        return np.clip(parts, 0, self.bins * PARTS).astype(np.int64)

    def add(self, margins: np.ndarray) -> None:
        """Count pairs; ignore margins that are nan."""
        known = margins[~np.isnan(margins)]
        place, shape = self._part(known), self.counts.shape
        size = self.counts.size + 1
        count = np.bincount(place, minlength=size)
        self.counts, self.beyond = self.counts + count[:-1].reshape(shape), self.beyond + count[-1]
        self.margins += np.bincount(place, known, size)[:-1].reshape(shape)
        self.x += np.bincount(place, 1 / bounds.exponent(known), size)[:-1].reshape(shape)
        self.least = min(self.least, float(known.min(initial=math.inf)))

    def means(self, number: int) -> tuple[float, float]:
        """Return the means of margin and x over the pairs of a bin."""
        count = self.count[number]
        return self.margins[number].sum() / count, self.x[number].sum() / count

    def needed(self, number: int, error: float) -> tuple[int, int]:
        """Return the least dimensions at which at most a share `error` of a bin's pairs is turned.

        The first number holds for Gaussian projections, the second by Lemma 1.
        """
        some = self.counts[number] > 0
        counts = self.counts[number][some]
        margins = self.margins[number][some] / counts
        each = (bounds.gaussian_dimensions, bounds.guaranteed_dimensions)
        exact, guaranteed = (least(margins, counts, error) for least in each)
        return exact, guaranteed


def _reach(dimensions: int, error: float) -> float:
    """Return the largest x at which a Gaussian projection turns a pair with that error."""
    margin = brentq(lambda eps: bounds.gaussian_error(eps, dimensions) - error, 1e-9, 1)
    return float(1 / bounds.exponent(margin))


def smallest(margins: Iterable[np.ndarray], most: int) -> np.ndarray:
    """Return each query's `most` smallest margins, rising: (queries, most), nan beyond the last."""
    kept: np.ndarray | None = None
    for part in margins:
        both = part if kept is None else np.concatenate([kept, part], axis=1)
        kept = np.sort(both, axis=1)[:, :most]  # nan is last
    if kept is None:
        raise ResiduumError("no docs, and so no margins")
    return np.pad(kept, ((0, 0), (0, most - kept.shape[1])), constant_values=np.nan)


def _squares(rows: csr_array) -> np.ndarray:
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


def _chunks(rows: np.ndarray) -> list[np.ndarray]:
    return np.split(rows, range(DOCS_AT_ONCE, len(rows), DOCS_AT_ONCE))

"""How far random projections keep the ranking of sparse vectors: pairs, margins and recall.

Usage: `ranked = Rankings(queries, shards)`; `ranked.margins(pool)`, `ranked.turned(pool, ...)`.
Source: Luan et al. 2021 (ME-BERT), section 2; a query's first doc is the one of the largest inner
product, the least doc_id of several, and docs that tie with it are no competitors.
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
TIED = 1e-12  # share of the first score within which another is its equal: sums of float64
PARTS = 64  # of a bin, whose pairs count as of one margin where an error is computed
SAME = 1e-9  # share of two squared norms below which a squared distance is rounding


class Competitors(NamedTuple):
    """Docs that compete: their rows, and the first doc of each query among them, or -1."""

    rows: np.ndarray
    first: np.ndarray


class Rankings:
    """Vectors of queries and docs over the same terms, float64, and what their products rank.

    Queries that share no term with any doc are left out.
    """

    def __init__(
        self, queries: TermVectors, shards: Iterable[TermVectors], present: bool = False
    ) -> None:
        """Take vectors as they are, or with 1 for every term that is `present` (Boolean)."""
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
        self.query_ids = [one for one, kept in zip(queries.ids, known, strict=True) if kept]
        if not self.query_ids:
            raise ResiduumError("no query shares a term with a doc, so that nothing is ranked")
        self.norms = _squares(self.docs)
        self.lengths = np.diff(self.docs.indptr)

    @property
    def most_terms(self) -> tuple[int, int]:
        """Return how many terms the longest query has, and the longest doc: L_Q and L_D."""
        return int(np.diff(self.queries.indptr).max()), int(self.lengths.max())

    def pool(self, rows: np.ndarray) -> Competitors:
        """Return the docs of some rows as a pool; a query without a match there has no first."""
        best = np.zeros(len(self.query_ids))
        first = np.full(len(self.query_ids), -1, dtype=np.int64)
        order = rows[np.argsort(self.doc_ids[rows], kind="stable")]
        for part in _chunks(order):
            scores = (self.queries @ self.docs[part].T).toarray()
            place = scores.argmax(axis=1)  # the first of equals has the least doc_id
            own = scores[np.arange(len(scores)), place]
            better = own > best * (1 + TIED)
            best, first = np.where(better, own, best), np.where(better, part[place], first)
        return Competitors(order, first)

    def margins(self, pool: Competitors) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows of some docs and the margins to them: (queries, docs), nan where is none.

        There is none to the first doc, to one that ties with it, and of a query without a first.
        """
        with_first = np.flatnonzero(pool.first >= 0)
        asked, firsts = self.queries[with_first], pool.first[with_first]
        own = np.asarray(asked.multiply(self.docs[firsts]).sum(axis=1))[:, None]
        norms, lengths = self.norms[firsts][:, None], np.sqrt(_squares(asked))[:, None]
        for part in _chunks(pool.rows):
            docs = self.docs[part].T
            gaps = own - (asked @ docs).toarray()
            total = norms + self.norms[part]
            squares = total - 2 * (self.docs[firsts] @ docs).toarray()
            none = (gaps <= own * TIED) | (squares <= total * SAME)
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

        Turned is what it puts level with a query's first doc or above: int64 (dimensions, queries),
        and (dimensions, bins) in the bins of `pairs`.
        """
        by_query = np.zeros((len(dimensions), len(self.query_ids)), dtype=np.int64)
        by_bin = np.zeros((len(dimensions), pairs.bins + 1), dtype=np.int64)
        how = dimensions, seed, distribution
        asked = list(self._projected(self.queries, *how))
        firsts = self._projected(self.docs[np.where(pool.first >= 0, pool.first, 0)], *how)
        own = list(accumulate((q * d).sum(axis=1) for q, d in zip(asked, firsts, strict=True)))
        for part, margins in self.margins(pool):
            known = ~np.isnan(margins)
            place = np.full(margins.shape, pairs.bins)
            place[known] = pairs.place(margins[known])
            blocks = self._projected(self.docs[part], *how)
            total = np.zeros(margins.shape)
            for number, (queries, docs) in enumerate(zip(asked, blocks, strict=True)):
                total += queries @ docs.T
                turned = (total >= own[number][:, None]) & known
                by_query[number] += turned.sum(axis=1)
                by_bin[number] += np.bincount(place[turned], minlength=by_bin.shape[1])
        return by_query, by_bin[:, :-1]  # behind the last bin are pairs of none

    def _projected(
        self, rows: csr_array, dimensions: Sequence[int], seed: int, distribution: str
    ) -> Iterator[np.ndarray]:
        """Yield A x of each row x, float64, from one number of dimensions to the next.

        A's entries have variance 1: the scale turns no pair.
        """
        used = np.unique(rows.indices)
        terms, own = [self.terms[i] for i in used], rows[:, used]
        drawn = Drawn(terms, dimensions[-1], seed, distribution)
        yield from (own @ drawn.block(start, end) for start, end in pairwise((0, *dimensions)))


class Pairs:
    """Pairs of a query's first doc and another, in bins of x = 1/(eps^2/2 - eps^3/3)."""

    def __init__(self, dimensions: Sequence[int], error: float, bins: int) -> None:
        """Bins are equally wide and end where the most dimensions keep a pair with that error."""
        self.edges = np.linspace(6, _reach(dimensions[-1], error), bins + 1)  # 6: a margin of 1
        self.bins, self.beyond, self.least = bins, 0, math.inf
        self.counts = np.zeros((bins, PARTS), dtype=np.int64)  # of equal parts of each bin
        self.margins, self.x = np.zeros((bins, PARTS)), np.zeros((bins, PARTS))  # sums

    @property
    def count(self) -> np.ndarray:
        """Return the pairs of each bin."""
        return np.asarray(self.counts.sum(axis=1))

    def place(self, margins: np.ndarray) -> np.ndarray:
        """Return the bin of each pair, and as many as there are for a pair beyond the last."""
        return self._part(margins) // PARTS

    def _part(self, margins: np.ndarray) -> np.ndarray:
        width = (self.edges[-1] - self.edges[0]) / (self.bins * PARTS)
        parts = np.floor((1 / bounds.exponent(margins) - self.edges[0]) / width)
        return np.clip(parts, 0, self.bins * PARTS).astype(np.int64)

    def add(self, margins: np.ndarray) -> None:
        """Count pairs; margins that are nan are none."""
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
        """Return dimensions that turn at most so many of a bin: if Gaussian, and by Lemma 1."""
        some = self.counts[number] > 0
        counts = self.counts[number][some]
        margins = self.margins[number][some] / counts
        each = (bounds.gaussian_dimensions, bounds.guaranteed_dimensions)
        exact, guaranteed = (least(margins, counts, error) for least in each)
        return exact, guaranteed


def _reach(dimensions: int, error: float) -> float:
    """Return the largest x at which so many dimensions, Gaussian, keep a pair with that error."""
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

"""Ranks of given docs under many weightings of one query's terms, without ranking all docs.

Usage: `counted = Ranker(docs).count(query, idf, listed, judged, depth)`, then
`counted.ranks(names)`. A setting of RM3 only weighs terms: what a doc has of each term depends on
no setting. So the postings are read once for all settings. Bounds pass most docs over: only docs
that may stand above a judged one are scored at every setting.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from residuum.artefacts.trec import ROUNDING, SCORE_DECIMALS
from residuum.lucene.postings import Listed, scores
from residuum.lucene.relevance import Expanded

ROUGH = 2.0**-21  # error of a score in double precision against Lucene's, as a share of all weights
SLACK = np.float32(1 - 2.0**-14)  # more than float32 loses in sums of a thousand terms
SAMPLE = 200  # least number of docs that say how good a doc at the depth is
AT_ONCE = 100_000  # docs whose terms are read together
PAIRS = 50_000  # of a setting and a doc that are scored together as Lucene does
BLOCK = 2048  # docs that are scored at every setting together
NONE = np.zeros(0, dtype=np.int64)


class Ranks(NamedTuple):
    """Of each setting: the rank of each judged doc (settings, docs), and the list's length.

    0 is the rank of a doc that is not in the list.
    """

    ranks: np.ndarray
    lengths: np.ndarray


class Counted(NamedTuple):
    """How many docs stand above each judged one: `higher` (settings, docs) by their scores.

    `near` says which docs may be in a list at all. `ties` has the setting, the number of a judged
    doc, and the doc that scores as much: the docs' ids decide.
    """

    judged: np.ndarray
    depth: int
    near: np.ndarray
    higher: np.ndarray
    lengths: np.ndarray
    ties: tuple[np.ndarray, np.ndarray, np.ndarray]

    def tied(self) -> set[int]:
        """Return the docs whose ids are needed."""
        _, numbers, docs = self.ties
        return {*docs.tolist(), *self.judged[numbers].tolist()}

    def ranks(self, names: Mapping[int, str]) -> Ranks:
        """Return the ranks, given the ids of tied docs."""
        settings, numbers, docs = self.ties
        pairs = zip(docs.tolist(), self.judged[numbers].tolist(), strict=True)
        above = np.array([names[doc] < names[judged] for doc, judged in pairs], dtype=bool)
        higher = self.higher.copy()
        np.add.at(higher, (settings[above], numbers[above]), 1)
        ranks = np.where(self.near & (higher < self.depth), higher + 1, 0)
        return Ranks(ranks, self.lengths)


class Ranker:
    """Counts docs of one index. A ranker serves one thread."""

    def __init__(self, docs: int) -> None:
        self._own, self._models = (np.zeros(docs, dtype=np.float32) for _ in range(2))
        self._row = np.full(docs, -1, dtype=np.int32)

    def count(
        self,
        query: Expanded,
        idf: np.ndarray,
        listed: Sequence[Listed],
        judged: np.ndarray,
        depth: int,
        left_out: Sequence[int] = (),
    ) -> Counted:
        """Count the docs above each of `judged` at every setting, down to `depth`.

        `idf` and `listed` are of the query's terms. Docs `left_out` are in no list.
        """
        weights = query.weights() * idf  # a boost times an idf, in float32 as Lucene's
        grid, terms = weights.shape[:-1], weights.shape[-1]
        flat = weights.reshape(math.prod(grid), terms)
        own, models = query.own * idf, query.models.max(axis=(0, 1), initial=0) * idf
        touched = self._bounds(own, models, listed, left_out)
        both = self._own[touched] + self._models[touched]
        size = min(len(touched), max(SAMPLE, 10 * depth))
        sample = touched[np.argpartition(-both, size - 1)[:size]] if size else touched
        parts = self._parts(np.concatenate([judged, sample]), listed)
        exact = np.zeros((len(flat), len(judged)), dtype=np.float32)
        for number in range(len(judged)):
            exact[:, number] = scores(flat, parts[number])
        least, lengths = _at_depth(flat, parts[len(judged) :], depth)
        if size < len(touched):
            self._recount(lengths, flat, listed, left_out, depth)
        near = (exact >= least[:, None]) & (exact > 0)
        # No doc below all judged docs in reach matters; without one in reach, no doc does.
        floor = np.where(near, exact, np.inf).min(axis=1, initial=np.inf) - ROUNDING - _error(flat)
        floors = floor.reshape(grid)
        rivals = touched[self._may_reach(touched, query.shares, floors.min(axis=(0, 1)))]
        rivals, parts = self._reaching(rivals, listed, weights.max(axis=0), floors.min(axis=0))
        counts = _higher(flat, rivals, parts, judged, np.where(near, exact, np.inf))
        self._own[touched] = self._models[touched] = 0
        return Counted(judged, depth, near, counts[0], lengths, counts[1])

    def _bounds(
        self,
        own: np.ndarray,
        models: np.ndarray,
        listed: Sequence[Listed],
        left_out: Sequence[int],
    ) -> np.ndarray:
        """Sum up what docs have of own terms, and at most of models; return docs with any."""
        for of_own, of_model, term in zip(own, models, listed, strict=True):
            shares = _saturated(term.parts)
            for weight, sums in ((of_own, self._own), (of_model, self._models)):
                if weight:
                    sums[term.docs] += weight * shares
        for sums in (self._own, self._models):
            sums[list(left_out)] = 0
        return np.flatnonzero(self._own + self._models)

    def _parts(self, docs: np.ndarray, listed: Sequence[Listed]) -> np.ndarray:
        """Return what docs have of each term, float32 (docs, terms); 0 for none.

        Of a doc that stands twice only the last row is filled; then the first takes from it.
        """
        parts = np.zeros((len(docs), len(listed)), dtype=np.float32)
        self._row[docs] = np.arange(len(docs))
        for column, term in enumerate(listed):
            row = self._row[term.docs]
            held = np.flatnonzero(row >= 0)
            parts[row[held], column] = term.parts[held]
        last = self._row[docs]
        self._row[docs] = -1
        filled: np.ndarray = parts[last]
        return filled

    def _recount(
        self,
        lengths: np.ndarray,
        weights: np.ndarray,
        listed: Sequence[Listed],
        left_out: Sequence[int],
        depth: int,
    ) -> None:
        """Correct the lengths of lists that are shorter in a sample than among all docs."""
        for setting in np.flatnonzero(lengths < depth):
            docs = [listed[term].docs for term in np.flatnonzero(weights[setting]).tolist()]
            found = np.setdiff1d(np.concatenate([*docs, np.zeros(0, dtype=np.int32)]), left_out)
            lengths[setting] = min(depth, len(found))

    def _may_reach(self, docs: np.ndarray, shares: np.ndarray, floors: np.ndarray) -> np.ndarray:
        """Say which docs may reach the floor of any weight of the own terms, by their bounds."""
        own, models = self._own[docs], self._models[docs]
        reach = np.zeros(len(docs), dtype=bool)
        for share, floor in zip(shares.astype(np.float32), floors, strict=True):
            if np.isfinite(floor):
                reach |= share * own + (1 - share) * models >= np.float32(floor) * SLACK
        return reach

    def _reaching(
        self, docs: np.ndarray, listed: Sequence[Listed], weights: np.ndarray, floors: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the docs that may reach the floor of any weighting, and what they have of terms.

        `weights` (..., terms) are the most of several settings, `floors` (...) the least.
        """
        live = np.isfinite(floors)
        bounds, least = weights[live].T, (floors[live] * SLACK).astype(np.float32)
        kept, held = [docs[:0]], [np.zeros((0, len(listed)), dtype=np.float32)]
        for start in range(0, len(docs), AT_ONCE):
            some = docs[start : start + AT_ONCE]
            parts = self._parts(some, listed)
            reach = np.zeros(len(some), dtype=bool)
            for first in range(0, len(some), BLOCK):
                block = slice(first, first + BLOCK)
                reach[block] = (_saturated(parts[block]) @ bounds >= least).any(axis=1)
            kept.append(some[reach])
            held.append(parts[reach])
        return np.concatenate(kept), np.concatenate(held)


def _higher(
    weights: np.ndarray, docs: np.ndarray, parts: np.ndarray, judged: np.ndarray, exact: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Count the docs above each judged doc (settings, judged), and return the ties.

    `exact` are the judged docs' scores. Scores in double precision decide, but where they are too
    near: there Lucene's own do, rounded as those of a run.
    """
    live = np.flatnonzero(np.isfinite(exact).any(axis=1))
    higher, ties = np.zeros(exact.shape, dtype=np.int64), [(NONE, NONE, NONE)]
    precise = weights[live].astype(np.float64)
    close = (ROUNDING + _error(weights[live]))[:, None]
    for start in range(0, len(docs), BLOCK):
        block, part = docs[start : start + BLOCK], parts[start : start + BLOCK]
        found = precise @ _saturated(part.astype(np.float64)).T
        for number in np.flatnonzero(np.isfinite(exact).any(axis=0)).tolist():
            gap = found - exact[live, number, None].astype(np.float64)
            higher[live, number] += (gap > close).sum(axis=1)
            row, other = np.nonzero(np.abs(gap) <= close)
            row, other = (each[block[other] != judged[number]] for each in (row, other))
            for first in range(0, len(row), PAIRS):
                setting, rival = (each[first : first + PAIRS] for each in (live[row], other))
                theirs = scores(weights[setting], part[rival])
                setting, rival = setting[theirs > 0], rival[theirs > 0]  # others are no hits
                theirs, own = _rounded(theirs[theirs > 0]), _rounded(exact[setting, number])
                np.add.at(higher[:, number], setting[theirs > own], 1)
                same = theirs == own
                ties.append((setting[same], np.full(same.sum(), number), block[rival[same]]))
    settings, numbers, tied = (np.concatenate(each) for each in zip(*ties, strict=True))
    return higher, (settings, numbers, tied)


def _saturated(parts: np.ndarray) -> np.ndarray:
    """Return the share of a term's weight that docs get: x / (1 + x), and 1 of infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(parts), 1, parts / (1 + parts)).astype(parts.dtype)


def _error(weights: np.ndarray) -> np.ndarray:
    """Return how far a score in double precision may lie from Lucene's, of each setting."""
    total: np.ndarray = weights.sum(axis=-1, dtype=np.float64)
    return ROUGH * total


def _rounded(values: np.ndarray) -> np.ndarray:
    return pl.Series(values.astype(np.float64)).round(SCORE_DECIMALS).to_numpy()


def _at_depth(weights: np.ndarray, parts: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what the doc at `depth` scores at least, and the lists' lengths, of each setting.

    The docs are a sample of the best. So many stand at that score or above it.
    """
    found = weights.astype(np.float64) @ _saturated(parts.astype(np.float64)).T
    lengths = np.minimum(depth, (found > 0).sum(axis=1))
    if len(parts) < depth:
        return np.full(len(weights), -np.inf), lengths
    last = len(parts) - depth
    least = np.partition(found, last, axis=1)[:, last]
    return least - ROUNDING - 2 * _error(weights), lengths

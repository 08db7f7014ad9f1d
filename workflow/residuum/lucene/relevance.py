"""RM3's queries at every setting of a grid, computed as Anserini's Rm3Reranker computes them.

Usage: `expanded(own, docs, scores, grid)`, given a query's own terms and its feedback docs. Source:
estimateRelevanceModel of Rm3Reranker, and interpolate of FeatureVector.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from residuum.config.schema.settings import Rm3Grid

LEAST_NORM = np.float32(0.001)  # of a feedback doc; one without terms that count has 0
Weights = Mapping[str, float]  # of terms


class Expanded(NamedTuple):
    """Rising terms of a query, and their weights in float32 at every setting.

    `own` (terms,) are those of the query itself, `models` (docs, terms, vocabulary) those of the
    relevance model of so many feedback docs and terms. `shares` are the weights of the own terms.
    """

    terms: list[str]
    own: np.ndarray
    models: np.ndarray
    shares: np.ndarray

    def weights(self) -> np.ndarray:
        """Return the mixed weights, float32 (docs, terms, shares, vocabulary)."""
        share = self.shares.astype(np.float32)[:, None]
        mixed: np.ndarray = (1.0 - share.astype(np.float64)) * self.models[:, :, None, :]
        mixed += share * self.own
        return mixed.astype(np.float32)


def expanded(own: Weights, docs: Sequence[Weights], scores: np.ndarray, grid: Rm3Grid) -> Expanded:
    """Return the terms and weights of a query at every setting of the grid.

    `docs` have the frequencies of the terms that count in each feedback doc, best doc first, and
    `scores` are the docs' scores, float32.
    """
    vocabulary = sorted({*own}.union(*docs))
    column = {term: number for number, term in enumerate(vocabulary)}
    frequencies = np.zeros((len(docs), len(vocabulary)), dtype=np.float32)
    for number, doc in enumerate(docs):
        frequencies[number, [column[term] for term in doc]] = [*doc.values()]
    mine = np.zeros(len(vocabulary), dtype=np.float32)
    mine[[column[term] for term in own]] = [*own.values()]
    models = _models(frequencies, scores, grid.feedback_docs, grid.feedback_terms)
    used = np.flatnonzero((models > 0).any(axis=(0, 1)) | (mine > 0))
    shares = np.array(grid.original_query_weight)
    return Expanded([vocabulary[n] for n in used], mine[used], models[:, :, used], shares)


def _models(
    frequencies: np.ndarray, scores: np.ndarray, docs: Sequence[int], terms: Sequence[int]
) -> np.ndarray:
    """Return float32 weights (docs, terms, vocabulary): of the D first docs, the T best terms.

    Each doc is cut to its T most frequent terms first. Columns rise by term, so that the first of
    equal weights is the one that Anserini keeps.
    """
    made = np.zeros((len(docs), len(terms), frequencies.shape[1]), dtype=np.float32)
    if not frequencies.size:
        return made
    order = np.argsort(-frequencies, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
    last = np.minimum(docs, len(frequencies)) - 1
    for number, most in enumerate(terms):
        kept = np.where(rank < most, frequencies, np.float32(0))
        norms = kept.sum(axis=1, dtype=np.float64).astype(np.float32)[:, None]
        shares = np.divide(kept, norms, out=np.zeros_like(kept), where=norms > LEAST_NORM)
        # Java adds doc by doc in float32, and so does cumsum.
        summed = np.cumsum(shares * scores[:, None], axis=0, dtype=np.float32)[last]
        best = np.argsort(-summed, axis=1, kind="stable")[:, :most]
        weights = np.take_along_axis(summed, best, axis=1)
        total = weights.sum(axis=1, dtype=np.float64, keepdims=True)
        unit = np.divide(weights, total, out=np.zeros(weights.shape), where=total > 0)
        np.put_along_axis(made[:, number], best, unit.astype(np.float32), axis=1)
    return made

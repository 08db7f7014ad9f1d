"""Every weight of a sum of two scores at which a list changes, and the best of all of them.

Usage: `best(pairs, relevant, "RR@10")`, for a measure that the rank of a query's first relevant doc
decides. Between two neighbouring weights no list changes, so that one of each gap stands for all;
at the weights themselves two docs tie, and a file's rounding would decide. Must not know runs, nor
how judgements came about.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from residuum.config import measures

Values = np.ndarray
SPARE = 20  # gaps that are looked at with ties and rounding, as a run file has them
NEAR = 1e-9  # sums of values this near are equal


def best(pairs: pl.DataFrame, relevant: pl.Series, measure: str) -> list[float]:
    """Return weights, rising: one of each of the best gaps, 0, and one beyond all changes.

    `pairs` has query_id, weighted and rest, those of a query together, where a doc's score is
    weight * weighted + rest; `relevant` says which docs are. The best gaps are those whose mean is
    the greatest, ties and the rounding of scores apart: the widest of them, as many as SPARE.
    """
    value = of_rank(measure)
    lengths = pairs["query_id"].rle().struct.field("len").to_numpy()
    weighted, rest = pairs["weighted"].to_numpy(), pairs["rest"].to_numpy()
    flags, ends = relevant.to_numpy(), np.cumsum(lengths)
    at, change, first = [np.zeros(0)], [np.zeros(0)], 0.0
    for start, end in zip(ends - lengths, ends, strict=True):
        own = slice(start, end)
        starts, values = _steps(weighted[own], rest[own], flags[own], value)
        first += values[0]
        at.append(starts[1:])
        change.append(np.diff(values))
    places, inverse = np.unique(np.concatenate(at), return_inverse=True)
    sums = first + np.cumsum(np.bincount(inverse, np.concatenate(change), len(places)))
    if not len(places):
        return [0.0]
    lows, highs = np.append(0.0, places), np.append(places, 2 * places[-1])
    totals = np.append(first, sums)
    among = np.flatnonzero(totals >= totals.max() - NEAR)
    widest = among[np.argsort(lows[among] - highs[among], kind="stable")[:SPARE]]
    middles = (lows[widest] + highs[widest]) / 2
    return sorted({0.0, *map(float, middles), float(2 * places[-1])})


def of_rank(measure: str) -> Callable[[Values], Values]:
    """Return the value of a measure by the rank of the first relevant doc, int (any shape)."""
    depth = measures.cutoff(measure) or np.inf
    hit = measures.is_hit(measure)
    return lambda ranks: np.where(ranks <= depth, 1.0 if hit else 1.0 / ranks, 0.0)


def _steps(
    weighted: Values, rest: Values, relevant: Values, value: Callable[[Values], Values]
) -> tuple[Values, Values]:
    """Return where a query's value changes, from 0 on, and the values from there to the next.

    A doc is above a relevant one p where w * weighted + rest is the greater: from, or up to, the
    weight (rest_p - rest) / (weighted - weighted_p), or nowhere.
    """
    first = np.zeros(1), np.zeros(1)
    if not relevant.any():
        return first
    curves = [_ranks(weighted - weighted[p], rest[p] - rest) for p in np.flatnonzero(relevant)]
    starts = np.unique(np.concatenate([own for own, _ in curves]))
    ranks = [curve[np.searchsorted(own, starts, side="right") - 1] for own, curve in curves]
    values = value(np.minimum.reduce(ranks))
    kept = np.append(True, values[1:] != values[:-1])
    return starts[kept], values[kept]


def _ranks(slope: Values, lead: Values) -> tuple[Values, Values]:
    """Return where a doc's rank changes, from 0 on, and its ranks from there to the next.

    Another doc is above it where weight * slope > lead.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.where(slope != 0, lead / slope, np.inf)
    above = np.where(turns > 0, np.where(slope == 0, lead < 0, slope < 0), slope > 0)
    above |= (turns == 0) & (slope > 0)
    changing = (turns > 0) & np.isfinite(turns)
    places, inverse = np.unique(turns[changing], return_inverse=True)
    change = np.bincount(inverse, np.sign(slope[changing]), len(places))
    ranks = 1 + above.sum() + np.append(0.0, np.cumsum(change))
    return np.append(0.0, places), ranks


def of_folds(
    find: Callable[[Sequence[str]], list[float]],
    query_ids: Sequence[str],
    folds: Mapping[str, int],
) -> list[float]:
    """Return the best weights of all queries; or, of folds, those of each one's other queries."""
    if not folds:
        return find(query_ids)
    others = ([q for q in query_ids if folds[q] != n] for n in sorted({*folds.values()}))
    return sorted({weight for own in others for weight in find(own)})

"""Every weight of a sum of two scores at which a list changes, and the best of all of them.

Usage: `best(pairs, relevant, "RR@10", depth)`, for a measure that the rank of a query's first
relevant doc decides. Between two neighbouring weights no list changes, so that one of each gap
stands for all; at the weights themselves two docs tie, and a file's rounding would decide. Must not
know runs, nor how judgements came about.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from residuum.artefacts import trec
from residuum.config import measures

Values = np.ndarray
SPARE = 20  # gaps that are looked at with ties and rounding, as a run file has them
DIGITS = 9  # of sums of values: what differs less is equal
SLACK = 1e-5  # more than a run file rounds scores by
NARROW = 1e-6  # share of a weight; the rounding of scores hides what a narrower gap gains


def best(pairs: pl.DataFrame, relevant: pl.Series, measure: str, depth: int) -> list[float]:
    """Return weights: one of each of the best gaps, first the widest of equals; 0; a great one.

    `pairs` has query_id, weighted and rest, those of a query together, where a doc's score is
    weight * weighted + rest, and the first `depth` docs of a query count; `relevant` says which
    are. The best gaps are those of the greatest means, ties and the rounding of scores apart: as
    many as SPARE. The great weight lies beyond all changes of a value.
    """
    value = of_rank(measure, depth)
    weighted, rest = pairs["weighted"].to_numpy(), pairs["rest"].to_numpy()
    flags = relevant.to_numpy()
    at, change, first = [np.zeros(0)], [np.zeros(0)], 0.0
    for own in spans(pairs):
        starts, values = _steps(weighted[own], rest[own], flags[own], value)
        first += values[0]
        at.append(starts[1:])
        change.append(np.diff(values))
    places, inverse = np.unique(np.concatenate(at), return_inverse=True)
    sums = first + np.cumsum(np.bincount(inverse, np.concatenate(change), len(places)))
    if not len(places):
        return [1.0, 0.0]
    lows, highs = np.append(0.0, places), np.append(places, 2 * places[-1])
    totals = np.round(np.append(first, sums), DIGITS)
    wide = np.flatnonzero(highs - lows > NARROW * highs)
    chosen = wide[np.lexsort((lows[wide] - highs[wide], -totals[wide]))][:SPARE]
    middles = (lows[chosen] + highs[chosen]) / 2
    return [*map(float, middles), 0.0, float(2 * places[-1])]


def spans(pairs: pl.DataFrame) -> list[slice]:
    """Return the rows of each query, whose pairs are together."""
    ends = pairs["query_id"].rle().struct.field("len").cast(pl.Int64).cum_sum().to_list()
    return [slice(start, end) for start, end in pairwise([0, *ends])]


def of_rank(measure: str, depth: int) -> Callable[[Values], Values]:
    """Return a measure's value by the rank of the first relevant doc, 0 below `depth`."""
    depth = min(depth, measures.cutoff(measure) or depth)
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


def undominated(pairs: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Drop the pairs that `depth` others of their query beat in both scores, beyond rounding.

    At no weight from 0 on are they among the first `depth`, so that none of these loses its rank.
    """
    weighted, rest = pairs["weighted"].to_numpy(), pairs["rest"].to_numpy()
    kept = np.ones(pairs.height, dtype=bool)
    for own in spans(pairs):
        order = own.start + np.lexsort((rest[own], -weighted[own]))
        above: list[float] = []  # the greatest `rest` of docs whose other score is greater
        for row, score in zip(order.tolist(), rest[order].tolist(), strict=True):
            if len(above) < depth:
                heapq.heappush(above, score)
            elif above[0] > score + SLACK:
                kept[row] = False
            else:
                heapq.heappushpop(above, score)
    return pairs.filter(kept)


def contenders(pairs: pl.DataFrame, grid: Sequence[float], k: int) -> pl.DataFrame:
    """Keep the pairs that a weight of the grid brings among the first `k` of their query.

    The pairs of a query are together. Ties with the k-th stay, for `ranked` to break.
    """
    weighted, rest = pairs["weighted"].to_numpy(), pairs["rest"].to_numpy()
    tried, kept = np.array(grid)[:, None], np.ones(pairs.height, dtype=bool)
    for own in spans(pairs):
        if own.stop - own.start > k:
            scores = tried * weighted[own] + rest[own]
            last = np.partition(scores, -k, axis=1)[:, [-k]]
            near = scores >= last - trec.ROUNDING - np.spacing(np.abs(last)) * 4
            kept[own] = near.any(axis=0)
    return pairs.filter(kept)


def of_folds(
    find: Callable[[Sequence[str]], list[float]],
    query_ids: Sequence[str],
    folds: Mapping[str, int],
) -> list[float]:
    """Return the best weights of all queries; or, of folds, those of each one's other queries."""
    if not folds:
        return find(query_ids)
    others = ([q for q in query_ids if folds[q] != n] for n in sorted({*folds.values()}))
    return list(dict.fromkeys(weight for own in others for weight in find(own)))

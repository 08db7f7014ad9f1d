"""All weights of a sum of two scores at which a list changes, and the best of all weights.

Usage: `best(pairs, relevant, "RR@10", depth)`, for a measure that depends on the rank of a query's
first relevant doc. No list changes between two neighbouring weights, so one weight stands for the
whole gap. At a boundary itself two docs tie, and a file's rounding would decide.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from residuum.artefacts import trec
from residuum.config import measures

Values = np.ndarray
SPARE = 20  # gaps tried with ties and rounding, as in a run file
DIGITS = 9  # decimals within which sums of values count as equal
SLACK = 1e-5  # above the rounding of scores in a run file
NARROW = 1e-6  # share of a weight; in a narrower gap the rounding of scores hides the gain
GREAT = 1000.0  # times the last change: the weighted part's order, whose ties the rest breaks


def best(pairs: pl.DataFrame, relevant: pl.Series, measure: str, depth: int) -> list[float]:
    """Return one weight from each of the best gaps, then 0 and the great weight.

    `pairs` has query_id, weighted and rest, with the pairs of a query together. A doc's score is
    weight * weighted + rest, and the first `depth` docs of a query count. `relevant` marks relevant
    pairs. The best SPARE gaps have the greatest means, without regard to ties and rounding; of
    equal gaps the widest is first. A gap's weight is its middle. The last gap has no end: its
    weight is the great one, GREAT times the last change. There the weighted part alone orders the
    docs, as these queries ask for, and no nearer weight is any better for them.
    """
    value = of_rank(measure, depth)
    weighted, rest = pairs["weighted"].to_numpy(), pairs["rest"].to_numpy()
    flags = relevant.to_numpy()
    at, change, first = [np.zeros(0)], [np.zeros(0)], 0.0
    for query in spans(pairs):
        starts, values = _steps(weighted[query], rest[query], flags[query], value)
        first += values[0]
        at.append(starts[1:])
        change.append(np.diff(values))
    places, inverse = np.unique(np.concatenate(at), return_inverse=True)
    sums = first + np.cumsum(np.bincount(inverse, np.concatenate(change), len(places)))
    if not len(places):
        return [1.0, 0.0]
    great = GREAT * places[-1]
    lows, highs = np.append(0.0, places), np.append(places, 2 * great)
    totals = np.round(np.append(first, sums), DIGITS)
    wide = np.flatnonzero(highs - lows > NARROW * highs)
    chosen = wide[np.lexsort((lows[wide] - highs[wide], -totals[wide]))][:SPARE]
    middles = np.where(chosen == len(places), great, (lows[chosen] + highs[chosen]) / 2)
    return list(dict.fromkeys([*map(float, middles), 0.0, float(great)]))


def spans(pairs: pl.DataFrame) -> list[slice]:
    """Return the rows of each query, whose pairs are together."""
    ends = pairs["query_id"].rle().struct.field("len").cast(pl.Int64).cum_sum().to_list()
    return [slice(start, end) for start, end in pairwise([0, *ends])]


def of_rank(measure: str, depth: int) -> Callable[[Values], Values]:
    """Return a function from the first relevant doc's rank to a value, which is 0 below `depth`."""
    depth = min(depth, measures.cutoff(measure) or depth)
    hit = measures.is_hit(measure)
    return lambda ranks: np.where(ranks <= depth, 1.0 if hit else 1.0 / ranks, 0.0)


def _steps(
    weighted: Values, rest: Values, relevant: Values, value: Callable[[Values], Values]
) -> tuple[Values, Values]:
    """Return the weights at which a query's value changes, from 0 on, and the value from each on.

    A doc is above a relevant doc p where its w * weighted + rest is the greater. That holds from,
    or up to, the weight (rest_p - rest) / (weighted - weighted_p), or nowhere.
    """
    first = np.zeros(1), np.zeros(1)
    if not relevant.any():
        return first
    curves = [_ranks(weighted - weighted[p], rest[p] - rest) for p in np.flatnonzero(relevant)]
    starts = np.unique(np.concatenate([changes for changes, _ in curves]))
    ranks = [curve[np.searchsorted(at, starts, side="right") - 1] for at, curve in curves]
    values = value(np.minimum.reduce(ranks))
    kept = np.append(True, values[1:] != values[:-1])
    return starts[kept], values[kept]


def _ranks(slope: Values, lead: Values) -> tuple[Values, Values]:
    """Return the weights at which a doc's rank changes, from 0 on, and the rank from each on.

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

    At no weight from 0 on are dropped pairs among the first `depth`, so no doc there loses its
    rank.
    """
    weighted, rest = pairs["weighted"].to_numpy(), pairs["rest"].to_numpy()
    kept = np.ones(pairs.height, dtype=bool)
    for query in spans(pairs):
        order = query.start + np.lexsort((rest[query], -weighted[query]))
        above: list[float] = []  # greatest `rest` of docs with a greater `weighted`
        for row, score in zip(order.tolist(), rest[order].tolist(), strict=True):
            if len(above) < depth:
                heapq.heappush(above, score)
            elif above[0] > score + SLACK:
                kept[row] = False
            else:
                heapq.heappushpop(above, score)
    return pairs.filter(kept)


def contenders(pairs: pl.DataFrame, grid: Sequence[float], k: int) -> pl.DataFrame:
    """Keep the pairs that any weight of the grid brings among the first `k` of their query.

    The pairs of a query are together. Pairs that tie with the k-th stay, and `ranked` breaks the
    ties.
    """
    weighted, rest = pairs["weighted"].to_numpy(), pairs["rest"].to_numpy()
    tried, kept = np.array(grid)[:, None], np.ones(pairs.height, dtype=bool)
    for query in spans(pairs):
        if query.stop - query.start > k:
            scores = tried * weighted[query] + rest[query]
            last = np.partition(scores, -k, axis=1)[:, [-k]]
            near = scores >= last - trec.ROUNDING - np.spacing(np.abs(last)) * 4
            kept[query] = near.any(axis=0)
    return pairs.filter(kept)


def of_folds(
    find: Callable[[Sequence[str]], list[float]],
    query_ids: Sequence[str],
    folds: Mapping[str, int],
) -> list[float]:
    """Return the best weights for all queries; with folds, for the queries outside each fold."""
    if not folds:
        return find(query_ids)
    others = ([q for q in query_ids if folds[q] != n] for n in sorted({*folds.values()}))
    return list(dict.fromkeys(weight for outside in others for weight in find(outside)))

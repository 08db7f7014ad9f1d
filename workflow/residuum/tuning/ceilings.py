"""What a measure is worth by chance, and the most that an order of given docs can reach.

Usage: `chance("RR@10", [1], [1], 8200)`, `ceiling("RR@10", [1], [1])`. Both are of one query. They
say whether data could show an effect (docs/verdicts.md).
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl

from residuum.artefacts import trec
from residuum.config import measures

KINDS = ("hit", "RR", "R", "P", "AP", "nDCG")  # kinds of measures that have formulas
Relevance = Sequence[int]  # levels of a query's docs that are judged 1 or more


class Form(NamedTuple):
    """How a measure counts: the ranks that it reads, the least relevance, the most docs of AP."""

    kind: str
    cutoff: int | None
    level: int
    most: int | None

    def counted(self, relevance: Relevance) -> list[int]:
        """Return the levels that the measure counts as relevant."""
        return [level for level in relevance if level >= self.level]

    def divisor(self, relevant: int) -> int:
        """Return what average precision divides by: BioASQ's by its cutoff at most."""
        return min(relevant, self.most) if self.most else relevant


def of_queries(judged: Mapping[str, Relevance], names: Sequence[str], docs: int) -> pl.DataFrame:
    """Return query_id, measure, chance, ceiling of all judged queries and measures with formulas.

    The orders are those of a corpus with `docs` docs. `judged` has each query's relevant docs: by
    judgements or by answers, as the measures read them.
    """
    return _of_orders(judged, names, {query: (docs, listed) for query, listed in judged.items()})


def of_candidates(
    qrels: pl.DataFrame, names: Sequence[str], candidates: pl.DataFrame
) -> pl.DataFrame:
    """Return the same of the orders of each query's own candidates (query_id, doc_id)."""
    counts = dict(candidates.group_by("query_id").len().iter_rows())
    listed = relevance(qrels.join(candidates.select(trec.PAIR), on=trec.PAIR, how="semi"))
    orders = {query: (count, listed.get(query, [])) for query, count in counts.items()}
    return _of_orders(relevance(qrels), names, orders)


def _of_orders(
    judged: Mapping[str, Relevance],
    names: Sequence[str],
    orders: Mapping[str, tuple[int, Relevance]],
) -> pl.DataFrame:
    """Return the bounds of orders: by query, the number of docs and the relevance of its docs."""
    rows = []
    for query, every in judged.items():
        docs, listed = orders.get(query, (0, []))
        for name in names:
            both = chance(name, listed, every, docs), ceiling(name, listed, every)
            if None not in both:
                rows.append((query, name, *both))
    return pl.DataFrame(rows, schema=trec.BOUNDS, orient="row")


def relevance(qrels: pl.DataFrame) -> dict[str, list[int]]:
    """Return the levels of 1 or more of each judged query, in the order of the ids."""
    relevant = pl.col("relevance").filter(pl.col("relevance") >= 1)
    return dict(qrels.group_by("query_id").agg(relevant).sort("query_id").iter_rows())


def chance(measure: str, listed: Relevance, judged: Relevance, docs: int) -> float | None:
    """Return the expected value of a random order of `docs` docs, or None for other measures.

    `listed` holds the relevance of these docs, and `judged` that of all docs of the query, where it
    is 1 or more. Formulas: the hypergeometric distribution of relevant docs over ranks; for AP the
    chance that a doc before a relevant one is relevant, (relevant - 1) / (docs - 1).
    """
    if (form := form_of(measure)) is None:
        return None
    relevant, every = form.counted(listed), form.counted(judged)
    if not relevant:
        return 0.0
    count, depth = len(relevant), min(form.cutoff or docs, docs)
    if form.kind == "hit":
        return _first(depth, count, docs)[0]
    if form.kind == "RR":
        return _first(depth, count, docs)[1]
    if form.kind == "R":
        return depth / docs * count / len(every)
    if form.kind == "P":
        return count / docs * depth / (form.cutoff or depth)
    if form.kind == "AP":
        others = (count - 1) / (docs - 1) if docs > 1 else 0.0
        precisions = others * depth + (1 - others) * _harmonic(depth)
        return precisions * count / docs / form.divisor(len(every))
    best = _gain(every, form.cutoff or max(docs, len(every)))
    return sum(relevant) / docs * _discounted(depth) / best


def ceiling(measure: str, listed: Relevance, judged: Relevance) -> float | None:
    """Return the value of the best order of listed docs, or None for other measures.

    `listed` holds the relevance of these docs, and `judged` that of all docs of the query, where it
    is 1 or more.
    """
    if (form := form_of(measure)) is None:
        return None
    relevant, every = form.counted(listed), form.counted(judged)
    if not relevant:
        return 0.0
    first = min(len(relevant), form.cutoff or len(relevant))
    if form.kind in ("hit", "RR"):
        return 1.0
    if form.kind == "R":
        return first / len(every)
    if form.kind == "P":
        return first / (form.cutoff or max(len(judged), len(listed)))
    if form.kind == "AP":
        return first / form.divisor(len(every))
    cutoff = form.cutoff or len(every)
    return _gain(relevant, cutoff) / _gain(every, cutoff)


@cache
def form_of(measure: str) -> Form | None:
    """Return how a measure counts, or None for a measure without formulas."""
    name, cutoff = measures.project_measure(measure), measures.cutoff(measure)
    kind: str
    if measures.is_hit(measure):
        kind = "hit"
    elif name == "BioASQ_AP":
        kind = "AP"
    else:
        kind = "" if name else str(measures.parse(measure).NAME)
    level = 1 if kind == "nDCG" else measures.level(measure)
    return Form(kind, cutoff, level, cutoff if name else None) if kind in KINDS else None


@cache
def _first(depth: int, count: int, docs: int) -> tuple[float, float]:
    """Return the chance of a relevant doc in the first `depth` ranks, and the expected RR."""
    ranks = np.arange(depth)
    none = np.cumprod(np.maximum(docs - count - ranks, 0) / (docs - ranks))
    none = np.append(1.0, none)  # probability of no relevant doc in the first ranks
    return float(1 - none[-1]), math.fsum((none[:-1] - none[1:]) / (ranks + 1))


@cache
def _harmonic(depth: int) -> float:
    """Return the sum of 1 / rank."""
    return math.fsum(1 / np.arange(1, depth + 1))


@cache
def _discounted(depth: int) -> float:
    """Return the sum of 1 / log2(rank + 1)."""
    return math.fsum(1 / np.log2(np.arange(2, depth + 2)))


def _gain(relevance: Relevance, cutoff: int) -> float:
    """Return the discounted gain of the best order: trec_eval's, whose gain is the relevance."""
    best = sorted(relevance, reverse=True)[:cutoff]
    return math.fsum(level / math.log2(rank + 1) for rank, level in enumerate(best, 1))

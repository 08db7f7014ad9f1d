"""What a measure is worth by chance, and the most that an order of given docs can reach.

Usage: `chance("RR@10", [1], [1], 8200)`, `ceiling("RR@10", [1], [1])`. Both are of one query. They
say whether data could show an effect (docs/verdicts.md).
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import polars as pl

from residuum.artefacts import trec
from residuum.config import measures


def of_queries(qrels: pl.DataFrame, names: Sequence[str], docs: int) -> pl.DataFrame:
    """Return query_id, measure, chance, ceiling of all judged queries and measures with formulas.

    The orders are those of a corpus with `docs` docs. A measure by answers has no line: judgements
    do not say which docs hold an answer.
    """
    grades = _grades(qrels)
    return _of_orders(qrels, names, {query: (docs, grades.get(query, [])) for query in grades})


def of_candidates(
    qrels: pl.DataFrame, names: Sequence[str], candidates: pl.DataFrame
) -> pl.DataFrame:
    """Return the same of the orders of each query's own candidates (query_id, doc_id)."""
    counts = dict(candidates.group_by("query_id").len().iter_rows())
    listed = _grades(qrels.join(candidates.select(trec.PAIR), on=trec.PAIR, how="semi"))
    orders = {query: (count, listed.get(query, [])) for query, count in counts.items()}
    return _of_orders(qrels, names, orders)


def _of_orders(
    qrels: pl.DataFrame, names: Sequence[str], orders: Mapping[str, tuple[int, list[int]]]
) -> pl.DataFrame:
    """Return the bounds of orders: by query, the number of docs and the grades of relevant ones."""
    every, rows = _grades(qrels), []
    judged = [name for name in names if measures.reads(name) == "judgements"]
    for query, grades in every.items():
        docs, listed = orders.get(query, (0, []))
        for name in judged:
            both = chance(name, listed, grades, docs), ceiling(name, listed, grades)
            if None not in both:
                rows.append((query, name, *both))
    return pl.DataFrame(rows, schema=trec.BOUNDS, orient="row")


def _grades(qrels: pl.DataFrame) -> dict[str, list[int]]:
    """Return the grades of 1 or more of each judged query, in the order of the ids."""
    relevant = pl.col("relevance").filter(pl.col("relevance") >= 1)
    return dict(qrels.group_by("query_id").agg(relevant).sort("query_id").iter_rows())


def chance(measure: str, listed: Sequence[int], grades: Sequence[int], docs: int) -> float | None:
    """Return the expected value of a random order of `docs` docs, or None for other measures.

    `listed` holds the relevance of the docs among these that are judged 1 or more, and `grades`
    that of all such docs of the query. Formulas: the hypergeometric distribution of relevant docs
    over ranks; for AP the chance that a doc before a relevant one is relevant,
    (relevant - 1) / (docs - 1).
    """
    kind, depth, relevant = _read(measure, listed, docs)
    every = _read(measure, grades, docs)[2]
    count = len(relevant)
    if not count:
        return None if kind is None else 0.0
    if kind in ("hit", "RR"):
        none = [1.0]  # probability of no relevant doc in the first ranks
        for rank in range(depth):
            none.append(none[-1] * max(docs - count - rank, 0) / (docs - rank))
        if kind == "hit":
            return 1 - none[-1]
        return math.fsum((one - two) / rank for rank, (one, two) in enumerate(pairwise(none), 1))
    if kind == "R":
        return depth / docs * count / len(every)
    if kind == "P":
        return count / docs * depth / (measures.cutoff(measure) or depth)
    if kind == "AP":
        others = (count - 1) / (docs - 1) if docs > 1 else 0.0
        precisions = math.fsum((1 + rank * others) / (rank + 1) for rank in range(depth))
        return precisions * count / docs / _most_counted(measure, len(every))
    if kind == "nDCG":
        discounts = math.fsum(_discounts(depth))
        best = _gain(every, measures.cutoff(measure) or max(docs, len(every)))
        return sum(relevant) / docs * discounts / best
    return None


def ceiling(measure: str, listed: Sequence[int], grades: Sequence[int]) -> float | None:
    """Return the value of the best order of listed docs, or None for other measures.

    `listed` holds the relevance of the listed docs that are judged 1 or more, and `grades` that of
    all such docs of the query.
    """
    kind, depth, relevant = _read(measure, grades, max(len(grades), len(listed)))
    shown = _read(measure, listed, len(listed))[2]
    if not relevant or not shown:
        return None if kind is None else 0.0
    first = min(len(shown), measures.cutoff(measure) or len(shown))
    if kind in ("hit", "RR"):
        return 1.0
    if kind == "R":
        return first / len(relevant)
    if kind == "P":
        return first / (measures.cutoff(measure) or depth)
    if kind == "AP":
        return first / _most_counted(measure, len(relevant))
    if kind == "nDCG":
        cutoff = measures.cutoff(measure) or len(grades)
        return _gain(shown, cutoff) / _gain(relevant, cutoff)
    return None


def _read(measure: str, grades: Sequence[int], docs: int) -> tuple[str | None, int, list[int]]:
    """Return a measure's kind, the ranks that it reads, and the grades that count for it."""
    depth = min(measures.cutoff(measure) or docs, docs)
    name = measures.project_measure(measure)
    if measures.is_hit(measure):
        kind: str | None = "hit"
    elif name == "BioASQ_AP":
        kind = "AP"
    else:
        kind = None if name else measures.parse(measure).NAME
    level = 1 if kind == "nDCG" else measures.level(measure)
    known = kind in ("hit", "RR", "R", "P", "AP", "nDCG")
    return kind if known else None, depth, [grade for grade in grades if grade >= level]


def _most_counted(measure: str, relevant: int) -> int:
    """Return the divisor of average precision: BioASQ's counts as many docs as its cutoff."""
    most = measures.cutoff(measure) if measures.project_measure(measure) else None
    return min(relevant, most) if most else relevant


def _discounts(depth: int) -> list[float]:
    return [1 / math.log2(rank + 1) for rank in range(1, depth + 1)]


def _gain(grades: Sequence[int], cutoff: int) -> float:
    """Return the discounted gain of the best order: trec_eval's, whose gain is the grade."""
    best = sorted(grades, reverse=True)[:cutoff]
    return math.fsum(map(math.prod, zip(best, _discounts(len(best)), strict=True)))

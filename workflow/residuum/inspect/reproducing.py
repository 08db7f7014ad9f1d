"""Runs against the original run that they reproduce: values per query and rankings.

Usage: `rows = against(tests, scores, runs)`, then `page(rows)`. The comparisons are
those of `residuum.inspect.comparing`. Must not know files, nor how the tests were made.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from residuum.config import measures
from residuum.pages.layout import Layout, TextCell
from residuum.paired import Comparison, ScoreMatrix, reproduction
from residuum.paired.comparisons import digits

Orders = dict[str, list[str]]  # docs of a query, in their order


@dataclass(frozen=True)
class Reproduction(Comparison):
    """A comparison whose b is the original run: docs/statistics.md says what each column means."""

    rmse: float
    depth: int | None  # down to which rankings are compared: as far as the measure looks
    tau_union: float | None
    rbo: float


def against(
    tests: Sequence[Comparison],
    scores: Mapping[tuple[str, str], ScoreMatrix],
    runs: Mapping[str, pl.DataFrame],
) -> list[Reproduction]:
    """Return the comparisons, b the original, with what shows how close a is to it.

    Rankings are compared per query, as far down as the measure looks; means over the queries.
    """
    taus: dict[tuple[str, int | None], tuple[float | None, float]] = {}
    rows = []
    for test in tests:
        depth = measures.cutoff(test.measure)
        queries = scores[test.b, test.measure].query_ids
        if (test.a, depth) not in taus:
            first, own = (_orders(runs[name], depth) for name in (test.b, test.a))
            taus[test.a, depth] = _rankings(first, own, queries)
        values = (scores[name, test.measure].values[:, 0] for name in (test.b, test.a))
        tau, rbo = taus[test.a, depth]
        error = reproduction.rmse(*values)
        rows.append(Reproduction(**vars(test), rmse=error, depth=depth, tau_union=tau, rbo=rbo))
    return rows


def _orders(run: pl.DataFrame, depth: int | None) -> Orders:
    kept = run if depth is None else run.filter(pl.col("rank") <= depth)
    lists = kept.sort("query_id", "rank").group_by("query_id", maintain_order=True).agg("doc_id")
    return dict(lists.iter_rows())


def _rankings(original: Orders, own: Orders, queries: Sequence[str]) -> tuple[float | None, float]:
    """Return the means over queries of Kendall's tau union, where defined, and of RBO."""
    pairs = [(original.get(query, []), own.get(query, [])) for query in queries]
    taus = [tau for pair in pairs if (tau := reproduction.kendall_tau_union(*pair)) is not None]
    overlaps = [reproduction.rank_biased_overlap(*pair) for pair in pairs]
    tau = digits(math.fsum(taus) / len(taus)) if taus else None
    return tau, digits(math.fsum(overlaps) / len(overlaps))


def page(rows: Sequence[Reproduction]) -> Layout:
    """Lay out a line per measure and run: means, their difference and its p, RMSE, rankings."""
    header = ["Measure", "Run", "original", "run", "difference", "p\nadjusted", "RMSE"]
    header += ["Kendall's\ntau union", "RBO", "down to\nrank"]
    lines = []
    for row in rows:
        values = [
            f"{row.mean_b:.4f}",
            f"{row.mean_a:.4f}",
            f"{row.difference:+.4f}",
            f"{row.p_adjusted:.2g}",
            f"{row.rmse:.4f}",
            "" if row.tau_union is None else f"{row.tau_union:.3f}",
            f"{row.rbo:.3f}",
            str(row.depth or "last"),
        ]
        lines.append(list(map(TextCell, [row.measure, row.a, *values])))
    remarks = [
        f"Original: {rows[0].b}. RMSE: root mean square error of the values per query; Kendall's "
        "tau of the union of both rankings and rank-biased overlap (persistence "
        f"{reproduction.PERSISTENCE}), as far down as the measure looks: 1 where they agree, means "
        "over queries. A small p says that the runs differ; a large one does not say that they "
        "agree."
    ]
    align = "ll" + "r" * 8
    return Layout("Reproduction", "Breuer et al., SIGIR 2020", header, lines, remarks, align)

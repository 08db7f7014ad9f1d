"""BioASQ's measures of retrieved docs since its eighth edition (task B, phase A).

Usage: `average_precision(run, qrels, ["BioASQ_AP@10"])`. At most k docs of a list count. Gold is
binary: relevance 1 and above; gold docs that the corpus lacks count as missed. A question without a
list counts 0; the organisers' script leaves it out of the mean. Source: BioASQ's
Evaluation-Measures, `QuestionAnswerEvaluator` with `-e 8`.
"""

import math
from collections.abc import Callable, Sequence

import polars as pl

from residuum.artefacts import trec
from residuum.config import measures

LEAST = 1e-5  # added to each value of a geometric mean, so that a single 0 does not make it 0


def _of(value: pl.Expr) -> Callable[..., pl.DataFrame]:
    """Return the function of a measure, given its expression of a question's counts."""

    def values(run: pl.DataFrame, qrels: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Return query_id, measure, value for all judged queries, in the order of their ids."""
        relevant = qrels.filter(pl.col("relevance") >= 1).select(trec.PAIR).unique()
        marked = run.join(relevant.with_columns(hit=True), on=trec.PAIR, how="left")
        gold = relevant.group_by("query_id").agg(gold=pl.len())
        queries = qrels.select("query_id").unique().sort("query_id")
        queries = queries.join(gold, on="query_id", how="left", maintain_order="left")
        return pl.concat(
            _counted(queries, marked, name).select(
                "query_id", measure=pl.lit(name), value=value.fill_nan(0.0).fill_null(0.0)
            )
            for name in names
        )

    return values


def _counted(queries: pl.DataFrame, marked: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the queries with their counts of docs by a measure's cutoff.

    The columns are returned, hits, gold, most (docs that can be hits), and precisions, the sum of
    the precision at each hit.
    """
    cutoff = measures.cutoff(name)
    first = marked.filter(pl.col("rank") <= cutoff).sort("query_id", "rank")
    hit = pl.col("hit").is_not_null()
    counts = first.group_by("query_id").agg(
        returned=pl.len(),
        hits=hit.sum(),
        precisions=(hit.cum_sum() / pl.col("rank")).filter(hit).sum(),
    )
    joined = queries.join(counts, on="query_id", how="left", maintain_order="left").fill_null(0)
    return joined.with_columns(most=pl.col("gold").clip(upper_bound=cutoff))


def geometric(values: Sequence[float]) -> float:
    """Return the geometric mean of values, with 1e-5 added to each value."""
    return math.exp(math.fsum(math.log(value + LEAST) for value in values) / len(values))


PRECISION = pl.col("hits") / pl.col("returned")
RECALL = pl.col("hits") / pl.col("gold")
average_precision = _of(pl.col("precisions") / pl.col("most"))
AP = measures.Own("BioASQ's average precision", average_precision)
GMAP = measures.Own("BioASQ's geometric mean average precision", average_precision)
P = measures.Own("BioASQ's precision over the docs returned", _of(PRECISION))
R = measures.Own("BioASQ's recall", _of(RECALL))
F1 = measures.Own(
    "BioASQ's F1 of precision and recall", _of(2 * PRECISION * RECALL / (PRECISION + RECALL))
)

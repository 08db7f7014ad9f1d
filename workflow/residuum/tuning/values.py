"""Values of a measure for many rankings of the same queries, each distinct ranking evaluated once.

Usage: `values = of_rankings(runs, qrels, "RR@10")`. A value depends on the ranks of the judged docs
and on the length of the list alone, so that neighbouring settings mostly share it.
Must not know how the rankings came about.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from residuum.artefacts.trec import PAIR
from residuum.evaluate import evaluate
from residuum.tuning.choosing import Values


def of_rankings(runs: Sequence[pl.DataFrame], qrels: pl.DataFrame, measure: str) -> Values:
    """Return the values, shape (runs, queries), queries in the order of their sorted ids.

    Each run has query_id, doc_id and rank, no deeper than the measure looks.
    """
    stacked = pl.concat(run.select(*PAIR, "rank", run=pl.lit(n)) for n, run in enumerate(runs))
    query_ids = qrels["query_id"].unique().sort()
    lists = pl.DataFrame({"run": range(len(runs))}).join(query_ids.to_frame(), how="cross")
    lengths = stacked.group_by("run", "query_id").agg(pl.len().alias("length"))
    judged = stacked.join(qrels, on=PAIR).sort("run", "query_id", "rank")
    ranks = judged.group_by("run", "query_id").agg("rank", "doc_id")
    for known in (lengths, ranks):
        lists = lists.join(known, on=["run", "query_id"], how="left", maintain_order="left")
    lists = lists.with_columns(
        same=pl.struct("query_id", "length", "rank", "doc_id").rank("dense").cast(pl.String)
    )
    distinct = lists.unique("same", keep="first").select("run", "query_id", "same")
    again = stacked.join(distinct, on=["run", "query_id"]).drop("query_id")
    asked = qrels.join(distinct, on="query_id").drop("query_id")
    found = evaluate(
        again.rename({"same": "query_id"}), asked.rename({"same": "query_id"}), [measure]
    )
    values = lists.join(found, left_on="same", right_on="query_id", maintain_order="left")
    return np.reshape(values["value"].to_numpy(), (len(runs), len(query_ids)))

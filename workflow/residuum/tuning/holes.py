"""Holes@k: the share of unjudged docs among the first k, which says how far a value can be trusted.

Usage: `holes(run, qrels, ["Holes@10"])`. Source: Xiong et al. 2021 (ANCE), as printed by Luan et
al. 2021 (ME-BERT), Table 2.
"""

from collections.abc import Sequence

import polars as pl

from residuum.artefacts import trec
from residuum.config import measures


def holes(run: pl.DataFrame, qrels: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return query_id, measure, value for all judged queries, in the order of their ids.

    A value is a share of the first k docs, or of all docs of a shorter list; without a list it is
    0.
    """
    queries = qrels.select("query_id").unique().sort("query_id")
    known = qrels.select(*trec.PAIR, judged=pl.lit(True)).unique()
    marked = run.join(known, on=trec.PAIR, how="left")
    parts = []
    for name in names:
        first = marked.filter(pl.col("rank") <= measures.cutoff(name))
        share = first.group_by("query_id").agg(value=pl.col("judged").is_null().mean())
        value = queries.join(share, on="query_id", how="left", maintain_order="left")
        parts.append(value.select("query_id", measure=pl.lit(name), value=pl.col("value")))
    return pl.concat(parts).with_columns(pl.col("value").fill_null(0.0))


HOLES = measures.Own("Share of the first docs that nobody judged", holes)

"""Candidates of a first stage at every depth: their reranked lists, measures, and best depth.

Usage: `listed = candidates(run, depth, scored, scores)`, then `measured(listed, qrels, depths,
measures)` on each split, `best_depth(sweep, ...)` on the tuning split, and `with_scores(listed,
depth)`: no model, no output. Must not know what scored the pairs.
"""

import re
from math import fsum
from pathlib import Path
from typing import Any

import polars as pl

from residuum.core import depth_curves, trec
from residuum.core.errors import ResiduumError
from residuum.core.measures import cutoff
from residuum.core.schema.systems import Depth
from residuum.core.trec import PAIR
from residuum.evaluate import evaluate

CANDIDATE_RECALL = re.compile(r"R(?:\(rel=(\d+)\))?")


def top(run: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return the docs of a run down to a rank."""
    return run.filter(pl.col("rank") <= depth)


def candidates(path: Path, depth: int, scored: pl.DataFrame, scores: Path) -> pl.DataFrame:
    """Return a run with the scores of its top `depth` docs in place of its own, best first.

    Columns query_id, doc_id, rank (in the first stage), score (null below the depth); ties go
    by doc_id. Raises ResiduumError if a doc of the top has no score.
    """
    run = trec.read_run(path).drop("score")
    joined = run.join(scored.select(*PAIR, "score"), on=PAIR, how="left").with_columns(
        pl.when(pl.col("rank") <= depth).then("score")
    )
    lacking = top(joined, depth).filter(pl.col("score").is_null())
    if lacking.height:
        query_id, doc_id = lacking.sort("query_id", "rank").row(0)[:2]
        raise ResiduumError(
            f"{scores}: no score for query {query_id}, doc {doc_id}, which {path} has above rank "
            f"{depth + 1} ({lacking.height} pairs lack one). Delete the scores and run again."
        )
    return joined.sort("query_id", "score", "doc_id", descending=[False, True, False])


def reranked(listed: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return what `candidates` gave with the ranks that reranking the top `depth` docs gives."""
    place = pl.int_range(pl.len()).over("query_id") + 1
    rest = listed.filter(pl.col("rank") > depth)
    return pl.concat([top(listed, depth).with_columns(place.alias("rank")), rest])


def measured(
    listed: pl.DataFrame, qrels: pl.DataFrame, depths: list[int], asked: list[str]
) -> pl.DataFrame:
    """Return depth, query_id, measure, value for every judged query at depth 0 and the others.

    Beside the measures there are `recall`, the share of the relevant docs among the top `depth`,
    and `pairs`, the docs reranked.
    """
    level, measures = _parted(asked)
    last = _last_rank(measures)
    tables: list[pl.DataFrame] = []
    for depth in sorted({0, *depths}):
        ranks = reranked(listed, depth)
        seen = ranks if last is None else top(ranks, last)
        found = [evaluate(seen, qrels, measures)] if measures else []
        found += _sizes(top(listed, depth), qrels, level)
        tables += [table.with_columns(depth=pl.lit(depth, pl.Int64)) for table in found]
    return pl.concat(tables)


def _parted(measures: list[str]) -> tuple[int, list[str]]:
    """Split off the recall of candidates; return its relevance level and the other measures."""
    recalls = [found for name in measures if (found := CANDIDATE_RECALL.fullmatch(name))]
    levels = {int(found[1] or 1) for found in recalls} or {1}
    if len(levels) > 1:
        raise ResiduumError(f"--spec: measures: candidate recall at one level, found {levels}")
    others = [name for name in measures if not CANDIDATE_RECALL.fullmatch(name)]
    return levels.pop(), list(dict.fromkeys(others))


def _last_rank(measures: list[str]) -> int | None:
    """Return the rank below which no measure looks; None if one looks at everything."""
    cutoffs = [cutoff(name) for name in measures]
    return max((depth for depth in cutoffs if depth), default=1) if all(cutoffs) else None


def _sizes(listed: pl.DataFrame, qrels: pl.DataFrame, level: int) -> list[pl.DataFrame]:
    relevant = qrels.filter(pl.col("relevance") >= level)
    hits = listed.join(relevant, on=PAIR, how="semi").group_by("query_id").len("hits")
    counts = relevant.group_by("query_id").len("relevant")
    lengths = listed.group_by("query_id").len("pairs")
    table = qrels.select("query_id").unique().sort("query_id")
    for known in (hits, counts, lengths):
        table = table.join(known, on="query_id", how="left", maintain_order="left")
    recall = (pl.col("hits") / pl.col("relevant")).fill_null(0.0)
    columns = {
        depth_curves.RECALL: recall,
        depth_curves.PAIRS: pl.col("pairs").fill_null(0).cast(pl.Float64),
    }
    return [
        table.select("query_id", pl.lit(name).alias("measure"), value.alias("value"))
        for name, value in columns.items()
    ]


def best_depth(sweep: pl.DataFrame, name: str, depth: Depth, source: Path) -> dict[str, Any]:
    """Return the depth of the grid with the best mean, and the means that were compared."""
    own = sweep.filter((pl.col("run") == name) & (pl.col("measure") == depth.measure))
    tried = []
    for point in sorted(set(depth.grid)):
        values = own.filter(pl.col("depth") == point)["value"].to_list()
        if not values:
            raise ResiduumError(f"{source}: no {depth.measure} of {name} at depth {point}")
        tried.append({"depth": point, "value": fsum(values) / len(values)})
    best = max(tried, key=lambda entry: entry["value"])
    return {
        "depth": best["depth"],
        "at_edge": best["depth"] in (tried[0]["depth"], tried[-1]["depth"]),
        "measure": depth.measure,
        "tried": tried,
        "queries": own["query_id"].n_unique(),
    }


def with_scores(listed: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return the reranked run: query_id, doc_id, rank, score.

    The top has the reranker's scores. Below it the first stage's order stands, in scores that
    fall by 1 from rank to rank, the first of them 1 below the lowest of the top.
    """
    lowest = pl.col("score").min().over("query_id")
    below = lowest - (pl.col("rank") - depth)
    return trec.rank(listed.with_columns(pl.coalesce("score", below).alias("score")))

"""Candidates of a first stage at every depth: their reranked lists, measures, and best depth.

Usage: `listed = candidates(run, depth, scored, scores)`, then `measured(listed, qrels, depths,
measures)` on each split, `best_depth(curve, ...)` on the tuning split, and `with_scores(listed,
depth)`: no model, no output. Must not know what scored the pairs.
"""

import re
from pathlib import Path

import numpy as np
import polars as pl

from residuum.artefacts import trec
from residuum.artefacts.trec import PAIR
from residuum.cli.errors import ResiduumError
from residuum.config.measures import cutoff
from residuum.config.schema.systems import Depth
from residuum.evaluate import evaluate
from residuum.tuning.choosing import choose
from residuum.tuning.record import Record

CANDIDATE_RECALL = re.compile(r"R(?:\(rel=(\d+)\))?")


def candidates(path: Path, depth: int, scored: pl.DataFrame, scores: Path) -> pl.DataFrame:
    """Return a run with the scores of its top `depth` docs in place of its own, best first.

    Columns query_id, doc_id, rank (in the first stage), score (null below the depth); ties go
    by doc_id. Raises ResiduumError if a doc of the top has no score.
    """
    run = trec.read_run(path).drop("score")
    joined = run.join(scored.select(*PAIR, "score"), on=PAIR, how="left").with_columns(
        pl.when(pl.col("rank") <= depth).then("score")
    )
    lacking = trec.cut(joined, depth).filter(pl.col("score").is_null())
    if lacking.height:
        query_id, doc_id = lacking.sort("query_id", "rank").row(0)[:2]
        raise ResiduumError(
            f"{scores}: no score for query {query_id}, doc {doc_id}, which {path} has above rank "
            f"{depth + 1} ({lacking.height} pairs lack one). Delete the scores and run again."
        )
    return joined.sort("query_id", "score", "doc_id", descending=[False, True, False])


def reranked(listed: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return what `candidates` gave with the ranks that reranking the top `depth` docs gives."""
    rank = pl.int_range(pl.len()).over("query_id") + 1
    rest = listed.filter(pl.col("rank") > depth)
    return pl.concat([trec.cut(listed, depth).with_columns(rank.alias("rank")), rest])


def measured(
    listed: pl.DataFrame, qrels: pl.DataFrame, depths: list[int], asked: list[str]
) -> pl.DataFrame:
    """Return depth, query_id, measure, value for every judged query at depth 0 and the others.

    Beside the measures there are `recall`, the share of the relevant docs among the top `depth`,
    and `docs_reranked`.
    """
    level, measures = _parted(asked)
    last = _last_rank(measures)
    tables: list[pl.DataFrame] = []
    for depth in sorted({0, *depths}):
        ranks = reranked(listed, depth)
        seen = ranks if last is None else trec.cut(ranks, last)
        found = [evaluate(seen, qrels, measures)] if measures else []
        found += _sizes(trec.cut(listed, depth), qrels, level)
        tables += [table.with_columns(depth=pl.lit(depth, pl.Int64)) for table in found]
    return pl.concat(tables)


def _parted(measures: list[str]) -> tuple[int, list[str]]:
    """Split off the recall of candidates; return its relevance level and the other measures."""
    recalls = [match for name in measures if (match := CANDIDATE_RECALL.fullmatch(name))]
    levels = {int(match[1] or 1) for match in recalls} or {1}
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
    lengths = listed.group_by("query_id").len("reranked")
    table = qrels.select("query_id").unique().sort("query_id")
    for known in (hits, counts, lengths):
        table = table.join(known, on="query_id", how="left", maintain_order="left")
    recall = (pl.col("hits") / pl.col("relevant")).fill_null(0.0)
    columns = {
        trec.RECALL: recall,
        trec.DOCS_RERANKED: pl.col("reranked").fill_null(0).cast(pl.Float64),
    }
    return [
        table.select("query_id", pl.lit(name).alias("measure"), value.alias("value"))
        for name, value in columns.items()
    ]


def best_depth(curve: pl.DataFrame, name: str, depth: Depth, source: Path) -> Record:
    """Return the record of the depth of a run that is chosen from a grid."""
    measure = str(depth.measure)
    own = curve.filter((pl.col("run") == name) & (pl.col("measure") == measure))
    values = {tried: own.filter(pl.col("depth") == tried) for tried in depth.grid or []}
    for tried, rows in values.items():
        if rows.is_empty():
            raise ResiduumError(f"{source}: no {measure} of {name} at depth {tried}")
    table = np.array([rows["value"].to_numpy() for rows in values.values()])
    query_ids = next(iter(values.values()))["query_id"].to_list()
    return choose([{"depth": tried} for tried in values], table, query_ids, measure)


def with_scores(listed: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return the reranked run: query_id, doc_id, rank, score.

    The top has the reranker's scores. Below it the first stage's order stands, in scores that
    fall by 1 from rank to rank, the first of them 1 below the lowest of the top.
    """
    lowest = pl.col("score").min().over("query_id")
    below = lowest - (pl.col("rank") - depth)
    return trec.rank(listed.with_columns(pl.coalesce("score", below).alias("score")))

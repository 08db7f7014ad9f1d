"""For how many queries the first docs of a union of lists are provably those of an exact search.

Usage: `proof = Proof(system, weights, ["bm25=1000", "dense=1000"])`, `proof.add(run, most)` for
some queries at a time, `proof.facts()`. Source: where the threshold algorithm of Fagin et al. (PODS
2001) stops. Exact are the scores: a doc of no list may tie with the last, and a file's order by
doc_id would then take it.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from residuum.artefacts import trec
from residuum.artefacts.proven import PROVEN
from residuum.cli import command
from residuum.config.schema.systems import FusionSystem

FIRST = 10  # docs that are looked at, beside all that a run keeps
STEP = 10.0**-trec.SCORE_DECIMALS  # of scores in a run file, each of which lies within half of it


def most_outside(hits: np.ndarray, last: np.ndarray, requested: int) -> np.ndarray:
    """Return the most that a doc outside a part's lists may score, and a step for rounding.

    `hits` are the docs in the lists of some queries, `last` the scores that these end with. What a
    list shorter than requested lacks shares no term with the query and scores 0; a dense one then
    lacks nothing. The step covers what rounding took from that score, and what it gave to the part
    of a fused score.
    """
    return np.where(hits < requested, np.minimum(last, 0.0), last) + STEP


class Proof:
    """How many queries of a fusion were looked at, and of how many the first docs are proven."""

    def __init__(self, system: FusionSystem, weights: Sequence[float], requested: list[str]):
        """Take all weights in use, and PART=K of each part: its lists are the best K of all docs.

        `requested` is empty where there is nothing to prove: without those, with a part that gives
        no true score, or with a weight below 0.
        """
        true = all(system.rule(part) == "true_score" for part in system.parts)
        factors = [*weights, *system.interpolation.others.values()]
        given = command.named_counts("--requested", requested, system.parts) if requested else {}
        self.requested = given if true and min(factors) >= 0 else {}
        self._queries, self._proven = 0, dict.fromkeys([min(FIRST, system.k), system.k], 0)

    def add(self, run: pl.DataFrame, most: pl.DataFrame) -> None:
        """Count some queries by their lists and by query_id, score: the most of a doc of no list.

        Proven are the first docs of a list that has so many, if the last of them scores no less.
        """
        self._queries += most.height
        for depth in self._proven:
            ends = run.filter(rank=depth).select("query_id", last="score")
            reached = pl.col("last") - STEP >= pl.col("score")
            self._proven[depth] += most.join(ends, on="query_id").filter(reached).height

    def facts(self) -> dict[str, object]:
        """Return what a manifest has of it: the share of the queries, by the number of docs."""
        if not self.requested or not self._queries:
            return {}
        return {PROVEN: {str(n): count / self._queries for n, count in self._proven.items()}}

"""Counts queries whose first docs in a union of lists are provably an exact search's.

Usage: `proof = Proof(system, weights, ["bm25=1000", "dense=1000"])`, `proof.add(run, most)` for
some queries at a time, `proof.facts()`. Source: the stopping rule of the threshold algorithm of
Fagin et al. (PODS 2001). The proof is of scores. A doc of no list may tie with the last doc, and a
file's order by doc_id would then prefer it.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from residuum.artefacts import trec
from residuum.artefacts.proven import PROVEN
from residuum.cli import command
from residuum.config.schema.systems import FusionSystem

FIRST = 10  # docs that are checked, beside all docs of a run
STEP = 10.0**-trec.SCORE_DECIMALS  # of scores in a run file, each rounded by at most half of it


def most_outside(hits: np.ndarray, last: np.ndarray, requested: int) -> np.ndarray:
    """Return the most that a doc outside a part's lists may score, plus a step for rounding.

    `hits` are the numbers of docs in each query's list, `last` the lists' last scores. A doc
    missing from a list that is shorter than requested shares no term with the query, and scores 0.
    A dense list that is shorter lacks no doc. The step covers the rounding of the last score, and
    of the part's share of a fused score.
    """
    return np.where(hits < requested, np.minimum(last, 0.0), last) + STEP


class Proof:
    """Counts the queries of a fusion, and those whose first docs are proven."""

    def __init__(self, system: FusionSystem, weights: Sequence[float], requested: list[str]):
        """Take all weights in use, and PART=K for each part, whose list is the best K docs of all.

        `requested` becomes empty where nothing can be proved: if it is empty, if a part gives no
        true scores, with a weight below 0, or where scores are not added as they are.
        """
        true = all(system.rule(part) == "true_score" for part in system.parts)
        factors = [*weights, *system.interpolation.others.values()]
        given = command.named_counts("--requested", requested, system.parts) if requested else {}
        self.requested = given if true and system.plain and min(factors) >= 0 else {}
        self._queries, self._proven = 0, dict.fromkeys([min(FIRST, system.k), system.k], 0)

    def add(self, run: pl.DataFrame, most: pl.DataFrame) -> None:
        """Count queries, given lists and `most`: query_id, and the best score of docs in no list.

        The first docs of a list are proven if the list has so many, and the last of them scores no
        less.
        """
        self._queries += most.height
        for depth in self._proven:
            ends = run.filter(rank=depth).select("query_id", last="score")
            reached = pl.col("last") - STEP >= pl.col("score")
            self._proven[depth] += most.join(ends, on="query_id").filter(reached).height

    def facts(self) -> dict[str, object]:
        """Return what a manifest records: the share of proven queries, by number of first docs."""
        if not self.requested or not self._queries:
            return {}
        return {PROVEN: {str(n): count / self._queries for n, count in self._proven.items()}}

"""Residual collections: what an earlier round judged for a query leaves its list before the cut.

Usage: search `k + residual.most` deep with `residual = Residual(paths)`, then
`trec.rank(residual.left(hits), k)`. The collection, its statistics and the docs that feed a query
back stay whole: runs of TREC-COVID searched all docs, and NIST took what was judged out of what was
sent in (Voorhees et al., SIGIR Forum 2020).
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from residuum.artefacts import manifest, trec
from residuum.cli.errors import ResiduumError

REMOVED = "judged_before"  # in the manifest of an external run and of its metrics


class Residual:
    """The pairs of query and doc that earlier rounds judged, whatever their relevance."""

    def __init__(self, qrels: Sequence[Path] | None) -> None:
        """Read the qrels of earlier rounds; without any, nothing is left out."""
        self.paths = list(qrels or [])
        pairs = [trec.read_qrels(path).select(*trec.PAIR) for path in self.paths]
        empty = pl.DataFrame(schema=dict.fromkeys(trec.PAIR, pl.String))
        self.pairs = pl.concat([empty, *pairs]).unique()

    @property
    def most(self) -> int:
        """The most docs that leave the list of a query: so much deeper its search has to go."""
        return max(self.pairs.group_by("query_id").len()["len"], default=0)

    def left(self, hits: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of hits, in their order, whose docs were not judged before."""
        if self.pairs.is_empty():
            return hits
        return hits.join(self.pairs, on=trec.PAIR, how="anti", maintain_order="left")

    def check(self, qrels: Iterable[tuple[str, str, int]], where: str) -> None:
        """Refuse judgements of a pair that was judged before: its doc is in no run."""
        before = set(self.pairs.iter_rows())
        if twice := [pair for *pair, _ in qrels if tuple(pair) in before]:
            query_id, doc_id = twice[0]
            named = ", ".join(map(str, self.paths))
            raise ResiduumError(
                f"{where}: query {query_id}, doc {doc_id} is judged in {named} too ({len(twice)} "
                "such pairs), and docs judged there leave every run. Use the judgements of this "
                "round alone, or drop residual_of."
            )


def removed(artefact: Path) -> int | None:
    """Return how many lines were taken out of an external run, by its or its metrics' manifest.

    None where nothing was to be taken out.
    """
    count = manifest.facts_of(artefact).get(REMOVED)
    return None if count is None else int(count)

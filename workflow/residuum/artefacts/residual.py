"""Residual collections: remove docs that earlier rounds judged, or the query itself, from a list.

Usage: search `k + residual.most` deep with `residual = Residual(paths)`, then
`trec.rank(residual.left(hits), k)`. The collection, its statistics and the feedback docs of RM3
stay complete. TREC-COVID's runs searched all docs, and NIST removed judged docs from submissions
(Voorhees et al., SIGIR Forum 2020). BEIR's evaluation and Pyserini's `--remove-query` drop the doc
with the query's own id: in ArguAna and Quora each query is a doc, too.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from residuum.artefacts import manifest, trec
from residuum.cli.errors import ResiduumError

REMOVED = "judged_before"  # key in the manifests of an external run and its metrics


class Residual:
    """The (query, doc) pairs to remove: those that earlier rounds judged, or a query and itself."""

    def __init__(self, paths: Sequence[Path] | None) -> None:
        """Read the pairs of qrels of earlier rounds, with any relevance, and of queries.

        A file of queries (.tsv) gives each query with the doc of its own id. Without files, nothing
        is removed.
        """
        self.paths = list(paths or [])
        pairs = [_pairs(path) for path in self.paths]
        empty = pl.DataFrame(schema=dict.fromkeys(trec.PAIR, pl.String))
        self.pairs = pl.concat([empty, *pairs]).unique()

    @property
    def most(self) -> int:
        """The most docs removed for any query, by which a search has to be deeper."""
        return max(self.pairs.group_by("query_id").len()["len"], default=0)

    def left(self, hits: pl.DataFrame) -> pl.DataFrame:
        """Return the hits, in order, whose docs were not judged before."""
        if self.pairs.is_empty():
            return hits
        return hits.join(self.pairs, on=trec.PAIR, how="anti", maintain_order="left")

    def check(self, qrels: Iterable[tuple[str, str, int]], where: str) -> None:
        """Refuse judgements of pairs that were judged before, as no run can hold these docs."""
        before = set(self.pairs.iter_rows())
        if twice := [pair for *pair, _ in qrels if tuple(pair) in before]:
            query_id, doc_id = twice[0]
            named = ", ".join(map(str, self.paths))
            raise ResiduumError(
                f"{where}: query {query_id}, doc {doc_id} is judged in {named} too ({len(twice)} "
                "such pairs), and docs judged there leave every run. Use the judgements of this "
                "round alone, or drop residual_of."
            )


def _pairs(path: Path) -> pl.DataFrame:
    """Return query_id and doc_id of the pairs of a file of qrels or of queries."""
    if path.suffix != ".tsv":
        return trec.read_qrels(path).select(*trec.PAIR)
    ids = list(trec.read_queries(path))
    return pl.DataFrame(dict.fromkeys(trec.PAIR, ids), schema=dict.fromkeys(trec.PAIR, pl.String))


def removed(artefact: Path) -> int | None:
    """Return the number of lines removed from an external run, from its or its metrics' manifest.

    The result is None if the split has no earlier rounds.
    """
    count = manifest.facts_of(artefact).get(REMOVED)
    return None if count is None else int(count)

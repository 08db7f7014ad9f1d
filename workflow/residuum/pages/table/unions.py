"""Notes on a page's fusions: how often the union of their lists is provably exact.

Usage: `captions += notes(job, metrics)`.
"""

from collections.abc import Iterator
from pathlib import Path

from residuum.artefacts import proven
from residuum.pages.table.job import BoundTable


def notes(job: BoundTable, metrics: Path) -> Iterator[str]:
    """Yield a note on the fusions of a table: the smallest and the largest share of queries.

    The shares are over columns and seeds, for the smallest number of first docs that manifests in
    `metrics` record. A fusion without a record is left out.
    """
    shares: dict[int, dict[str, list[float]]] = {}
    for part, name in job.fused():
        for docs, share in list(proven.recorded(metrics / name).items())[:1]:
            shares.setdefault(docs, {}).setdefault(part, []).append(share)
    for docs, of in sorted(shares.items()):
        parts = "; ".join(f"{part} {_span(own)}" for part, own in of.items())
        yield (
            f"Queries for which the scores of a union's first {docs} docs are provably those of an "
            f"exact search over all docs, since what no list holds cannot have more: {parts}."
        )


def _span(shares: list[float]) -> str:
    low, high = (f"{100 * bound(shares):.1f}" for bound in (min, max))
    return f"{low}%" if low == high else f"{low} to {high}%"

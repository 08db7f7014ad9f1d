"""What a page says of fusions: how often the union of their lists is provably an exact search.

Usage: `captions += notes(job, metrics)`. Must not know how it is proven, nor any run.
"""

from collections.abc import Iterator
from pathlib import Path

from residuum.artefacts import proven
from residuum.wiring.bound import BoundTable


def notes(job: BoundTable, metrics: Path) -> Iterator[str]:
    """Yield a line for each fusion of a table: the least and the largest share of the queries.

    They are over columns and seeds, of the fewest docs that manifests in `metrics` name; nothing
    of a fusion of which none does.
    """
    shares: dict[str, list[tuple[int, float]]] = {}
    for part, name in job.fused():
        of = proven.recorded(metrics / name)
        shares.setdefault(part, []).extend(list(of.items())[:1])
    for part, own in shares.items():
        if own:
            low, high = (f"{100 * bound([s for _, s in own]):.1f}" for bound in (min, max))
            span = f"{low}%" if low == high else f"{low} to {high}%"
            yield (
                f"{part}: for {span} of the queries the scores of its union's first {own[0][0]} "
                "docs are provably those of an exact search over all docs: the last is at least "
                "the weighted sum of the scores with which the lists end."
            )

"""The files that say what data could have shown: bounds of measures, and metrics of dense parts.

Usage: `metrics, bounds = below(bases)`, relative to the folders of both. `bearing.Limits` reads
them.
"""

from collections.abc import Iterable

from residuum.pages.jobs import Basis
from residuum.wiring.paths import below_bounds, below_metrics


def below(bases: Iterable[Basis]) -> tuple[list[str], list[str]]:
    """Return the metrics files and the bounds that bases need, relative to their folders."""
    metrics, bounds = dict[str, None](), dict[str, None]()
    for basis in (one for one in bases if one.measure):
        bounds[below_bounds(basis.split_ref, basis.over)] = None
        runs = (run for part in basis.alone for run in part)
        metrics |= dict.fromkeys(below_metrics(basis.split_ref, run) for run in runs)
    return sorted(metrics), sorted(bounds)

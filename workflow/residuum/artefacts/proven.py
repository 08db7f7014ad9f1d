"""Read the share of queries for which a fused list is provably exact, from manifests.

Usage: `recorded(run)` of a fused run or its metrics.
"""

from pathlib import Path

from residuum.artefacts import manifest

PROVEN = "provably_exact"  # key in the manifests of a fused run and its metrics


def recorded(artefact: Path) -> dict[int, float]:
    """Return {number of first docs: share of queries where they are proven}; {} if not recorded."""
    shares = manifest.facts_of(artefact).get(PROVEN) or {}
    return {int(depth): float(share) for depth, share in shares.items()}

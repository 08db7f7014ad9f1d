"""For what share of its queries a union of lists is provably exact, as manifests record it.

Usage: `recorded(run)` of a fused run or of its metrics.
"""

from pathlib import Path

from residuum.artefacts import manifest

PROVEN = "provably_exact"  # in the manifest of a fused run and of its metrics


def recorded(artefact: Path) -> dict[int, float]:
    """Return the share of the queries by how many first docs are proven; empty without any."""
    shares = manifest.facts_of(artefact).get(PROVEN) or {}
    return {int(depth): float(share) for depth, share in shares.items()}

"""The share of first hits that another vector than the first of a text wins, in manifests.

Usage: `recorded(run)` of a dense run or its metrics. Models with one vector a text have none.
"""

from pathlib import Path

from residuum.artefacts import manifest

SHARE = "won_by_other_vectors"  # key in the manifests of a dense run and its metrics
FIRST = 10  # docs of a list that are looked at


def recorded(artefact: Path) -> float | None:
    """Return the share of first hits that other vectors win; None if it is not recorded."""
    share = manifest.facts_of(artefact).get(SHARE)
    return None if share is None else float(share)

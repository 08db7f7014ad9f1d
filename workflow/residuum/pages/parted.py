"""Read the groups of queries of several splits, by split and grouping.

Usage: `read_groups(paths)`. A path names the split and the grouping of its file.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from residuum.artefacts import groupings
from residuum.artefacts.groupings import Groups
from residuum.wiring.paths import Paths

Parted = Mapping[tuple[str, str], Groups]  # (<dataset>/<split>, grouping): its groups
GROUPS = Paths().groups


def read_groups(paths: Iterable[Path]) -> Parted:
    """Read groups of queries, by split as <dataset>/<split> and by grouping."""
    of = ((path, GROUPS.parse(path) or {}) for path in paths)
    return {(f"{at['dataset']}/{at['split']}", at["grouping"]): groupings.read(p) for p, at in of}

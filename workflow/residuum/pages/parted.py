"""The groups of the queries of some splits, by split and grouping.

Usage: `read_groups(paths)`, whose paths say what each file is of.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from residuum.artefacts import groupings
from residuum.artefacts.groupings import Groups
from residuum.wiring.paths import Paths

Parted = Mapping[tuple[str, str], Groups]  # of a split, <dataset>/<split>, by a grouping
GROUPS = Paths().groups


def read_groups(paths: Iterable[Path]) -> Parted:
    """Read groups by the split that they are of, as <dataset>/<split>, and their grouping."""
    of = ((path, GROUPS.parse(path) or {}) for path in paths)
    return {(f"{at['dataset']}/{at['split']}", at["grouping"]): groupings.read(p) for p, at in of}

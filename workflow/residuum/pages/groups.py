"""What pages call groups of the queries: names that no grouping can have, splits without folds.

Usage: `misnamed(registry, grouping, names)` yields the faults.
"""

from collections.abc import Iterable, Iterator

from residuum.cli.errors import unknown
from residuum.config.registry import Registry
from residuum.config.schema.groupings import Folds


def misnamed(registry: Registry, over: str, groups: Iterable[str]) -> Iterator[str]:
    """Yield a text for each name that no group of a grouping can have, if it is one."""
    grouping = registry.groupings.get(over)
    for group in groups if grouping else ():
        if grouping and (valid := grouping.lacks(group)):
            yield f"'{group}' is no group of {over}: write {valid}"


def unfolded(registry: Registry, over: str, role: str, groups: Iterable[str]) -> Iterator[str]:
    """Yield the folds that the split of a role does not name, or that it has none."""
    place = registry.binding(role)
    dataset = registry.datasets.get(place.dataset) if place else None
    if not isinstance(registry.groupings.get(over), Folds) or place is None or dataset is None:
        return
    folds = dataset.splits[place.split].folds if place.split in dataset.splits else groups
    at = f"folds of splits.{place.split} in {registry.file('dataset', place.dataset)}"
    if not folds:
        yield f"{over} are the folds of a split, and {'/'.join(place)} names none: give it {at}"
    yield from (unknown("fold", name, folds, at) for name in groups if folds and name not in folds)

"""Faults in the names of groups on pages: names that no group can have, splits without folds.

Usage: `misnamed(registry, grouping, names)` yields the faults.
"""

from collections.abc import Iterable, Iterator

from residuum.cli.errors import unknown
from residuum.config.registry import Registry
from residuum.config.schema.groupings import Folds


def misnamed(registry: Registry, over: str, groups: Iterable[str]) -> Iterator[str]:
    """Yield the fault of each name that no group of a grouping can have.

    Nothing is yielded if `over` is no grouping.
    """
    grouping = registry.groupings.get(over)
    for group in groups if grouping else ():
        if grouping and (valid := grouping.lacks(group)):
            yield f"'{group}' is no group of {over}: write {valid}"


def unfolded(registry: Registry, over: str, role: str, groups: Iterable[str]) -> Iterator[str]:
    """Yield a fault for each fold that a role's split does not name, or if it names no folds."""
    split_id = registry.binding(role)
    dataset = registry.datasets.get(split_id.dataset) if split_id else None
    if not isinstance(registry.groupings.get(over), Folds) or split_id is None or dataset is None:
        return
    folds = dataset.splits[split_id.split].folds if split_id.split in dataset.splits else groups
    at = f"folds of splits.{split_id.split} in {registry.file('dataset', split_id.dataset)}"
    if not folds:
        yield f"{over} are the folds of a split, and {'/'.join(split_id)} names none: give it {at}"
    yield from (unknown("fold", name, folds, at) for name in groups if folds and name not in folds)

"""Faults of what pages call groups of the queries, and of splits that cannot have them.

Usage: `group_faults(registry, figure)`, `within_faults(registry, table)` yield the key and the
fault; `misnamed(registry, grouping, names)` the texts alone. Must not know which queries a group
holds.
"""

from collections.abc import Iterable, Iterator

from residuum.cli.errors import unknown
from residuum.config.registry import Registry
from residuum.config.schema.figures import Figure
from residuum.config.schema.groupings import Folds
from residuum.config.schema.papers import Table

Fault = tuple[str, str]  # key, what is wrong


def group_faults(registry: Registry, figure: Figure) -> Iterator[Fault]:
    """Yield the groups that a figure shows, or reports numbers of, and that it cannot have."""
    yield from (("groups", text) for text in misnamed(registry, figure.over, figure.groups))
    for row, column, _ in figure.cells():
        for text in misnamed(registry, figure.over, [column.partition("/")[2]]):
            yield f"reported.{row}.{column}", text
    for grouping, role in figure.grouped_by():
        yield from (("over", text) for text in _unfolded(registry, grouping, role, figure.groups))


def within_faults(registry: Registry, table: Table) -> Iterator[Fault]:
    """Yield the groups of queries that columns of a table are of, and that they cannot have."""
    for column in table.columns:
        if within := column.within:
            named = [within.group]
            texts = [*misnamed(registry, within.grouping, named)]
            texts += _unfolded(registry, within.grouping, column.role, named)
            yield from ((f"columns.{column.id}.within", text) for text in texts)


def misnamed(registry: Registry, over: str, groups: Iterable[str]) -> Iterator[str]:
    """Yield a text for each name that no group of a grouping can have, if it is one."""
    grouping = registry.groupings.get(over)
    for group in groups if grouping else ():
        if grouping and (valid := grouping.lacks(group)):
            yield f"'{group}' is no group of {over}: write {valid}"


def _unfolded(registry: Registry, over: str, role: str, groups: Iterable[str]) -> Iterator[str]:
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

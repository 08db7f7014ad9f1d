"""Faults of what a page calls a group of the queries.

Usage: `group_faults(registry, figure)` yields the key and the fault; `misnamed(registry, figure,
names)` the texts alone. Must not know which queries a group holds.
"""

from collections.abc import Iterable, Iterator

from residuum.config.registry import Registry
from residuum.config.schema.figures import Figure

Fault = tuple[str, str]  # key, what is wrong


def group_faults(registry: Registry, figure: Figure) -> Iterator[Fault]:
    """Yield the groups that a figure shows, or reports numbers of, and that it cannot have."""
    yield from (("groups", text) for text in misnamed(registry, figure, figure.groups))
    for row, column, _ in figure.cells():
        for text in misnamed(registry, figure, [column.partition("/")[2]]):
            yield f"reported.{row}.{column}", text


def misnamed(registry: Registry, figure: Figure, groups: Iterable[str]) -> Iterator[str]:
    """Yield a text for each name that no group of a figure can have, if it has groups."""
    grouping = registry.groupings.get(figure.over)
    for group in groups if grouping else ():
        if grouping and (valid := grouping.lacks(group)):
            yield f"'{group}' is no group of {figure.over}: write {valid}"

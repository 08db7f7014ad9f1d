"""Faults that several kinds of pages can have: markers, tolerances, names of groups of queries.

Usage: `reported_faults(registry, page)` yields the key and the fault.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from residuum.cli.errors import unknown
from residuum.config.registry import Registry
from residuum.config.schema.groupings import Folds
from residuum.pages.entries import Reported
from residuum.pages.table.entry import Row

Fault = tuple[str, str]  # key, what is wrong


def with_baselines(registry: Registry, tests: str) -> bool:
    """Say whether an entry of config/tests compares with baselines only."""
    known = registry.tests.get(tests)
    return known is not None and known.compare == "with_baselines"


def reported_faults(
    registry: Registry,
    page: Reported,
    rows: Sequence[Row] = (),
    baselines: Collection[str] = (),
) -> Iterator[Fault]:
    """Yield rows with the same index, and cells without a tolerance or with unexplained markers.

    Only a table has `rows` that markers can name. `baselines` are the only rows that its markers
    may be about; none: markers may be about all rows.
    """
    if page.reported and page.unprinted:
        yield "printed_in", "say where the numbers of `reported:` are printed"
    below = {row.id: row.below for row in rows}
    names: dict[int, str] = {}
    for row in rows:
        if row.index and names.setdefault(row.index, row.id) != row.id:
            yield (
                f"rows.{row.id}.index",
                f"the row '{names[row.index]}' has the index {row.index} too",
            )
    for name, column, cell in page.cells():
        key = f"reported.{name}.{column}"
        if not {column.partition("/")[0], "default"} & {*page.tolerance}:
            yield key, "`tolerance:` has neither its column nor a default"
        if cell.below and not below.get(name):
            yield key, "an arrow, but the row has no `below:`"
        if cell.tick and not page.ticks:
            yield key, "a tick, which only a column of a table prints"
        for index in sorted(set(cell.beats) - {*names}):
            yield key, f"no row has the index {index}"
        marked = [*map(names.get, cell.beats), below.get(name) if cell.below else None]
        for other in [*marked, page.change_of(column) if cell.tick else None]:
            if baselines and other and not {name, other} & {*baselines}:
                yield key, f"a marker about {other}, which is not in `baselines:`"


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

"""Faults that pages with reported numbers share: unexplained markers, missing tolerances.

Usage: `reported_faults(registry, page)` yields the key and the fault.
"""

from collections.abc import Iterator

from residuum.config.registry import Registry
from residuum.pages.entries import Reported

Fault = tuple[str, str]  # key, what is wrong


def with_baselines(registry: Registry, tests: str | None) -> bool:
    """Say whether an entry of config/tests compares with baselines only."""
    known = registry.tests.get(tests or "")
    return known is not None and known.compare == "with_baselines"


def reported_faults(registry: Registry, page: Reported) -> Iterator[Fault]:
    """Yield rows with the same index, and cells without a tolerance or with unexplained markers."""
    some = with_baselines(registry, getattr(page, "tests", None))
    below = {row.id: getattr(row, "below", None) for row in page.rows}
    rows: dict[int | None, str] = {}
    for row in page.rows:
        index = getattr(row, "index", None)
        if rows.setdefault(index, row.id) != row.id and index is not None:
            yield f"rows.{row.id}.index", f"{index} is that of the row '{rows[index]}'"
    baselines = {*getattr(page, "baselines", ())} if some else set[str]()
    for name, column, cell in page.cells():
        key = f"reported.{name}.{column}"
        if not {column.partition("/")[0], "default"} & {*page.tolerance}:
            yield key, "`tolerance:` has neither its column nor a default"
        if cell.below and not below.get(name):
            yield key, "an arrow, but the row has no `below:`"
        if cell.tick and not page.ticks:
            yield key, "a tick, which a column of a table alone prints"
        for index in sorted(set(cell.beats) - {*rows}):
            yield key, f"no row has the index {index}"
        marked = [*map(rows.get, cell.beats), below.get(name) if cell.below else None]
        for other in [*marked, page.change_of(column) if cell.tick else None]:
            if baselines and other and not {name, other} & baselines:
                yield key, f"a marker about {other}, which is not in `baselines:`"

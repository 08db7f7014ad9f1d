"""Cross-references within and from the pages of papers: rows, columns, systems, roles, measures.

Called by `residuum.core.references`. Must not know the form of entries beyond their names.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residuum.core import schema
from residuum.core.errors import unknown
from residuum.core.references import measure_fault, role_fault, system_fault
from residuum.core.registry import Place

if TYPE_CHECKING:
    from residuum.core.registry import Registry


def page_faults(registry: "Registry", folder: Path, roles: set[str]) -> Iterator[str]:
    """Yield one line per broken reference of every page."""
    for page_id, page in registry.pages.items():
        paper, name = schema.parts_of(page_id)
        file = folder / "papers" / paper / f"{name}.yaml"
        if page.kind == "table":
            yield from _table_faults(registry, file, page, roles)
            yield from _compared_faults(registry, file, page)
        elif page.kind == "characteristics":
            yield from _grid_faults(file, page, roles)
        elif page.kind == "cases":
            yield from _cases_faults(registry, file, page, roles)
        else:
            yield from _figure_faults(registry, file, page, roles)


def _tests_faults(registry: "Registry", file: Path, name: str) -> Iterator[str]:
    preset = file.parents[2] / "tests" / f"{name}.yaml"
    if name not in registry.tests and not preset.exists():
        yield f"{file}: tests: {unknown('tests', name, registry.tests, str(preset))}"


def _compared_faults(registry: "Registry", file: Path, table: schema.Table) -> Iterator[str]:
    """Yield what is wrong with whom a table's rows are compared with."""
    yield from _tests_faults(registry, file, table.tests)
    rows = [row.id for row in table.rows]
    for name in table.baselines:
        if name not in rows:
            yield f"{file}: baselines: {unknown('row', name, rows)}"
    if table.tests in registry.tests:
        some = registry.tests[table.tests].compare == "with_baselines"
        if some != bool(table.baselines):
            need = "name rows in `baselines:`" if some else "compare all pairs; drop `baselines:`"
            yield f"{file}: tests: {table.tests}: its tests {need}"
        if some and table.baselines:
            yield from _untested_faults(file, table)


def _untested_faults(file: Path, table: schema.Table) -> Iterator[str]:
    """Yield the claims of the paper about two rows of which neither is a baseline."""
    by_index = {row.index: row.id for row in table.rows}
    below = {row.id: row.below for row in table.rows}
    for row, cells in table.reported.items():
        for column, text in cells.items():
            cell = schema.Cell.parse(text)
            others = [by_index.get(i) for i in cell.beats] + [below.get(row)] * cell.below
            for other in filter(None, others):
                if not {row, other} & set(table.baselines):
                    key = f"reported.{row}.{column}"
                    yield f"{file}: {key}: a marker about {other}, which is not in `baselines:`"


def _grid_faults(file: Path, page: Any, roles: set[str]) -> Iterator[str]:
    columns = [column.id for column in page.columns]
    rows = [row.id for row in page.rows]
    yield from _twice(file, "columns", columns)
    yield from _twice(file, "rows", rows)
    for column in page.columns:
        yield from role_fault(file, f"columns.{column.id}.role", column.role, roles)
    yield from _reported_faults(file, page, rows, columns)


def _table_faults(
    registry: "Registry", file: Path, table: schema.Table, roles: set[str]
) -> Iterator[str]:
    yield from _grid_faults(file, table, roles)
    for column in table.columns:
        if not column.is_depth:
            key = f"columns.{column.id}.measure"
            yield from measure_fault(file, key, column.measure, answers=True)
    rows = [row.id for row in table.rows]
    for row in table.rows:
        if row.system is not None:
            yield from system_fault(file, f"rows.{row.id}.system", row.system, registry)
        if row.below is not None and row.below not in rows:
            yield f"{file}: rows.{row.id}.below: {unknown('row', row.below, rows)}"


def _reported_faults(file: Path, page: Any, rows: list[str], columns: list[str]) -> Iterator[str]:
    for row, cells in page.reported.items():
        if row not in rows:
            yield f"{file}: reported.{row}: {unknown('row', row, rows)}"
            continue
        for column, text in cells.items():
            if column not in columns:
                yield f"{file}: reported.{row}.{column}: {unknown('column', column, columns)}"
            yield from _marker_faults(file, page, row, column, schema.Cell.parse(text))
    for column in page.tolerance:
        if column not in [*columns, "default"]:
            yield f"{file}: tolerance.{column}: {unknown('column', column, columns)}"


def _marker_faults(
    file: Path, page: Any, row: str, column: str, cell: schema.Cell
) -> Iterator[str]:
    below = {r.id: getattr(r, "below", None) for r in page.rows}[row]
    if cell.below and below is None:
        yield f"{file}: reported.{row}.{column}: an arrow, but the row has no `below:`"
    known = {getattr(r, "index", None) for r in page.rows}
    for index in cell.beats:
        if index not in known:
            yield f"{file}: reported.{row}.{column}: no row has the index {index}"


def _cases_faults(
    registry: "Registry", file: Path, page: schema.Cases, roles: set[str]
) -> Iterator[str]:
    yield from role_fault(file, "role", page.role, roles)
    for name, system in page.lists.items():
        kinds = ["lexical", "dense", "fusion", "rerank"]
        yield from system_fault(file, f"lists.{name}", system, registry, kinds)
    conditions = [(f"where.{i}.list", c.list) for i, c in enumerate(page.where)]
    for key, name in [*conditions, ("before", page.before), ("after", page.after)]:
        if name not in page.lists:
            yield f"{file}: {key}: {unknown('list', name, page.lists)}"


def _figure_faults(
    registry: "Registry", file: Path, page: schema.Figure, roles: set[str]
) -> Iterator[str]:
    yield from role_fault(file, "role", page.role, roles)
    yield from _tests_faults(registry, file, page.tests)
    tests = registry.tests.get(page.tests)
    if tests and (tests.compare != "with_baselines" or tests.family == "paper"):
        yield (
            f"{file}: tests: a figure compares with its first series only, and is no part of its "
            f"paper's family; config/tests/{page.tests}.yaml needs `compare: with_baselines` and "
            "`family: column` or `table`"
        )
    yield from _twice(file, "series", [series.id for series in page.series])
    yield from _twice(file, "panels", [panel.id for panel in page.panels])
    for series in page.series:
        yield from system_fault(
            file, f"series.{series.id}.system", series.system, registry, ["rerank"]
        )
    for panel in page.panels:
        if panel.measure:
            yield from measure_fault(file, f"panels.{panel.id}.measure", panel.measure)


def _twice(file: Path, key: str, ids: list[str]) -> Iterator[str]:
    for name in sorted({name for name in ids if ids.count(name) > 1}):
        yield f"{file}: {key}: '{name}' stands twice"


def judgement_faults(registry: "Registry") -> Iterator[str]:
    """Tell of measures that a split cannot have: by judgements or by answers that are not there."""
    for dataset, entry in registry.datasets.items():
        for split in entry.splits:
            for measure in registry.measures(Place(dataset, split)):
                by_answers = measure.startswith("AnswerAccuracy@")
                if not (entry.answered(split) if by_answers else entry.judged(split)):
                    lacks = "answers" if by_answers else "public judgements"
                    yield (
                        f"config/datasets/{dataset}.yaml: splits.{split} has no {lacks}, but its "
                        f"measures or a table's column ask for {measure}"
                    )

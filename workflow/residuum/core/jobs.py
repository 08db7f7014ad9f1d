"""A paper's page cast for one scale: the `--spec` of the stages that test and render it.

Made by `residuum.core.casting`. Must not know the registry, nor files beyond the names of metrics.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from residuum.core import schema
from residuum.core.errors import ResiduumError, not_cast


class Job(schema.Strict):
    """A table, where its columns are measured and which runs make its rows."""

    id: str
    table: schema.Table
    tests: schema.Tests
    places: dict[str, str | None]
    runs: dict[str, list[str]]
    systems: dict[str, dict[str, Any]]
    absent: dict[str, dict[str, str]] = Field(default={})  # row id: column id: why
    scale: str
    comparable: bool
    reason: str

    def not_run(self, row: schema.Row, column: schema.Column) -> str | None:
        """Return why a cell has no value at this scale, or None if it has one."""
        if row.not_run is not None:
            return row.not_run
        if self.places[column.id] is None:
            return not_cast(self.scale, column.role)
        return self.absent.get(row.id, {}).get(column.id)

    def there(self) -> Iterator[tuple[schema.Row, schema.Column]]:
        """Yield the row and column of every cell whose runs can be made at this scale."""
        for column in self.table.columns:
            for row in self.table.rows:
                if self.not_run(row, column) is None:
                    yield row, column

    def cells(self) -> Iterator[tuple[schema.Row, schema.Column]]:
        """Yield the row and column of every cell that runs are measured for."""
        return ((row, column) for row, column in self.there() if not column.is_depth)

    def compared(self) -> Iterator[tuple[str, str, str]]:
        """Yield (column, a, b) of every comparison to test: two measured rows, a above b."""
        baselines = self.table.baselines
        every = self.tests.compare == "all_pairs"
        for column in self.table.columns:
            rows = [row.id for row, other in self.cells() if other.id == column.id]
            for a, b in itertools.combinations(rows, 2):
                if every or a in baselines or b in baselines:
                    yield column.id, a, b

    def metrics_files(self) -> Iterator[str]:
        """Yield the metrics files of all cells, relative to the metrics folder."""
        for row, column in self.cells():
            for run in self.runs[row.id]:
                yield f"{self.places[column.id]}/{run}.tsv"

    def metrics_records(self) -> Iterator[str]:
        """Yield the manifests of those files, if the table states the index of its numbers."""
        if self.table.index:
            yield from (f"{name}.manifest.json" for name in self.metrics_files())


class CharacteristicsJob(schema.Strict):
    """A table of dataset characteristics, and the splits that it counts."""

    id: str
    table: schema.Characteristics
    places: dict[str, str | None]
    absent: dict[str, str] = Field(default={})  # column id: why
    scale: str
    comparable: bool
    reason: str

    def not_counted(self, column: schema.QuerySet) -> str | None:
        """Return why a split is not counted at this scale, or None if it is."""
        if self.places[column.id] is None:
            return not_cast(self.scale, column.role)
        return self.absent.get(column.id)


class FigureJob(schema.Strict):
    """A figure cast for one scale: where it is measured and which runs make each series."""

    id: str
    figure: schema.Figure
    tests: schema.Tests
    place: str
    runs: dict[str, list[str]]
    scale: str
    reason: str

    def series(self) -> list[schema.Series]:
        """Return the series that have runs, in the figure's order; none at all is an error."""
        if drawn := [series for series in self.figure.series if self.runs.get(series.id)]:
            return drawn
        raise ResiduumError(f"{self.id}: no series has runs at scale {self.scale}")

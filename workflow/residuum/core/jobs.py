"""A table cast for one scale: the `--spec` that significance, tables and ledger share.

Made by `Registry.job`. Must not know files beyond the names of metrics.
"""

from collections.abc import Iterator
from typing import Any

from residuum.core import schema


class Job(schema.Strict):
    """A table, where its columns are measured and which runs make its rows."""

    id: str
    table: schema.Table
    places: dict[str, str | None]
    runs: dict[str, list[str]]
    systems: dict[str, dict[str, Any]]
    scale: str
    comparable: bool
    reason: str

    def not_run(self, row: schema.Row, column: schema.Column) -> str | None:
        """Return why a cell has no value at this scale, or None if it has one."""
        if row.not_run is not None:
            return row.not_run
        if self.places[column.id] is None:
            return f"scale {self.scale} casts nothing as {column.role}"
        return None

    def metrics_files(self) -> Iterator[str]:
        """Yield the metrics files of all cells, relative to the metrics folder."""
        for column in self.table.columns:
            for row in self.table.rows:
                if self.not_run(row, column) is None:
                    for run in self.runs[row.id]:
                        yield f"{self.places[column.id]}/{run}.tsv"

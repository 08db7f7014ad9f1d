"""A page of dimensions bound to one scale: the measurements to show."""

from collections.abc import Iterator

from pydantic import Field

from residuum.pages.dimensions.entry import Dimensions
from residuum.pages.jobs import Gap, Judged, SplitRef


class BoundDimensions(Judged):
    """Measurements of fidelity on one split, and why other measurements are missing."""

    entry: Dimensions
    split: SplitRef | None
    absent: dict[str, str] = Field(default={})  # row: why it is not measured

    def measured_in(self, row: str, column: str, quantity: str) -> str | None:
        return self.folders().get(row, "")

    def gaps(self) -> Iterator[Gap]:
        for plot, why in self.absent.items():
            yield Gap(why, plot, self.split is None)

    def folders(self) -> dict[str, str]:
        """Return the folder of each row's measurement, relative to that of all measurements."""
        rows = (row for row in self.entry.rows if row.id not in self.absent)
        return {row.id: f"{self.split}/{row.fidelity}" for row in rows}

"""A paper's claims bound to one scale, with the tables and figures that they read.

Made by `residuum.pages.claims.bind`.
"""

from collections.abc import Iterator

from residuum.config.schema.tests import Tests
from residuum.pages.claims.entry import Claims
from residuum.pages.figure.job import BoundFigure
from residuum.pages.jobs import Bound, Side
from residuum.pages.table.job import BoundTable


class BoundClaims(Bound):
    """A paper's bound claims, and the tables and figures that they are about."""

    entry: Claims
    tests: Tests
    tables: dict[str, BoundTable]
    figures: dict[str, BoundFigure]
    comparable: bool

    def side(self, page: str, row: str, column: str) -> Side | None:
        """Return where a point's values come from; None if nothing is measured."""
        if table := self.tables.get(page):
            return table.side(row, column)
        return self.figures[page].side(row, column.partition("/")[0])

    def sides_compared(self) -> Iterator[Side]:
        """Yield where the values of the claims' points come from."""
        for claim in self.entry.claims:
            if holds := claim.holds:
                places = ((row, column) for row in holds.named() for column in holds.columns)
                yield from filter(None, (self.side(holds.page, *place) for place in places))

    def point(self, page: str, row: str, column: str) -> tuple[list[str], str | None, str]:
        """Return what determines a point's value, whatever its name: runs, split, measure."""
        if table := self.tables.get(page):
            shown = table.column(column)
            return table.reads(row, shown), table.splits[column], shown.named(row)
        figure, at = self.figures[page], column.partition("/")[2]
        panel = figure.entry.panel(column)
        runs, what = figure.runs.get(row, []), f"{panel.measure or panel.shows} at K {at}"
        if figure.entry.grouped:
            what = f"{panel.value} in {figure.entry.over} {at}"
        elif row in figure.snapshots:  # its runs name the snapshot
            runs, what = figure.at_snapshots(row).get(at, []), panel.value
        return runs, figure.splits[row], what

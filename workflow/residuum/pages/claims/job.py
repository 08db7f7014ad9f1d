"""A paper's claims bound to one scale, with the pages that they read.

Made by `residuum.pages.claims.bind`.
"""

from collections.abc import Iterator, Mapping

from pydantic import Field

from residuum.config.schema.tests import Tests
from residuum.pages.claims.entry import Along, Claims, Holding, Narrows
from residuum.pages.dimensions.job import BoundDimensions
from residuum.pages.figure.job import BoundFigure
from residuum.pages.jobs import Basis, Bound, Judged
from residuum.pages.table.job import BoundTable


class BoundClaims(Bound):
    """A paper's bound claims, and the pages that they are about, by short name."""

    entry: Claims
    tests: Tests
    tables: dict[str, BoundTable]
    figures: dict[str, BoundFigure]
    dimensions: dict[str, BoundDimensions] = Field(default={})

    def unbound(self, holds: Holding) -> list[str]:
        """Return the columns that a claim along a table's columns leaves out at this scale.

        The scale binds no split to their roles. With fewer than two other columns, none is left
        out.
        """
        table = self.tables.get(holds.page)
        if table is None or not isinstance(holds, Along | Narrows):
            return []
        lacking = [name for name in holds.columns if table.splits[name] is None]
        return lacking if len(holds.columns) - len(lacking) > 1 else []

    def tested(self, holds: Holding) -> bool:
        """Say whether a claim is tested; other claims are computed from numbers of pages.

        Of a page of dimensions only margins have a value per query.
        """
        if page := self.dimensions.get(holds.page):
            plots = {row.id: row.shows for row in page.entry.rows}
            rows = {plots[name] for name in holds.named()}
            return isinstance(holds, Along) and rows == {"margins"}
        return True

    def basis(self, page: str, row: str, column: str) -> Basis | None:
        """Return where a point's values come from; None if nothing is measured."""
        pages: Mapping[str, Judged] = {**self.tables, **self.figures, **self.dimensions}
        return pages[page].basis(row, column)

    def bases_compared(self) -> Iterator[Basis]:
        """Yield where the values of the claims' points come from."""
        for claim in self.entry.claims:
            if holds := claim.holds:
                places = ((row, column) for row in holds.named() for column in holds.columns)
                made = (place for place in places if self._made(holds.page, *place))
                yield from filter(None, (self.basis(holds.page, *place) for place in made))

    def _made(self, page: str, row: str, column: str) -> bool:
        """Say whether a point has runs at this scale."""
        if table := self.tables.get(page):
            return table.not_run(table.entry.row(row), table.column(column)) is None
        figure = self.figures.get(page)
        return figure is not None and bool(figure.runs.get(row))

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

"""Which number each cell of a page's grid shows, and each point of a drawing.

Usage: `grid(sheet)`: rows of `<row>/<column>`, or None where a cell shows no number. Must not know
HTML.
"""

from residuum.config.schema.figures import QUANTITIES
from residuum.site.folder import Sheet
from residuum.wiring.bound import BoundCharacteristics, BoundTable
from residuum.wiring.drawn import BoundDimensions, BoundFigure, BoundVenn

Grid = list[list[str | None]]


def grid(sheet: Sheet) -> Grid:
    """Return the numbers of the grid of a page's Markdown, in its rows and columns."""
    job, known = sheet.job, {cell.place for cell in sheet.cells}
    if isinstance(job, BoundTable | BoundCharacteristics):
        before: list[str | None] = [None] * (2 if isinstance(job, BoundTable) else 1)
        of_rows = (
            [f"{row.id}/{column.id}" for column in job.table.columns] for row in job.table.rows
        )
        made = [[*before, *places] for places in of_rows]
    elif isinstance(job, BoundVenn):
        with_numbers = {c.line.row for c in sheet.cells if c.line.measured is not None}
        rows = [row.id for row in job.table.rows if row.id in with_numbers]
        made = [[None, *(f"{row}/{name}" for name in QUANTITIES), None] for row in rows]
    elif isinstance(job, BoundDimensions):
        made = [[None, None, None, cell.place, None] for cell in sheet.cells]
    elif isinstance(job, BoundFigure):
        made = _of_groups(job, sheet)
    elif sheet.kind == "claims":
        return [[None, None, None, claim["id"], None] for claim in sheet.entry["claims"]]
    else:
        return []
    return [[place if place in known else None for place in line] for line in made]


def _of_groups(job: BoundFigure, sheet: Sheet) -> Grid:
    """Return the numbers of a figure's caption: a line per group, a column per panel and series."""
    columns = [(panel.id, series.id) for panel, series in job.plotted()]
    groups = dict.fromkeys(cell.line.column.partition("/")[2] for cell in sheet.cells)
    return [[None, *(f"{series}/{panel}/{group}" for panel, series in columns)] for group in groups]

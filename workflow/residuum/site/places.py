"""Which number each cell of a page's grid shows, and each point of a drawing.

Usage: `grid(sheet)`: rows of `<row>/<column>`, or None where a cell shows no number.
"""

from residuum.pages.kinds import GRIDS
from residuum.pages.layout import Places
from residuum.site.folder import Sheet


def grid(sheet: Sheet) -> Places:
    """Return the numbers of the grid of a page's Markdown, in its rows and columns."""
    if sheet.kind == "claims":
        return [[None, None, None, claim["id"], None] for claim in sheet.entry["claims"]]
    if sheet.job is None or sheet.kind not in GRIDS:
        return []
    known = {cell.place for cell in sheet.cells}
    made = GRIDS[sheet.kind](sheet.job, [cell.line for cell in sheet.cells])
    return [[place if place in known else None for place in line] for line in made]

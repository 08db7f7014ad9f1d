"""Find the number that each cell of a page's grid shows.

Usage: `grid(sheet)` returns rows of `<row>/<column>`, or None for a cell without a number.
"""

from residuum.pages.kinds import GRIDS
from residuum.pages.layout import Places
from residuum.site.folder import Sheet


def grid(sheet: Sheet) -> Places:
    """Return the address of each cell's number in a page's grid, by grid row and column."""
    if sheet.kind == "claims":
        return [[None, None, None, claim["id"], None] for claim in sheet.entry["claims"]]
    if sheet.job is None or sheet.kind not in GRIDS:
        return []
    known = {cell.place for cell in sheet.cells}
    made = GRIDS[sheet.kind](sheet.job, [cell.line for cell in sheet.cells])
    return [[place if place in known else None for place in line] for line in made]

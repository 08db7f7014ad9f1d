"""Two results folders side by side: which numbers differ, and where that begins.

Usage: `compared(here, there)`, of two folders of one scale. Must not know HTML.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from residuum.cli.errors import ResiduumError
from residuum.inspect import differing
from residuum.inspect.addressing import Cell
from residuum.site.folder import Folder


class Difference(NamedTuple):
    """A number that is another one there: both values, both verdicts, the first cause."""

    address: str
    href: str
    here: str
    there: str
    change: str
    verdicts: str
    others: str
    first: str


class Compared(NamedTuple):
    """What differs between two folders, those numbers first whose verdict did."""

    here: str
    there: str
    equal: int
    rows: list[Difference]
    only_here: list[str]
    only_there: list[str]
    first: str


def compared(here: Folder, there: Folder) -> Compared:
    """Compare the numbers of two folders by their addresses."""
    own, theirs = _cells(here), _cells(there)
    both = [address for address in own if address in theirs]
    if not both:
        raise ResiduumError(f"{here.results} and {there.results} have no number in common")
    unlike = [a for a in both if not _same(own[a], theirs[a])]

    @cache
    def first(roots: tuple[str, ...], others: tuple[str, ...]) -> str:
        return differing.first_difference(here.graph, roots, there.graph, others)

    verdicts, elsewhere = _verdicts(here), _verdicts(there)
    rows = []
    for address in unlike:
        a, b = own[address], theirs[address]
        place = f"{a.line.row}/{a.line.column}"
        rows.append(
            Difference(
                address,
                f"{here.scale}/{a.line.table}.html#{place}",
                _value(a),
                _value(b),
                _change(a, b),
                verdicts.get(address, ""),
                elsewhere.get(address, ""),
                first(tuple(a.roots), tuple(b.roots)),
            )
        )
    rows.sort(key=lambda row: row.verdicts == row.others)  # stable: pages keep their order
    roots = [dict.fromkeys(r for a in unlike for r in side[a].roots) for side in (own, theirs)]
    return Compared(
        str(here.results),
        str(there.results),
        len(both) - len(unlike),
        rows,
        [address for address in own if address not in theirs],
        [address for address in theirs if address not in own],
        first(tuple(roots[0]), tuple(roots[1])) if unlike else "",
    )


def _cells(folder: Folder) -> dict[str, Cell]:
    return {cell.address: cell for sheet in folder.sheets for cell in sheet.cells}


def _same(a: Cell, b: Cell) -> bool:
    return (a.line.per_seed, a.line.measured) == (b.line.per_seed, b.line.measured)


def _value(cell: Cell) -> str:
    return cell.line.absence if cell.line.measured is None else f"{cell.line.measured:.6g}"


def _change(a: Cell, b: Cell) -> str:
    if a.line.measured is None or b.line.measured is None:
        return ""
    return f"{b.line.measured - a.line.measured:+.4g}"


def _verdicts(folder: Folder) -> Mapping[str, str]:
    """Return the verdicts of each number, in the ledger's order."""
    of: dict[str, list[str]] = {}
    for row in folder.ledger:
        address = "/".join([*row.table.rpartition("-")[::2], row.row, row.column])
        of.setdefault(address, []).append(row.verdict)
    return {address: ", ".join(verdicts) for address, verdicts in of.items()}

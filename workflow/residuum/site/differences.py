"""Compare two results folders of a scale: what differs, and its first cause.

Usage: `compared(here, there)`.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from residuum.artefacts import files, intact
from residuum.cli.errors import ResiduumError
from residuum.inspect import differing
from residuum.inspect.addressing import Cell, address
from residuum.inspect.text import number
from residuum.pages.verdicts import LedgerRow
from residuum.site import ledgers
from residuum.site.folder import Folder


class Number(NamedTuple):
    """A number that differs between the folders, and its first cause."""

    address: str
    href: str
    here: str
    there: str
    change: str
    first: str


class Verdict(NamedTuple):
    """A ledger row whose verdict or p differs between the folders."""

    address: str
    href: str
    claim: str
    here: str
    there: str


class Compared(NamedTuple):
    """All differences between two folders."""

    here: str
    there: str
    equal: int
    numbers: list[Number]
    verdicts: list[Verdict]
    pages: list[tuple[str, str]]  # pages with other data: name and title
    only_here: list[str]
    only_there: list[str]
    first: str


def compared(here: Folder, there: Folder) -> Compared:
    """Compare two folders: numbers by address, ledger rows, and the data of all pages."""
    if here.scale != there.scale:
        raise ResiduumError(
            f"{here.results} is of scale {here.scale}, {there.results} of {there.scale}: give "
            "--against a folder of the same scale, or both as --results"
        )
    ours, theirs = _cells(here), _cells(there)
    both = [place for place in ours if place in theirs]
    pairs = ((ours[place], theirs[place]) for place in both)
    unlike = [pair for pair in pairs if not _same(*pair)]

    @cache
    def first(roots: tuple[str, ...], others: tuple[str, ...]) -> str:
        return differing.first_difference(here.graph, roots, there.graph, others)

    numbers = [
        Number(
            a.address,
            here.href(a.line.table, a.place),
            _value(a),
            _value(b),
            _change(a, b),
            first(tuple(a.roots), tuple(b.roots)),
        )
        for a, b in unlike
    ]
    sides = [dict.fromkeys(r for pair in unlike for r in pair[side].roots) for side in (0, 1)]
    return Compared(
        here=here.named,
        there=there.named,
        equal=len(both) - len(unlike),
        numbers=numbers,
        verdicts=list(_verdicts(here, there)),
        pages=list(_pages(here, there)),
        only_here=[place for place in ours if place not in theirs],
        only_there=[place for place in theirs if place not in ours],
        first=first(tuple(sides[0]), tuple(sides[1])) if unlike else "",
    )


def _cells(folder: Folder) -> dict[str, Cell]:
    return {cell.address: cell for sheet in folder.sheets for cell in sheet.cells}


def _same(a: Cell, b: Cell) -> bool:
    return (a.line.per_seed, a.line.measured) == (b.line.per_seed, b.line.measured)


def _value(cell: Cell) -> str:
    return cell.line.absence if cell.line.measured is None else number(cell.line.measured)


def _change(a: Cell, b: Cell) -> str:
    if a.line.measured is None or b.line.measured is None:
        return ""
    return f"{b.line.measured - a.line.measured:+.4g}"


def _verdicts(here: Folder, there: Folder) -> Iterator[Verdict]:
    theirs = {_key(row): row for row in there.ledger}
    for row in here.ledger:
        other = theirs.get(_key(row))
        if other and _judged(row) != _judged(other):
            name, href = address(row.table, row.row, row.column), ledgers.href(here, row)
            yield Verdict(name, href, row.claim, _judged(row), _judged(other))


def _key(row: LedgerRow) -> tuple[str, str, str, str, str]:
    return row.table, row.row, row.column, row.kind, row.claim


def _judged(row: LedgerRow) -> str:
    return row.verdict + ("" if row.p_adjusted is None else f", p {row.p_adjusted:.3g}")


def _pages(here: Folder, there: Folder) -> Iterator[tuple[str, str]]:
    """Yield pages without addressed numbers (curves, cases, claims) whose data differs."""
    theirs = {sheet.name: sheet for sheet in there.sheets}
    for sheet in here.sheets:
        other = theirs.get(sheet.name)
        if other and sheet.job is None:
            data, others = (
                files.read_bytes(intact.checked(folder.results / shown.path))
                for folder, shown in ((here, sheet), (there, other))
            )
            if data != others:
                yield sheet.name, sheet.title

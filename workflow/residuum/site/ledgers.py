"""Prepare the ledger for a page: rows with links, counts, and rows that are not run.

Usage: `rows(folder, reproductions)`, `counts(folder, paper)`, `absent(rows)`.
"""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from residuum.inspect import reproductions as log
from residuum.inspect.reproductions import Reproduction
from residuum.pages.verdicts import ABSENT, VERDICTS, LedgerRow, number_form
from residuum.site.folder import Folder

FIRST, AGAIN = "first", "as before"
SHORT = 160  # characters shown of a reason; the number's details show all
Counts = list[tuple[str, int]]


class Line(NamedTuple):
    """A row of the ledger, as texts; `href` links to the number or claim in the report."""

    scale: str
    paper: str
    printed_in: str
    place: str
    kind: str
    claim: str
    reported: str
    measured: str
    p: str
    verdict: str
    why: str  # "" for the scale's own reason, which the page shows once
    reason: str
    reproduced: str  # what recorded reproductions of the scale have
    href: str
    again: bool

    @property
    def printed(self) -> str:
        """Say whether the paper prints the row first here, or as before, from the same runs."""
        return AGAIN if self.again else FIRST


def rows(folder: Folder, reproductions: Sequence[Reproduction]) -> Iterator[Line]:
    """Yield the ledger's rows in its order; `reproductions` are those of the folder's scale."""
    for row in folder.ledger:
        form = number_form(row.kind)
        again = f"{AGAIN}: {row.same_as}" if row.same_as else ""
        why = "" if row.reason == folder.reason else textwrap.shorten(row.reason, SHORT)
        yield Line(
            scale=folder.scale,
            paper=row.paper,
            printed_in=row.printed_in,
            place=f"{row.row}, {row.column}",
            kind=row.kind,
            claim=row.claim,
            reported=_rounded(row.reported, form),
            measured=_rounded(row.measured, form),
            p=_rounded(row.p_adjusted, ".2g"),
            verdict=row.verdict,
            why=again or why,
            reason=row.reason,
            reproduced=log.agreement(row, reproductions),
            href=href(folder, row),
            again=bool(again),
        )


def href(folder: Folder, row: LedgerRow) -> str:
    """Return the link to a row's number or claim, or "" if its page was not made."""
    return folder.href(row.table, row.row if row.kind == "claim" else f"{row.row}/{row.column}")


def _rounded(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def counts(lines: Sequence[Line], paper: str) -> list[tuple[str, Counts]]:
    """Return the counts of verdicts for a paper's numbers, comparisons and claims."""
    made = []
    for kind, verdicts in VERDICTS.items():
        counted_rows = (r for r in lines if r.paper == paper and r.kind == kind and not r.again)
        counted = Counter(row.verdict for row in counted_rows)
        shown = [(verdict, counted[verdict]) for verdict in verdicts if counted[verdict]]
        if shown and kind != "no marker":
            made.append((kind, shown))
    return made


def absent(lines: Sequence[Line]) -> list[tuple[str, list[tuple[str, list[Line]]]]]:
    """Return the rows without a verdict, by kind of absence and reason, largest groups first."""
    made = []
    for verdict in reversed(ABSENT):
        groups: dict[str, list[Line]] = {}
        for line in (line for line in lines if line.verdict == verdict):
            groups.setdefault(line.reason, []).append(line)
        made.append((verdict, sorted(groups.items(), key=lambda each: -len(each[1]))))
    return made

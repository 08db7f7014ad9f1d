"""Faults between a paper's claims and its pages: unknown rows, columns, series and panels.

Usage: `claim_faults(registry, page)` yields the key and the fault.
"""

from collections.abc import Iterator

from residuum.cli.errors import unknown
from residuum.config.registry import Registry
from residuum.pages.claims.entry import Along, Between, Claim, Claims, Factor, Narrows
from residuum.pages.faults import misnamed
from residuum.pages.figure.entry import EFFORT, Figure
from residuum.pages.table.entry import Table


def claim_faults(registry: Registry, page: Claims) -> Iterator[tuple[str, str]]:
    """Yield the names in claims that the paper's pages lack, and tests that do not fit claims."""
    tests = registry.tests.get(page.tests)
    if tests and (tests.compare, tests.family) != ("all_pairs", "column"):
        yield "tests", f"{page.tests}: a claim needs `compare: all_pairs` and `family: column`"
    paper, pages = registry.beside(page)
    fitting = {name: p for name, p in pages.items() if isinstance(p, Table | Figure)}
    for claim in page.claims:
        if claim.holds is None:
            continue
        if about := fitting.get(claim.holds.page):
            yield from ((f"claims.{claim.id}", text) for text in _misnamed(claim, about))
            if isinstance(claim.holds, Between) and isinstance(about, Figure):
                left_out = misnamed(registry, about.over, claim.holds.but)
                yield from ((f"claims.{claim.id}.holds.but", text) for text in left_out)
        # A page that did not load has its own message.
        elif (at := claim.holds.page) in pages or not registry.may_hold("paper", f"{paper}/{at}"):
            text = unknown("table or figure", claim.holds.page, fitting)
            yield f"claims.{claim.id}.page", text


def _misnamed(claim: Claim, page: Table | Figure) -> Iterator[str]:
    if claim.holds is None:
        return
    drawn = isinstance(page, Figure)
    along = isinstance(claim.holds, Along | Narrows)
    if isinstance(claim.holds, Along | Narrows | Factor) and drawn != along:
        yield f"{claim.holds.relation} reads a {'table' if drawn else 'figure'}"
        return
    if isinstance(page, Figure) and page.over == EFFORT:
        yield f"{claim.holds.relation} reads no figure over {EFFORT}"
        return
    if along and isinstance(page, Figure) and page.grouped:
        text = "reads a figure over depths or snapshots: other groups are other queries"
        yield f"{claim.holds.relation} {text}"
        return
    rows = [one.id for one in (page.series if isinstance(page, Figure) else page.rows)]
    columns = [one.id for one in page.panels] if isinstance(page, Figure) else _columns(claim, page)
    for word, names, known in (
        ("row", claim.holds.named(), rows),
        ("column", claim.holds.columns, columns),
    ):
        yield from (unknown(word, name, known) for name in names if name not in known)
    for panel in page.panels if isinstance(page, Figure) else []:
        if panel.id in claim.holds.columns and panel.series:
            hidden = [name for name in claim.holds.named() if name not in panel.series]
            yield from (unknown(f"series of {panel.id}", name, panel.series) for name in hidden)


def _columns(claim: Claim, page: Table) -> list[str]:
    """Return the columns that a claim can use: chosen depths for a factor, else tested columns."""
    chosen = isinstance(claim.holds, Factor)
    fitting = (c for c in page.columns if (c.shows == "chosen" if chosen else c.tested))
    return [column.id for column in fitting]

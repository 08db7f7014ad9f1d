"""Faults between a paper's claims and its pages: unknown rows, columns, series and panels.

Usage: `claim_faults(registry, page)` yields the key and the fault.
"""

from collections.abc import Iterator

from residuum.cli.errors import unknown
from residuum.config.registry import Registry
from residuum.pages.claims.entry import Along, Between, Claims, Factor, Holding, Narrows
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
            yield from ((f"claims.{claim.id}", text) for text in _misnamed(claim.holds, about))
            if isinstance(claim.holds, Between) and isinstance(about, Figure):
                left_out = misnamed(registry, about.over, claim.holds.but)
                yield from ((f"claims.{claim.id}.holds.but", text) for text in left_out)
        # A page that did not load has its own message.
        elif (at := claim.holds.page) in pages or not registry.may_hold("paper", f"{paper}/{at}"):
            text = unknown("table or figure", claim.holds.page, fitting)
            yield f"claims.{claim.id}.page", text


def _misnamed(holds: Holding, page: Table | Figure) -> Iterator[str]:
    drawn = isinstance(page, Figure)
    along = isinstance(holds, Along | Narrows)
    if isinstance(holds, Along | Narrows | Factor) and drawn != along:
        yield f"{holds.relation} reads a {'table' if drawn else 'figure'}"
        return
    if isinstance(page, Figure):
        if page.over == EFFORT:
            yield f"{holds.relation} reads no figure over {EFFORT}"
            return
        if along and page.grouped:
            text = "reads a figure over depths or snapshots: other groups are other queries"
            yield f"{holds.relation} {text}"
            return
        columns = [panel.id for panel in page.panels]
    elif isinstance(holds, Factor):
        columns = [column.id for column in page.columns if column.shows == "chosen"]
    else:
        columns = [column.id for column in page.columns if column.tested]
    rows = page.labels()
    yield from (unknown("row", name, rows) for name in holds.named() if name not in rows)
    yield from (unknown("column", name, columns) for name in holds.columns if name not in columns)
    for panel in page.panels if isinstance(page, Figure) else []:
        if panel.id in holds.columns and panel.series:
            hidden = [name for name in holds.named() if name not in panel.series]
            yield from (unknown(f"series of {panel.id}", name, panel.series) for name in hidden)

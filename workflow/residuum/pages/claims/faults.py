"""Faults between a paper's claims and its pages: unknown rows, columns, panels and quantities.

Usage: `claim_faults(registry, page)` yields the key and the fault.
"""

import re
from collections.abc import Iterator

from residuum.cli.errors import unknown
from residuum.config.registry import Registry
from residuum.config.schema.fidelities import nth
from residuum.pages.claims.entry import Along, Between, Claims, Factor, Holding, Inside, Narrows
from residuum.pages.dimensions.entry import LEAST_MARGIN, OF_PAIRS, Dimensions
from residuum.pages.entries import Printed
from residuum.pages.faults import misnamed
from residuum.pages.figure.entry import EFFORT, QUERY, Figure
from residuum.pages.table.entry import Table


def claim_faults(registry: Registry, page: Claims) -> Iterator[tuple[str, str]]:
    """Yield the names in claims that the paper's pages lack, and tests that do not fit claims."""
    if page.unprinted:
        yield "printed_in", "say where the sentences are printed"
    tests = registry.tests.get(page.tests)
    if tests and (tests.compare, tests.family) != ("all_pairs", "column"):
        yield "tests", f"{page.tests}: a claim needs `compare: all_pairs` and `family: column`"
    paper, pages = registry.beside(page)
    fitting = {n: p for n, p in pages.items() if isinstance(p, Table | Figure | Dimensions)}
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
            text = unknown("table, figure or page of dimensions", claim.holds.page, fitting)
            yield f"claims.{claim.id}.page", text


def _misnamed(holds: Holding, page: Table | Figure | Dimensions) -> Iterator[str]:
    if isinstance(page, Dimensions) or isinstance(holds, Inside):
        yield from _of_dimensions(holds, page)
        return
    drawn = isinstance(page, Figure)
    along = isinstance(holds, Along | Narrows)
    if isinstance(holds, Factor) and drawn:
        yield f"{holds.relation} reads a table"
        return
    if isinstance(page, Figure):
        if page.over == EFFORT:
            yield f"{holds.relation} reads no figure over {EFFORT}"
            return
        if along and (page.grouped or page.over == QUERY):
            text = "reads a figure over depths, snapshots or cutoffs: these have an order"
            yield f"{holds.relation} {text}"
            return
        columns = [panel.id for panel in page.panels]
    elif isinstance(holds, Factor):
        columns = [column.id for column in page.columns if column.shows == "chosen"]
    else:
        columns = [column.id for column in page.columns if column.tested]
        if along and len(set(holds.columns)) < 2:
            yield f"{holds.relation} reads two or more columns of a table, the first one first"
    rows = page.labels()
    yield from (unknown("row", name, rows) for name in holds.named() if name not in rows)
    yield from (unknown("column", name, columns) for name in holds.columns if name not in columns)
    for panel in page.panels if isinstance(page, Figure) else []:
        if panel.id in holds.columns and panel.series:
            hidden = [name for name in holds.named() if name not in panel.series]
            yield from (unknown(f"series of {panel.id}", name, panel.series) for name in hidden)


def _of_dimensions(holds: Holding, page: Printed) -> Iterator[str]:
    """Yield the faults of a claim on a page of dimensions."""
    if not isinstance(page, Dimensions):
        yield f"{holds.relation} reads a page of dimensions"
    elif isinstance(holds, Factor | Narrows):
        yield f"{holds.relation} reads no page of dimensions"
    else:
        along, rows = isinstance(holds, Along), page.labels()
        for name in holds.named():
            if name not in rows:
                yield unknown("row", name, rows)
                continue
            lacking = (_no_quantity(page, name, column, along) for column in holds.columns)
            yield from filter(None, lacking)


def _no_quantity(page: Dimensions, row: str, quantity: str, along: bool) -> str | None:
    """Return the fault of a quantity of a page of dimensions that a claim names, or None.

    Along lengths, margins have ranks (10th), of which a measurement holds some. Recall has the
    shares in `recalls`.
    """
    shows = next(plot.shows for plot in page.rows if plot.id == row)
    if along and shows == "margins":
        rank = re.fullmatch(r"([1-9]\d*)[a-z]{2}", quantity)
        fits = rank and nth(int(rank[1])) == quantity
        return None if fits else f"'{quantity}' is no rank of {row}: write one such as 10th"
    known = [LEAST_MARGIN, *(OF_PAIRS if shows == "pairs" else ())]
    if along:
        known = [f"{share:g}" for share in page.recalls] if shows == "recall" else []
    return None if quantity in known else unknown(f"quantity of {row}", quantity, known)

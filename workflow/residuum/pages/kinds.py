"""The kinds of pages in config/papers. A kind is a folder here and a line in each table below.

Usage: `BINDERS[entry.kind](registry, page, hub)`. Modules of a kind's folder: its schema (`entry`),
faults with other entries (`faults`), the page bound to a scale (`job`), the binding and the input
files (`bind`), the verb (`make`).
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_args

from pydantic import Field

from residuum.code.tables import OpenTable
from residuum.pages.cases.entry import Cases
from residuum.pages.characteristics.entry import Characteristics
from residuum.pages.claims.entry import Claims
from residuum.pages.dimensions.entry import Dimensions
from residuum.pages.entries import Printed, Reported
from residuum.pages.figure.entry import Figure
from residuum.pages.jobs import Bound
from residuum.pages.lines.entry import Lines
from residuum.pages.table.entry import Table
from residuum.pages.venn.entry import Venn

Page = Annotated[
    Table | Characteristics | Cases | Figure | Venn | Dimensions | Lines | Claims,
    Field(discriminator="kind"),
]
ENTRIES: dict[str, type[Printed]] = {
    get_args(form.model_fields["kind"].annotation)[0]: form for form in get_args(get_args(Page)[0])
}
JUDGED = [kind for kind, form in ENTRIES.items() if issubclass(form, Reported)]  # by the ledger

JOBS: OpenTable[type[Bound]] = OpenTable(
    {
        "table": "residuum.pages.table.job:BoundTable",
        "characteristics": "residuum.pages.characteristics.job:BoundCharacteristics",
        "cases": "residuum.pages.cases.job:BoundCases",
        "figure": "residuum.pages.figure.job:BoundFigure",
        "venn": "residuum.pages.venn.job:BoundVenn",
        "dimensions": "residuum.pages.dimensions.job:BoundDimensions",
        "lines": "residuum.pages.lines.job:BoundLines",
        "claims": "residuum.pages.claims.job:BoundClaims",
    },
    "kind of page",
)
# Bind a page to a scale: (registry, page, hub).
BINDERS: OpenTable[Callable[..., Bound]] = OpenTable(
    {
        "table": "residuum.pages.table.bind:bind_table",
        "characteristics": "residuum.pages.characteristics.bind:bind_characteristics",
        "cases": "residuum.pages.cases.bind:bind_cases",
        "figure": "residuum.pages.figure.bind:bind_figure",
        "venn": "residuum.pages.venn.bind:bind_venn",
        "dimensions": "residuum.pages.dimensions.bind:bind_dimensions",
        "lines": "residuum.pages.lines.bind:bind_lines",
        "claims": "residuum.pages.claims.bind:bind_claims",
    }
)
# The inputs of the rules of a kind: a class of (registry, paths, hub), `WIRING.page.KIND` in rules.
INPUTS: OpenTable[Callable[..., object]] = OpenTable(
    {
        "table": "residuum.pages.table.bind:TableInputs",
        "characteristics": "residuum.pages.characteristics.bind:CharacteristicsInputs",
        "cases": "residuum.pages.cases.bind:CasesInputs",
        "figure": "residuum.pages.figure.bind:FigureInputs",
        "venn": "residuum.pages.venn.bind:VennInputs",
        "dimensions": "residuum.pages.dimensions.bind:DimensionsInputs",
        "lines": "residuum.pages.lines.bind:LinesInputs",
        "claims": "residuum.pages.claims.bind:ClaimsInputs",
    }
)
# Say why a page cannot be made at a scale, or None: (registry, page, hub). Other kinds always can.
WHY_NOT_MADE: OpenTable[Callable[..., str | None]] = OpenTable(
    {
        "cases": "residuum.pages.cases.bind:why_not_made",
        "figure": "residuum.pages.figure.bind:why_not_made",
    }
)
# Yield the keys and the faults between a page and other entries: (registry, entry).
FAULTS: OpenTable[Callable[..., Iterator[tuple[str, str]]]] = OpenTable(
    {
        "table": "residuum.pages.table.faults:faults",
        "characteristics": "residuum.pages.faults:reported_faults",
        "figure": "residuum.pages.figure.faults:faults",
        "venn": "residuum.pages.venn.faults:faults",
        "dimensions": "residuum.pages.faults:reported_faults",
        "lines": "residuum.pages.lines.faults:line_faults",
        "claims": "residuum.pages.claims.faults:claim_faults",
    }
)
# Return ledger rows on the pairs of rows that a page does not mark: (job, numbers, tests, before).
BLANKS: OpenTable[Callable[..., list[Any]]] = OpenTable(
    {"table": "residuum.pages.table.blanks:unmarked"}
)
# Return the values behind a number, then those of the row it is a change from: (job, row, column,
# metrics, groups, read). Numbers of other kinds are counted, not measured on runs.
VALUES: OpenTable[Callable[..., list[Any]]] = OpenTable(
    {
        "table": "residuum.pages.table.make:values",
        "figure": "residuum.pages.figure.make:values",
        "venn": "residuum.pages.venn.make:values",
    }
)
# Return the number in each cell of the grid of a page's Markdown: (job, numbers).
GRIDS: OpenTable[Callable[..., list[list[str | None]]]] = OpenTable(
    {
        "table": "residuum.pages.table.make:places",
        "characteristics": "residuum.pages.characteristics.make:places",
        "figure": "residuum.pages.figure.make:places",
        "venn": "residuum.pages.venn.make:places",
        "dimensions": "residuum.pages.dimensions.make:places",
    }
)

"""The provenance of a table cell: its value, tests, per-query values, and all it was made from.

Usage: `explaining.explain(Path("results/mini"), "clear/table1/bm25/dev-rr")`, or on the command
line `residuum explain clear/table1/bm25/dev-rr`. Reads pages, tests, metrics and manifests.
Must not know how any of them was computed.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError, unknown
from residuum.config.schema.papers import DEPTH, parts_of
from residuum.inspect import provenance
from residuum.inspect.provenance import Artefact
from residuum.inspect.text import described, line, together, wrapped
from residuum.pages import grids, layout, tsv
from residuum.pages.grids import Grid, GridCell
from residuum.pages.ledger_page import LedgerRow
from residuum.paired import Comparison
from residuum.wiring.bound import BoundCharacteristics, BoundTable
from residuum.wiring.paths import Paths, below_metrics, folder_of

PATHS = Paths()
SHOWN = 3  # queries at each end
NO_VALUES = {"query_id": pl.String, "value": pl.Float64}


class Cell(NamedTuple):
    """A cell: the line of its table's TSV, the table, and what its value was read from."""

    address: str
    results: Path
    line: GridCell
    page: Grid
    graph: provenance.Graph
    roots: list[str]

    @property
    def metrics(self) -> list[str]:
        """Return the metrics files of the cell's runs; a count or a depth has none."""
        return [root for root in self.roots if PATHS.metrics.parse(root)]

    @property
    def kin(self) -> list[Artefact]:
        """Return all that the cell was made from, sources first."""
        return provenance.ancestors(self.graph, self.roots)


def explain(results: Path, address: str, full: bool = False) -> str:
    """Return all that is known of a cell, as text; `full` prints command lines unshortened."""
    cell = find(results, address)
    parts = [value(cell), claims(cell), tests(cell), per_query(cell)]
    if cell.roots:
        parts.append(described(cell.kin, full))
    return "\n\n".join(part for part in parts if part)


def find(results: Path, address: str) -> Cell:
    """Find a cell; an unknown paper, table, row or column is an error that lists the known ones."""
    name, row, column = _page(results, address)
    path = PATHS.table.fill(page=name)
    lines = _lines(results / path)
    _check(f"row of {name}", row, (line.row for line in lines))
    _check(f"column of {name}", column, (line.column for line in lines))
    graph = provenance.read(results)
    made = graph.get(path)
    if made is None or not made.record:
        missing = f"{results / path}: its manifest is missing beside it; {provenance.AGAIN}"
        raise ResiduumError(missing)
    spec = made.record["spec"]
    page = (BoundTable if "runs" in spec else BoundCharacteristics).model_validate(spec)
    own = next(line for line in lines if (line.row, line.column) == (row, column))
    roots = _roots(own, page, made.parents)
    return Cell(f"{'/'.join(parts_of(name))}/{row}/{column}", results, own, page, graph, roots)


def _page(results: Path, address: str) -> tuple[str, str, str]:
    """Return page id, row and column of an address <paper>/<table>/<row>/<column>."""
    made = sorted(results.glob(PATHS.table.pattern))
    if not made:
        raise ResiduumError(
            f"{results}: no tables; name a results folder (--results results/<scale>) or make them "
            "first: snakemake --cores all"
        )
    names = address.strip("/").split("/")
    if len(names) != 4:
        first = _lines(made[0])[0]
        example = "/".join([*parts_of(first.table), first.row, first.column])
        raise ResiduumError(
            f"'{address}': write a cell as <paper>/<table>/<row>/<column>, such as {example}"
        )
    paper, table, row, column = names
    more = _without_cells(results, f"{paper}-{table}")
    known = [parts_of(path.stem) for path in made]
    _check("paper", paper, (own for own, _ in known), more)
    _check(f"table of {paper}", table, (name for own, name in known if own == paper), more)
    return f"{paper}-{table}", row, column


def _check(kind: str, name: str, known: Iterable[str], more: str = "") -> None:
    names = set(known)
    if name not in names:
        raise ResiduumError(f"{unknown(kind, name, names)}{more}")


def _without_cells(results: Path, page: str) -> str:
    pages = (results / template.fill(page=page) for template in (PATHS.figure, PATHS.cases))
    other = next((path for path in pages if path.is_file()), None)
    if other is None and "-figure" not in page:
        return ""
    where = f"; read {other.with_suffix('.md')}" if other else ""
    return f" Figures and case studies have no cells{where}"


def _lines(path: Path) -> list[GridCell]:
    lines = grids.read(path)
    if not lines:
        raise ResiduumError(f"{path}: a header and no row, where a table has some; {tsv.AGAIN}")
    return lines


def _roots(line: GridCell, page: Grid, read: tuple[str, ...]) -> list[str]:
    """Return what a cell's value was read from: metrics, tuning records, or a split's qrels."""
    if isinstance(page, BoundCharacteristics):
        dataset, _, split = str(line.split_ref).partition("/")
        exported = folder_of(PATHS.queries.fill(dataset=dataset, split=split))
        return [path for path in read if path == exported]
    runs = page.runs.get(line.row, [])
    if line.measure == DEPTH:
        tuned = [p for p in read if (named := PATHS.tuning.parse(p)) and named["run"] in runs]
        return [path for path in tuned if f"/{line.split_ref}/" in path] or tuned
    metrics = (f"{PATHS.metrics_root}/{below_metrics(str(line.split_ref), run)}" for run in runs)
    return [path for path in metrics if path in read]


def value(cell: Cell) -> str:
    """Return what was measured, what the paper reports, and the ledger's verdict."""
    table, own = cell.page.table, cell.line
    row = next(row for row in table.rows if row.id == own.row)
    column = next(column for column in table.columns if column.id == own.column)
    reported = table.reported.get(own.row, {}).get(own.column, "nothing in this cell")
    lines = [
        f"{cell.address} in {cell.results}",
        f"{table.printed_in}: {row.label}, {column.header}",
        "",
        line("measured", _measured(own)),
        line("reported", reported),
        *(line("verdict", f"{row.verdict}: {row.reason}") for row in _ledger(cell, "number")),
    ]
    return "\n".join(lines)


def _measured(cell: GridCell) -> str:
    if cell.measured is None:
        return f"not run: {cell.not_run}"
    seeds = str(cell.per_seed).split()
    each = f"; per seed {' '.join(f'{float(v):.6g}' for v in seeds)}" if len(seeds) > 1 else ""
    return f"{cell.measured:.6g} ({cell.measure} on {cell.split_ref}, {cell.n} queries{each})"


def _ledger(cell: Cell, kind: str) -> list[LedgerRow]:
    path, own = cell.results / PATHS.ledger, cell.line
    address = (own.table, own.row, own.column, kind)
    rows = tsv.rows(path, LedgerRow) if path.is_file() else []
    return [row for row in rows if (row.table, row.row, row.column, row.kind) == address]


def claims(cell: Cell) -> str:
    """List the comparisons that the paper prints in this cell, with their verdicts."""
    rows = _ledger(cell, "comparison")
    lines = [wrapped(f"{row.claim}: {row.verdict} ({row.reason})", "  ", 4) for row in rows]
    return "\n".join(["What the paper's markers claim (ledger.tsv)", *lines]) if lines else ""


def tests(cell: Cell) -> str:
    """Lay out the tests that the cell took part in, each difference from its row's side."""
    name, own = PATHS.significance.fill(page=cell.line.table), cell.line
    path = cell.results / name
    rows = tsv.rows(path, Comparison) if path.is_file() else []
    rows = [test for test in rows if test.column == own.column and own.row in (test.a, test.b)]
    if not rows:
        return ""
    header = ["against", "difference", "95% interval", "p", "p adjusted", "", "wins/ties/losses"]
    lines = layout.grid(header, [_test(own.row, test) for test in rows])
    how = f"{rows[0].test}, correction {rows[0].correction}"
    return f"Tests it took part in ({name}: {how})\n\n{lines}"


def _test(row: str, test: Comparison) -> list[str]:
    sign = 1 if test.a == row else -1
    ends = sorted(sign * end for end in (test.ci_low, test.ci_high) if end is not None)
    return [
        test.b if sign == 1 else test.a,
        f"{sign * test.difference:+.4f}",
        " to ".join(f"{end:+.4f}" for end in ends) or layout.DASH,
        f"{test.p:.4g}",
        f"{test.p_adjusted:.4g}",
        "significant" if test.significant else "",
        "/".join([str(count) for count in (test.wins, test.ties, test.losses)][::sign]),
    ]


def values(cell: Cell) -> pl.DataFrame:
    """Return query_id, value of a cell: the mean over its runs (seeds), sorted by query_id."""
    paths = [cell.results / root for root in cell.metrics]
    if not paths or cell.line.measured is None:
        return pl.DataFrame(schema=NO_VALUES)
    own = pl.concat(map(trec.read_metrics, paths)).filter(measure=cell.line.measure)
    return own.group_by("query_id").agg(pl.col("value").mean()).sort("query_id")


def per_query(cell: Cell) -> str:
    """Summarise the per-query values and name the queries at both ends."""
    each = values(cell)
    if each.is_empty():
        return ""
    quartiles = (each["value"].quantile(q, "linear") for q in (0.25, 0.5, 0.75))
    spread = ", ".join(f"{q:.4g}" for q in quartiles)
    zero = f"{(each['value'] == 0).sum()} of {each.height} queries have 0"
    means = ", means over seeds" * (len(cell.metrics) > 1)
    return "\n".join(
        [
            f"Per query ({together(cell.metrics)}{means})",
            line("quartiles", f"{spread}; {zero}"),
            line("best", _first(each.sort(["value", "query_id"], descending=[True, False]))),
            line("worst", _first(each.sort(["value", "query_id"]))),
        ]
    )


def _first(each: pl.DataFrame) -> str:
    return ", ".join(f"{query_id} {v:.4g}" for query_id, v in each.head(SHOWN).iter_rows())

"""The provenance of a table cell: its value, tests, per-query values, and all it was made from.

Usage: `explaining.explain(Path("results/mini"), "clear/table1/bm25/dev-rr")`, or on the command
line `residuum explain clear/table1/bm25/dev-rr`. Reads pages, tests, metrics and manifests.
Must not know how any of them was computed.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from residuum.core import trec
from residuum.core.errors import ResiduumError, unknown
from residuum.core.schema.papers import DEPTH, parts_of
from residuum.inspect import provenance
from residuum.inspect.provenance import Artefact
from residuum.inspect.text import described, line, together, wrapped
from residuum.pages import layout, tsv
from residuum.wiring.paths import Paths, below_metrics, folder_of

CELL = ("table", "row", "column", "measure", "split_ref", "n", "measured", "per_seed", "not_run")
LEDGER = ("table", "row", "column", "kind", "claim", "verdict", "reason")
COUNTS = ("wins", "ties", "losses")
TEST = ("column", "a", "b", "difference", "p", "p_adjusted", "significant", "test", "correction")
NO_VALUES = {"query_id": pl.String, "value": pl.Float64}
PATHS = Paths()
SHOWN = 3  # queries at each end


class Cell(NamedTuple):
    """A cell: the line of its table's TSV, the table's spec, and what its value was read from."""

    address: str
    results: Path
    line: dict[str, Any]
    spec: dict[str, Any]
    graph: provenance.Graph
    roots: list[str]

    @property
    def page(self) -> str:
        """Return the id of the cell's page, such as clear-table1."""
        return str(self.line["table"])

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
    page, row, column = _page(results, address)
    table = PATHS.table.fill(page=page)
    lines = _lines(results / table)
    _check(f"row of {page}", row, lines["row"])
    _check(f"column of {page}", column, lines["column"])
    line = lines.filter(row=row, column=column).row(0, named=True)
    graph = provenance.read(results)
    made = graph.get(table)
    if made is None or not made.record:
        raise ResiduumError(
            f"{results / table}: its manifest is missing beside it; {provenance.AGAIN}"
        )
    spec = made.record["spec"]
    roots = _roots(line, spec, made.parents)
    return Cell(f"{'/'.join(parts_of(page))}/{row}/{column}", results, line, spec, graph, roots)


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
        first = _lines(made[0]).row(0, named=True)
        example = "/".join([*parts_of(made[0].stem), first["row"], first["column"]])
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


def _lines(path: Path) -> pl.DataFrame:
    lines = tsv.read(path, CELL)
    if lines.is_empty():
        raise ResiduumError(f"{path}: a header and no row, where a table has some; {tsv.AGAIN}")
    return lines


def _roots(line: dict[str, Any], spec: dict[str, Any], read: tuple[str, ...]) -> list[str]:
    """Return what a cell's value was read from: metrics, tuning records, or a split's qrels."""
    split_ref = line["split_ref"]
    if "runs" not in spec:
        dataset, _, split = str(split_ref).partition("/")
        exported = folder_of(PATHS.queries.fill(dataset=dataset, split=split))
        return [path for path in read if path == exported]
    runs = spec["runs"].get(line["row"], [])
    if line["measure"] == DEPTH:
        tuned = [p for p in read if (named := PATHS.tuning.parse(p)) and named["run"] in runs]
        return [path for path in tuned if f"/{split_ref}/" in path] or tuned
    metrics = (f"{PATHS.metrics_root}/{below_metrics(split_ref, run)}" for run in runs)
    return [path for path in metrics if path in read]


def value(cell: Cell) -> str:
    """Return what was measured, what the paper reports, and the ledger's verdict."""
    table, ids = cell.spec["table"], (cell.line["row"], cell.line["column"])
    row = next(row for row in table["rows"] if row["id"] == ids[0])
    column = next(column for column in table["columns"] if column["id"] == ids[1])
    reported = table["reported"].get(ids[0], {}).get(ids[1], "nothing in this cell")
    lines = [
        f"{cell.address} in {cell.results}",
        f"{table['place']}: {row['label']}, {column['header']}",
        "",
        line("measured", _measured(cell.line)),
        line("reported", reported),
    ]
    verdicts = _ledger(cell).filter(kind="number").iter_rows(named=True)
    return "\n".join(
        [*lines, *(line("verdict", f"{r['verdict']}: {r['reason']}") for r in verdicts)]
    )


def _measured(cell: dict[str, Any]) -> str:
    if cell["measured"] is None:
        return f"not run: {cell['not_run']}"
    seeds = str(cell["per_seed"]).split()
    each = f"; per seed {' '.join(f'{float(v):.6g}' for v in seeds)}" if len(seeds) > 1 else ""
    unit = f"{cell['measure']} on {cell['split_ref']}, {cell['n']} queries"
    return f"{cell['measured']:.6g} ({unit}{each})"


def _ledger(cell: Cell) -> pl.DataFrame:
    path = cell.results / PATHS.ledger
    if not path.is_file():
        return pl.DataFrame(schema={"kind": pl.String})
    own = {"table": cell.page, "row": cell.line["row"], "column": cell.line["column"]}
    return tsv.read(path, LEDGER).filter(**own)


def claims(cell: Cell) -> str:
    """List the comparisons that the paper prints in this cell, with their verdicts."""
    rows = _ledger(cell).filter(kind="comparison").iter_rows(named=True)
    lines = [wrapped(f"{r['claim']}: {r['verdict']} ({r['reason']})", "  ", 4) for r in rows]
    return "\n".join(["What the paper's markers claim (ledger.tsv)", *lines]) if lines else ""


def tests(cell: Cell) -> str:
    """Lay out the tests that the cell took part in, each difference seen from its row."""
    name, row = PATHS.significance.fill(page=cell.page), cell.line["row"]
    if not (cell.results / name).is_file():
        return ""
    own = tsv.read(cell.results / name, (*TEST, *COUNTS)).filter(
        (pl.col("column") == cell.line["column"]) & ((pl.col("a") == row) | (pl.col("b") == row))
    )
    if own.is_empty():
        return ""
    header = ["against", "difference", "95% interval", "p", "p adjusted", "", "wins/ties/losses"]
    lines = layout.grid(header, [_test(row, r) for r in own.iter_rows(named=True)])
    how = f"{own['test'][0]}, correction {own['correction'][0]}"
    return f"Tests it took part in ({name}: {how})\n\n{lines}"


def _test(row: str, r: dict[str, Any]) -> list[str]:
    sign = 1 if r["a"] == row else -1
    ends = sorted(sign * r[end] for end in ("ci_low", "ci_high") if r.get(end) is not None)
    return [
        r["b"] if sign == 1 else r["a"],
        f"{sign * r['difference']:+.4f}",
        " to ".join(f"{end:+.4f}" for end in ends) or layout.DASH,
        f"{r['p']:.4g}",
        f"{r['p_adjusted']:.4g}",
        "significant" if str(r["significant"]).lower() == "true" else "",
        "/".join([str(r[name]) for name in COUNTS][::sign]),
    ]


def values(cell: Cell) -> pl.DataFrame:
    """Return query_id, value of a cell: the mean over its runs (seeds), sorted by query_id."""
    paths = [cell.results / root for root in cell.metrics]
    if not paths or cell.line["measured"] is None:
        return pl.DataFrame(schema=NO_VALUES)
    own = pl.concat(map(trec.read_metrics, paths)).filter(measure=cell.line["measure"])
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

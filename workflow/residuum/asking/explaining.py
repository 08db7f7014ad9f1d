"""How a cell of a table came about: value, tests, per-query values, and what it descends from.

Usage: `explaining.explain(Path("results/mini"), "clear/table1/bm25/dev-rr")`, or on the command
line `residuum explain clear/table1/bm25/dev-rr`. Reads pages, tests, metrics and manifests.
Must not know how any of them was computed.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from residuum.asking import lineage
from residuum.asking.descent import described, line, together, wrapped
from residuum.core import trec
from residuum.core.errors import ResiduumError, unknown
from residuum.core.schema.papers import DEPTH, parts_of
from residuum.pages import layout, tsv
from residuum.wiring.paths import Paths, Template, below_metrics, folder_of

PARTS = ("paper", "table", "row", "column")
CELL = ("table", "row", "column", "measure", "split_ref", "n", "measured", "per_seed", "not_run")
LEDGER = ("table", "row", "column", "kind", "claim", "verdict", "reason")
COUNTS = ("wins", "ties", "losses")
TEST = ("column", "a", "b", "difference", "p", "p_adjusted", "significant", "test", "correction")
PATHS = Paths()
SHOWN = 3  # queries at each end


class Asked(NamedTuple):
    """A cell: the line of its table's TSV, the table's spec, and what its value was read from."""

    address: str
    results: Path
    cell: dict[str, Any]
    spec: dict[str, Any]
    graph: lineage.Graph
    roots: list[str]

    @property
    def page(self) -> str:
        """Return the id of the cell's page, such as clear-table1."""
        return str(self.cell["table"])

    @property
    def metrics(self) -> list[str]:
        """Return the metrics files of the cell's runs; a count or a depth has none."""
        return [root for root in self.roots if PATHS.metrics.parse(root)]

    @property
    def kin(self) -> list[lineage.Artefact]:
        """Return all that the cell descends from, sources first."""
        return lineage.ancestors(self.graph, self.roots)


def explain(results: Path, address: str, full: bool = False) -> str:
    """Return all that is known of a cell, as text; `full` prints command lines unshortened."""
    asked = find(results, address)
    parts = [value(asked), claims(asked), tests(asked), per_query(asked)]
    if asked.roots:
        parts.append(described(asked.kin, full))
    return "\n\n".join(part for part in parts if part)


def find(results: Path, address: str) -> Asked:
    """Find a cell; an unknown paper, table, row or column is an error that lists the known ones."""
    results = Path(results)
    page, row, column = _page(results, address)
    path = results / PATHS.table.fill(page=page)
    cells = _cells(path)
    _known(f"row of {page}", row, cells["row"])
    _known(f"column of {page}", column, cells["column"])
    cell = cells.filter(row=row, column=column).row(0, named=True)
    graph = lineage.read(results)
    made = graph.get(PATHS.table.fill(page=page))
    if made is None or not made.record:
        raise ResiduumError(f"{path}: its manifest is missing beside it; {lineage.AGAIN}")
    spec = made.record["spec"]
    roots = _roots(cell, spec, made.parents)
    return Asked(f"{'/'.join(parts_of(page))}/{row}/{column}", results, cell, spec, graph, roots)


def _page(results: Path, address: str) -> tuple[str, str, str]:
    """Return page id, row and column of an address <paper>/<table>/<row>/<column>."""
    made = [path.stem for path in sorted(results.glob(PATHS.table.pattern))]
    if not made:
        raise ResiduumError(
            f"{results}: no tables; name a results folder (--results results/<scale>) or make them "
            "first: snakemake --cores all"
        )
    names = address.strip("/").split("/")
    if len(names) != len(PARTS):
        raise ResiduumError(
            f"'{address}': write a cell as <paper>/<table>/<row>/<column>, such as "
            f"{_example(results / PATHS.table.fill(page=made[0]))}"
        )
    paper, table, row, column = names
    more = _without_cells(results, f"{paper}-{table}")
    known = [parts_of(name) for name in made]
    _known("paper", paper, (own for own, _ in known), more)
    _known(f"table of {paper}", table, (name for own, name in known if own == paper), more)
    return f"{paper}-{table}", row, column


def _known(kind: str, name: str, known: Iterable[str], more: str = "") -> None:
    names = set(known)
    if name not in names:
        raise ResiduumError(f"{unknown(kind, name, names)}{more}")


def _without_cells(results: Path, page: str) -> str:
    pages = (template.fill(page=page) for template in (PATHS.figure, PATHS.cases))
    other = next((path for path in pages if (results / path).is_file()), None)
    if other is None and "-figure" not in page:
        return ""
    where = f"; read {results / Template(other).beside('.md')}" if other else ""
    return f" Figures and case studies have no cells{where}"


def _example(path: Path) -> str:
    cell = _cells(path).row(0, named=True)
    return "/".join([*parts_of(path.stem), cell["row"], cell["column"]])


def _cells(path: Path) -> pl.DataFrame:
    cells = tsv.read(path, CELL)
    if cells.is_empty():
        raise ResiduumError(f"{path}: a header and no row, where a table has some; {tsv.AGAIN}")
    return cells


def _roots(cell: dict[str, Any], spec: dict[str, Any], read: tuple[str, ...]) -> list[str]:
    """Return what a cell's value was read from: metrics, tuning records, or a split's qrels."""
    split_ref = cell["split_ref"]
    if "runs" not in spec:
        dataset, _, split = str(split_ref).partition("/")
        exported = folder_of(PATHS.queries.fill(dataset=dataset, split=split))
        return [path for path in read if path == exported]
    runs = spec["runs"].get(cell["row"], [])
    if cell["measure"] == DEPTH:
        tuned = [p for p in read if (found := PATHS.tuning.parse(p)) and found["run"] in runs]
        return [path for path in tuned if f"/{split_ref}/" in path] or tuned
    wanted = (f"{PATHS.metrics_root}/{below_metrics(split_ref, run)}" for run in runs)
    return [path for path in wanted if path in read]


def value(asked: Asked) -> str:
    """Say what was measured, what the paper reports, and the ledger's verdict."""
    cell, table = asked.cell, asked.spec["table"]
    row = next(row for row in table["rows"] if row["id"] == cell["row"])
    column = next(column for column in table["columns"] if column["id"] == cell["column"])
    head = f"{table['place']}: {row['label']}, {column['header']}"
    lines = [f"{asked.address} in {asked.results}", head, ""]
    lines.append(line("measured", _measured(cell)))
    reported = table["reported"].get(cell["row"], {}).get(cell["column"], "nothing in this cell")
    lines.append(line("reported", reported))
    lines += [
        line("verdict", f"{r['verdict']}: {r['reason']}")
        for r in _ledger(asked).filter(kind="number").iter_rows(named=True)
    ]
    return "\n".join(lines)


def _measured(cell: dict[str, Any]) -> str:
    if cell["measured"] is None:
        return f"not run: {cell['not_run']}"
    seeds = str(cell["per_seed"]).split()
    each = f"; per seed {' '.join(f'{float(v):.6g}' for v in seeds)}" if len(seeds) > 1 else ""
    unit = f"{cell['measure']} on {cell['split_ref']}, {cell['n']} queries"
    return f"{cell['measured']:.6g} ({unit}{each})"


def _ledger(asked: Asked) -> pl.DataFrame:
    path = asked.results / PATHS.ledger
    if not path.is_file():
        return pl.DataFrame(schema={"kind": pl.String})
    cell = asked.cell
    return tsv.read(path, LEDGER).filter(table=asked.page, row=cell["row"], column=cell["column"])


def claims(asked: Asked) -> str:
    """List the comparisons that the paper prints in this cell, with their verdicts."""
    rows = _ledger(asked).filter(kind="comparison").iter_rows(named=True)
    lines = [wrapped(f"{r['claim']}: {r['verdict']} ({r['reason']})", "  ", 4) for r in rows]
    return "\n".join(["What the paper's markers claim (ledger.tsv)", *lines]) if lines else ""


def tests(asked: Asked) -> str:
    """Lay out the tests that the cell took part in, each difference seen from its row."""
    name = PATHS.significance.fill(page=asked.page)
    path = asked.results / name
    if not path.is_file():
        return ""
    row = asked.cell["row"]
    found = tsv.read(path, (*TEST, *COUNTS)).filter(
        (pl.col("column") == asked.cell["column"]) & ((pl.col("a") == row) | (pl.col("b") == row))
    )
    if not found.height:
        return ""
    header = ["against", "difference", "95% interval", "p", "p adjusted", "", "wins/ties/losses"]
    lines = layout.grid(header, [_test(row, r) for r in found.iter_rows(named=True)])
    how = f"{found['test'][0]}, correction {found['correction'][0]}"
    return f"Tests it took part in ({name}: {how})\n\n{lines}"


def _test(row: str, r: dict[str, Any]) -> list[str]:
    sign = 1 if r["a"] == row else -1
    ends = sorted(sign * r[end] for end in ("ci_low", "ci_high") if r.get(end) is not None)
    counts = [str(r[name]) for name in COUNTS][::sign]
    return [
        r["b"] if sign == 1 else r["a"],
        f"{sign * r['difference']:+.4f}",
        " to ".join(f"{end:+.4f}" for end in ends) or layout.DASH,
        f"{r['p']:.4g}",
        f"{r['p_adjusted']:.4g}",
        "significant" if str(r["significant"]).lower() == "true" else "",
        "/".join(counts),
    ]


def values(asked: Asked) -> pl.DataFrame:
    """Return query_id, value of a cell: the mean over its runs (seeds), sorted by query_id."""
    paths = [asked.results / root for root in asked.metrics]
    if not paths or asked.cell["measured"] is None:
        return pl.DataFrame(schema={"query_id": pl.String, "value": pl.Float64})
    read = pl.concat(trec.read_metrics(path) for path in paths)
    own = read.filter(pl.col("measure") == asked.cell["measure"])
    return own.group_by("query_id").agg(pl.col("value").mean()).sort("query_id")


def per_query(asked: Asked) -> str:
    """Summarise the per-query values and name the queries at both ends."""
    found, metrics = values(asked), asked.metrics
    if not found.height:
        return ""
    column = found["value"]
    quartiles = [column.quantile(q, "linear") for q in (0.25, 0.5, 0.75)]
    spread = ", ".join(f"{q:.4g}" for q in quartiles if q is not None)
    top = found.sort(["value", "query_id"], descending=[True, False]).head(SHOWN)
    low = found.sort(["value", "query_id"]).head(SHOWN)
    return "\n".join(
        [
            f"Per query ({together(metrics)}{', means over seeds' * (len(metrics) > 1)})",
            line("quartiles", f"{spread}; {(column == 0).sum()} of {len(column)} queries have 0"),
            line("best", _queries(top)),
            line("worst", _queries(low)),
        ]
    )


def _queries(found: pl.DataFrame) -> str:
    return ", ".join(f"{query_id} {v:.4g}" for query_id, v in found.iter_rows())

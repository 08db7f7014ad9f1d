"""Explain a number: its value, its tests, its per-query values, and its provenance.

Usage: `residuum explain clear/table1/bm25/dev-rr`. Addresses such as `roc/figure4/ours/gain/hard`
name points of figures over groups, and `roc/figure1/a/residual` quantities of circles. Reads pages,
tests, metrics and manifests.
"""

import re
from pathlib import Path

import polars as pl

from residuum.artefacts import intact, trec
from residuum.config.specs import SEED
from residuum.inspect import provenance
from residuum.inspect.addressing import PATHS, Cell, find
from residuum.inspect.integrity import LARGE, Changes
from residuum.inspect.text import line, number, remade, together, wrapped
from residuum.pages import derived, grids, layout, verdicts
from residuum.pages.entries import prefix_of
from residuum.pages.grids import read_groups
from residuum.pages.kinds import VALUES
from residuum.pages.verdicts import LedgerRow
from residuum.paired import Comparison, ScoreMatrix
from residuum.paired.coverage import Coverage

SHOWN = 3  # queries shown at each end
SEEDED = re.compile(SEED)


def explain(results: Path, address: str, full: bool = False, deep: bool = False) -> str:
    """Return a text with all that is known of a cell; `full` prints whole command lines.

    Files behind the cell are compared with their manifests. Files above LARGE bytes are compared by
    size, unless `deep` is true.
    """
    cell = find(results, address)
    behind = provenance.described(provenance.ancestors(cell.graph, cell.roots), full)
    parts = [_value(cell), _changed(cell, deep), _claims(cell), _first(cell), _tests(cell)]
    parts += [_per_query(cell), _counts(cell), behind]
    return "\n\n".join(part for part in parts if part)


def _value(cell: Cell) -> str:
    """Lay out the measured value, the reported value, and the ledger's verdict."""
    table, printed = cell.page.entry, cell.line
    measured = f"{printed.absence}: {printed.not_run}"
    if printed.measured is not None:
        each = [number(float(value)) for value in str(printed.per_seed).split()]
        seeds = f"; per seed {' '.join(each)}" * (len(each) > 1)
        ends = interval(cell)
        within = f"; 95% {' to '.join(map(number, ends))}" if ends else ""
        on = f" on {printed.split_ref}" if printed.split_ref else ""  # an average has several
        about = f"{printed.measure}{on}, {printed.n} queries{seeds}{within}"
        measured = f"{number(printed.measured)} ({about})"
    lines = [
        f"{cell.address} in {cell.results}",
        f"{prefix_of(table.printed_in)}{table.labels()[printed.row]}, {header(cell)}",
        "",
        line("measured", measured),
        line(
            "reported",
            table.reported.get(printed.row, {}).get(printed.column, "nothing in this cell"),
        ),
        *(line("verdict", f"{row.verdict}: {row.reason}") for row in _ledger(cell, "number")),
    ]
    return "\n".join(lines)


def interval(cell: Cell) -> tuple[float, float] | None:
    """Return a number's 95% interval, or None; in figures over groups it is a difference's."""
    low, high = cell.line.ci_low, cell.line.ci_high
    if low is None or high is None or not cell.page.has_intervals:
        return None
    return low, high


def header(cell: Cell) -> str:
    """Return the header of a cell's column on its page."""
    return cell.page.header(cell.line.column)


def changed(cell: Cell, deep: bool) -> tuple[list[str], str]:
    """Return the files behind a cell that differ from their manifests, and a note on sizes.

    Inputs of the pages count only if they are this cell's metrics. The note says how many files
    were compared by size; it is empty if all files were hashed.
    """
    names = (cell.path, PATHS.significance.fill(page=cell.line.table), PATHS.ledger)
    pages = [cell.graph[name] for name in names]
    changes = Changes(cell.results, cell.graph, deep)
    found = changes.among(provenance.ancestors(cell.graph, cell.roots))
    found += [change for change in changes.among(pages, cell.roots) if change not in found]
    skipped = f"{len(changes.skipped)} files above {LARGE / 1e6:.0f} MB compared by size; --deep"
    return [*map(str, found)], f"{skipped} hashes them too" if changes.skipped else ""


def _changed(cell: Cell, deep: bool) -> str:
    found, skipped = changed(cell, deep)
    title = f"Changed since it was made (delete it, then: {remade(cell.results)})"
    lines = [title, *(wrapped(text, "  ", 2) for text in found)] if found else []
    return "\n".join(filter(None, [*lines, skipped]))


def _ledger(cell: Cell, kind: str) -> list[LedgerRow]:
    path, cell_line = cell.results / PATHS.ledger, cell.line
    address = (cell_line.table, cell_line.row, cell_line.column, kind)
    rows = verdicts.ledger(path) if path.is_file() else []
    return [row for row in rows if (row.table, row.row, row.column, row.kind) == address]


def _claims(cell: Cell) -> str:
    """List the paper's comparisons of this cell, with their verdicts."""
    rows = _ledger(cell, "comparison")
    lines = [wrapped(f"{row.claim}: {row.verdict} ({row.reason})", "  ", 2) for row in rows]
    return "\n".join(["What the paper's markers claim (ledger.tsv)", *lines]) if lines else ""


def _first(cell: Cell) -> str:
    """Describe a figure point's test against the first series, from the page's data."""
    path = intact.checked(cell.results / cell.path)
    table = pl.read_csv(path, separator="\t", infer_schema_length=None)
    if (first := cell.page.first({*table.filter(pl.col("measured").is_not_null())["row"]})) is None:
        return ""
    row, column = cell.line.row, cell.line.column
    test = table.row(by_predicate=(pl.col("row") == row) & (pl.col("column") == column), named=True)
    if test.get("p") is None:
        return ""
    text = f"{test['difference']:+.4f}, 95% {test['ci_low']:+.4f} to {test['ci_high']:+.4f}"
    p = f"p {test['p']:.4g}, adjusted {test['p_adjusted']:.4g}"
    return f"Against {first.label}: {text}, {p}{', significant' * test['significant']}"


def _tests(cell: Cell) -> str:
    """Lay out the tests of a cell; each difference has the sign of the cell's own row."""
    printed = cell.line
    name = PATHS.significance.fill(page=printed.table)
    tests = [
        test
        for test in tests_of(cell.results, printed.table)
        if test.column == printed.column and printed.row in (test.a, test.b)
    ]
    if not tests:
        return ""
    rows = []
    for test in tests:
        sign = 1 if test.a == printed.row else -1
        both = (test.ci_low, test.ci_high)
        both = both if test.seed_low is None else (test.seed_low, test.seed_high)
        ends = sorted(sign * end for end in both if end is not None)
        interval = " to ".join(f"{end:+.4f}" for end in ends) or layout.DASH
        mean = [test.b if sign == 1 else test.a, f"{sign * test.difference:+.4f}", interval]
        over = "" if test.p_over_seeds is None else f"{test.p_over_seeds:.4g}"
        agree = test.seeds_agreeing or ""
        p = [f"{test.p:.4g}", f"{test.p_adjusted:.4g}", "significant" * test.significant]
        p += [over, agree]
        counts = [str(count) for count in (test.wins, test.ties, test.losses)][::sign]
        rows.append([*mean, *p, "/".join(counts)])
    with_seeds = any(test.seed_low is not None for test in tests)
    within = f"95% interval{', seeds too' * with_seeds}"
    header = ["against", "difference", within, "p", "p adjusted", "", "p over seeds"]
    header += ["seeds agreeing", "wins/ties/losses"]
    how = f"{tests[0].test}, correction {tests[0].correction}"
    return f"Tests it took part in ({name}: {how})\n\n{layout.grid(header, rows)}"


def tests_of(results: Path, page: str) -> list[Comparison]:
    """Return the tests of a page, or [] if it has no tests."""
    path = results / PATHS.significance.fill(page=page)
    return grids.rows(path, Comparison) if path.is_file() else []


def made(cell: Cell, read: grids.Read = trec.read_metrics) -> list[derived.Value]:
    """Return the cell's value and, for a change, the value it is a change from."""
    cell_line, kind = cell.line, cell.page.entry.kind
    if cell_line.measured is None or kind not in VALUES:
        return []
    groups = read_groups(cell.results / p for p in cell.roots if PATHS.groups.parse(p))
    metrics = cell.results / PATHS.metrics_root
    return VALUES[kind](cell.page, cell_line.row, cell_line.column, metrics, groups, read)


def values(cell: Cell, read: grids.Read = trec.read_metrics) -> pl.DataFrame:
    """Return query_id and value of a cell, averaged over seeds and sorted by query_id.

    For a change, values are differences. A choice, a count and a ratio have no values. For many
    cells, pass a `read` that caches the files it reads.
    """
    return per_query(made(cell, read))


def per_query(shown: list[derived.Value]) -> pl.DataFrame:
    """Return query_id and value of the first matrix, less the matrix it is a change from."""
    matrices = [value for value in shown if isinstance(value, ScoreMatrix)]
    if not matrices:
        return pl.DataFrame(schema={"query_id": pl.String, "value": pl.Float64})
    first, *others = (matrix.values.mean(axis=1) for matrix in matrices)
    return pl.DataFrame({"query_id": matrices[0].query_ids, "value": first - sum(others)})


def counts(cell: Cell, shown: list[derived.Value]) -> list[str]:
    """Count the queries behind a cell's ratio, and behind the ratio it is a change from."""
    ratios = [value for value in shown if isinstance(value, Coverage)]
    names = ["", f"{cell.line.row}: ", "what it is a change from: "]
    return [
        f"{name}D answers {ratio.first:g} of {ratio.queries} queries, S {ratio.second:g}; D alone "
        f"{ratio.residual:g}, both {ratio.overlap:g}, neither {ratio.failures:g}; RoC "
        f"{layout.DASH if ratio.ratio is None else f'{ratio.ratio:.6g}'}"
        for name, ratio in zip(names[1:] if len(ratios) > 1 else names, ratios, strict=False)
    ]


def _counts(cell: Cell) -> str:
    lines = [f"  {line}" for line in counts(cell, made(cell))]
    means = ", means over seeds" * any(len(paths) > 1 for paths in _systems(cell))
    return "\n".join([f"Queries ({_read(cell)}{means})", *lines]) if lines else ""


def _read(cell: Cell) -> str:
    """Name the metrics files behind a cell; files that differ only by seed share a name."""
    return ", ".join(map(together, _systems(cell)))


def _systems(cell: Cell) -> list[list[str]]:
    """Return the files that a cell was read from, grouped by system across seeds."""
    systems: dict[str, list[str]] = {}
    for path in cell.roots:
        systems.setdefault(SEEDED.sub("", path), []).append(path)
    return list(systems.values())


def _per_query(cell: Cell) -> str:
    """Summarise the per-query values; name the best and the worst queries."""
    table = values(cell)
    if table.is_empty():
        return ""
    quartiles = (table["value"].quantile(q, "linear") for q in (0.25, 0.5, 0.75))
    spread = ", ".join(f"{q:.4g}" for q in quartiles)
    zero = f"{(table['value'] == 0).sum()} of {table.height} queries have 0"
    means = ", means over seeds" * any(len(paths) > 1 for paths in _systems(cell))
    lines = [f"Per query ({_read(cell)}{means})", line("quartiles", f"{spread}; {zero}")]
    for name, descending in (("best", True), ("worst", False)):
        ends = table.sort(["value", "query_id"], descending=[descending, False]).head(SHOWN)
        lines.append(line(name, ", ".join(f"{query_id} {v:.4g}" for query_id, v in ends.rows())))
    return "\n".join(lines)

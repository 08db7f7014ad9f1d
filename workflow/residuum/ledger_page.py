"""The ledger for reading: counts first, then what contradicts a paper, then every row.

Usage: `page(ledger, scale, reason)` for ledger.md, `digest(results)` for `residuum ledger`.
Must not know how a verdict is reached.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from residuum.core import pages, tsv
from residuum.core.errors import ResiduumError
from residuum.wiring.paths import Paths

VERDICTS = {
    "comparison": ["holds", "inconclusive", "reversed", "not run"],
    "number": ["reproduced", "close", "differs", "not comparable", "not run"],
}
COUNTED = list(dict.fromkeys(v for verdicts in VERDICTS.values() for v in verdicts))
AGAINST = ["reversed", "differs"]
Row = dict[str, Any]


def counts(ledger: pl.DataFrame) -> str:
    """Count the verdicts in a grid with a line per paper and kind; a dash cannot occur."""
    lines = []
    for rows in ledger.partition_by("paper", maintain_order=True):
        for kind, possible in VERDICTS.items():
            own = rows.filter(kind=kind)
            counted = Counter(own["verdict"])
            shown = [str(counted[v]) if v in possible else pages.DASH for v in COUNTED]
            lines += [[rows["paper"][0], f"{kind}s", *shown]] if own.height else []
    return pages.grid(["paper", "printed", *COUNTED], lines)


def page(ledger: pl.DataFrame, scale: str, reason: str) -> str:
    """Write the whole page; what stands above `pages.MORE` is the summary that a job prints."""
    if ledger.is_empty():
        return f"# Ledger, scale {scale}\n\nThe chosen pages report no number and no comparison.\n"
    papers = ledger.partition_by("paper", maintain_order=True)
    tables = ledger.partition_by("table", maintain_order=True)
    return "\n\n".join(
        [
            f"# Ledger, scale {scale}",
            f"Scale {scale}: {reason}",
            counts(ledger),
            "`ledger.md` goes on with what contradicts each paper, what is not run and every row; "
            "`ledger.tsv` has the rows unrounded. docs/verdicts.md says what a verdict means.",
            pages.MORE,
            *(_paper(rows) for rows in papers),
            "## Every number and comparison",
            "A comparison's reported and measured values are differences. Where a number is not "
            "comparable and no reason stands beside it, the reason is the scale's, above.",
            *(_table(rows, reason) for rows in tables),
            "",
        ]
    )


def _paper(rows: pl.DataFrame) -> str:
    against = rows.filter(pl.col("verdict").is_in(AGAINST))
    absent = rows.filter(verdict="not run")
    parts = [f"## {rows['paper'][0]}", _against(against), *_not_run(absent)]
    return "\n\n".join(parts)


def _against(rows: pl.DataFrame) -> str:
    """Lay out what contradicts a paper: comparisons that are reversed, numbers that differ."""
    if rows.is_empty():
        return "Nothing here contradicts the paper."
    header = ["where", "column", "claim", "verdict", "reported", "measured", "p"]
    lines = [
        [
            r["place"],
            r["column"],
            _text(r["claim"]),
            r["verdict"],
            _value(r, "reported"),
            _value(r, "measured"),
            _value(r, "p_adjusted"),
        ]
        for r in rows.iter_rows(named=True)
    ]
    return f"Against the paper: {rows.height}.\n\n{pages.grid(header, lines)}"


def _not_run(rows: pl.DataFrame) -> Iterator[str]:
    """List what is not run, grouped by the reason."""
    if rows.is_empty():
        return
    reasons: dict[str, list[Row]] = {}
    for row in rows.iter_rows(named=True):
        reason = _bare(row)
        reasons.setdefault(reason, []).append(row)
    listed = [f"- {_text(why)}: {_places(found)}" for why, found in reasons.items()]
    yield f"Not run: {rows.height}.\n\n" + "\n".join(listed)


def _bare(row: Row) -> str:
    """Return a reason without the row that a comparison's reason names first, and its full stop."""
    reason, words = str(row["reason"]), row["claim"].split()
    named = [name for name in (words[0], words[-1]) if row["kind"] == "comparison"]
    start = next((f"{name}: " for name in named if reason.startswith(f"{name}: ")), "")
    return reason.removeprefix(start).rstrip(".")


def _places(rows: list[Row]) -> str:
    """Write where rows stand: place, rows of the table, how many numbers and comparisons."""
    places: dict[str, list[Row]] = {}
    for row in rows:
        places.setdefault(row["place"], []).append(row)
    return "; ".join(
        f"{place} ({', '.join(dict.fromkeys(r['row'] for r in found))}; {_amounts(found)})"
        for place, found in places.items()
    )


def _amounts(rows: list[Row]) -> str:
    numbers = sum(row["kind"] == "number" for row in rows)
    pairs = [(numbers, "number"), (len(rows) - numbers, "comparison")]
    return ", ".join(f"{n} {kind}{'s' * (n != 1)}" for n, kind in pairs if n)


def _table(rows: pl.DataFrame, known: str) -> str:
    """Lay a table's rows out; the scale's own reason is known."""
    header = ["row", "column", "claim", "reported", "measured", "delta", "tolerance", "verdict"]
    lines = [
        [
            r["row"],
            r["column"],
            _text(r["claim"]),
            *(_value(r, name) for name in ("reported", "measured", "delta")),
            "" if r["tolerance"] is None else f"{r['tolerance']:g}",
            r["verdict"],
            "" if r["reason"] == known else _text(r["reason"]),
        ]
        for r in rows.iter_rows(named=True)
    ]
    return f"### {rows['place'][0]}\n\n{pages.grid([*header, 'reason'], lines)}"


def _value(row: Row, name: str) -> str:
    """Round for reading; a difference carries its sign, a value that is not there is empty."""
    value = row[name]
    if value is None:
        return ""
    signed = name == "delta" or (row["kind"] == "comparison" and name != "p_adjusted")
    return f"{value:+.4g}" if signed else f"{value:.4g}"


def _text(text: str) -> str:
    return text.translate(pages.MARKDOWN)


def digest(results: Path) -> str:
    """Return the counts of a results folder's ledger and where its page and rows lie."""
    path = Path(results) / Paths().ledger
    if not path.is_file():
        there = sorted(str(p.parent) for p in path.parent.parent.glob(f"*/{Paths().ledger}"))
        named = f"there is {', '.join(there)}" if there else "snakemake --cores all makes one"
        raise ResiduumError(f"{path}: no such file; name a results folder with --results: {named}")
    ledger = tsv.read(path, ("paper", "kind", "verdict"))
    where = f"read {path.with_suffix('.md')}; every row, unrounded: {path}"
    return f"{counts(ledger) if ledger.height else 'The ledger is empty.'}\n\n{where}"

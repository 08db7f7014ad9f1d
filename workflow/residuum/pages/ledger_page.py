"""The ledger for reading: counts first, then what contradicts a paper, then every row.

Usage: `page(rows, scale, reason)` for ledger.md, `digest(results)` for `residuum ledger`.
Must not know how a verdict is reached.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from residuum.cli.errors import ResiduumError
from residuum.pages import tsv
from residuum.pages.layout import DASH, MARKDOWN, MORE, grid
from residuum.wiring.paths import Paths

VERDICTS = {
    "comparison": ["holds", "inconclusive", "reversed", "not run"],
    "number": ["reproduced", "close", "differs", "not comparable", "not run"],
}
COUNTED = list(dict.fromkeys(v for verdicts in VERDICTS.values() for v in verdicts))
AGAINST = ["reversed", "differs"]


@dataclass(frozen=True)
class LedgerRow:
    """A number or a comparison that a paper prints; a comparison's values are differences."""

    paper: str
    printed_in: str
    table: str
    row: str
    column: str
    kind: str
    claim: str
    reported: float | None
    measured: float | None
    delta: float | None
    tolerance: float | None
    p_adjusted: float | None
    verdict: str
    reason: str


Rows = Sequence[LedgerRow]


def _grouped(rows: Rows, key: Callable[[LedgerRow], str]) -> dict[str, list[LedgerRow]]:
    groups: dict[str, list[LedgerRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def counts(ledger: Rows) -> str:
    """Count the verdicts in a grid with a line per paper and kind; a dash cannot occur."""
    lines = []
    for paper, rows in _grouped(ledger, lambda row: row.paper).items():
        for kind, possible in VERDICTS.items():
            if counted := Counter(row.verdict for row in rows if row.kind == kind):
                shown = [str(counted[v]) if v in possible else DASH for v in COUNTED]
                lines.append([paper, f"{kind}s", *shown])
    return grid(["paper", "printed", *COUNTED], lines)


def page(ledger: Rows, scale: str, reason: str) -> str:
    """Write the whole page; what stands above `MORE` is the summary that is printed at the end."""
    if not ledger:
        return f"# Ledger, scale {scale}\n\nThe chosen pages report no number and no comparison.\n"
    return "\n\n".join(
        [
            f"# Ledger, scale {scale}",
            f"Scale {scale}: {reason}",
            counts(ledger),
            "`ledger.md` goes on with what contradicts each paper, what is not run and every row; "
            "`ledger.tsv` has the rows unrounded. docs/verdicts.md says what a verdict means.",
            MORE,
            *(_paper(*group) for group in _grouped(ledger, lambda row: row.paper).items()),
            "## Every number and comparison",
            "A comparison's reported and measured values are differences. A number that is not "
            "comparable, without a reason beside it, is so for the scale's reason, given above.",
            *(_table(rows, reason) for rows in _grouped(ledger, lambda row: row.table).values()),
            "",
        ]
    )


def _paper(paper: str, rows: Rows) -> str:
    against = [row for row in rows if row.verdict in AGAINST]
    absent = [row for row in rows if row.verdict == "not run"]
    return "\n\n".join([f"## {paper}", _against(against), *_not_run(absent)])


def _against(rows: Rows) -> str:
    """Lay out what contradicts a paper: comparisons that are reversed, numbers that differ."""
    if not rows:
        return "Nothing contradicts the paper."
    header = ["where", "column", "claim", "verdict", "reported", "measured", "p"]
    lines = [
        [r.printed_in, r.column, _text(r.claim), r.verdict, *_values(r), _rounded(r.p_adjusted)]
        for r in rows
    ]
    return f"Against the paper: {len(rows)}.\n\n{grid(header, lines)}"


def _not_run(rows: Rows) -> Iterator[str]:
    """List what is not run, grouped by the reason."""
    if rows:
        listed = [
            f"- {_text(why)}: {_printed_in(own)}" for why, own in _grouped(rows, _bare).items()
        ]
        yield f"Not run: {len(rows)}.\n\n" + "\n".join(listed)


def _bare(row: LedgerRow) -> str:
    """Return a reason without the row that a comparison's reason names first, and its full stop."""
    words = row.claim.split() if row.kind == "comparison" else []
    starts = (f"{name}: " for name in words[:1] + words[-1:])
    start = next((start for start in starts if row.reason.startswith(start)), "")
    return row.reason.removeprefix(start).rstrip(".")


def _printed_in(rows: Rows) -> str:
    """Write where rows are printed: table, its rows, how many numbers and comparisons."""
    return "; ".join(
        f"{page} ({', '.join(dict.fromkeys(r.row for r in own))}; {_amounts(own)})"
        for page, own in _grouped(rows, lambda row: row.printed_in).items()
    )


def _amounts(rows: Rows) -> str:
    kinds = Counter(row.kind for row in rows)
    pairs = [(kinds[kind], kind) for kind in ("number", "comparison")]
    return ", ".join(f"{n} {kind}{'s' * (n != 1)}" for n, kind in pairs if n)


def _table(rows: Rows, known: str) -> str:
    """Lay a table's rows out; the scale's own reason is known."""
    header = ["row", "column", "claim", "reported", "measured", "delta", "tolerance", "verdict"]
    lines = [
        [
            r.row,
            r.column,
            _text(r.claim),
            *_values(r),
            _rounded(r.delta, "+.4g"),
            _rounded(r.tolerance, "g"),
            r.verdict,
            "" if r.reason == known else _text(r.reason),
        ]
        for r in rows
    ]
    return f"### {rows[0].printed_in}\n\n{grid([*header, 'reason'], lines)}"


def _values(row: LedgerRow) -> list[str]:
    """Return what is reported and measured; a difference carries its sign."""
    form = "+.4g" if row.kind == "comparison" else ".4g"
    return [_rounded(row.reported, form), _rounded(row.measured, form)]


def _rounded(value: float | None, form: str = ".4g") -> str:
    return "" if value is None else f"{value:{form}}"


def _text(text: str) -> str:
    return text.translate(MARKDOWN)


def digest(results: Path) -> str:
    """Return the counts of a results folder's ledger and where its page and rows lie."""
    path = Path(results) / Paths().ledger
    if not path.is_file():
        made = sorted(str(p.parent) for p in path.parent.parent.glob(f"*/{path.name}"))
        named = f"there is {', '.join(made)}" if made else "snakemake --cores all makes one"
        raise ResiduumError(f"{path}: no such file; name a results folder with --results: {named}")
    ledger = tsv.rows(path, LedgerRow)
    where = f"read {path.with_suffix('.md')}; every row, unrounded: {path}"
    return f"{counts(ledger) if ledger else 'The ledger is empty.'}\n\n{where}"

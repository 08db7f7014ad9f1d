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
from residuum.pages.layout import DASH, MORE, grid, plain
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


def _grouped(rows: Rows, key: Callable[[LedgerRow], str]) -> Iterator[tuple[str, list[LedgerRow]]]:
    """Yield rows that share a key, in the order of the keys' first rows."""
    groups: dict[str, list[LedgerRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    yield from groups.items()


def counts(ledger: Rows) -> str:
    """Count the verdicts in a grid with a line per paper and kind; a dash cannot occur."""
    lines = []
    for paper, rows in _grouped(ledger, lambda row: row.paper):
        for kind, possible in VERDICTS.items():
            if counted := Counter(row.verdict for row in rows if row.kind == kind):
                shown = [str(counted[v]) if v in possible else DASH for v in COUNTED]
                lines.append([paper, f"{kind}s", *shown])
    return grid(["paper", "printed", *COUNTED], lines)


def page(ledger: Rows, scale: str, reason: str) -> str:
    """Write the whole page; what stands above `MORE` is the summary that is printed at the end."""
    if not ledger:
        return f"# Ledger, scale {scale}\n\nThe chosen pages report no number and no comparison.\n"
    parts = [
        f"# Ledger, scale {scale}",
        f"Scale {scale}: {reason}",
        counts(ledger),
        "`ledger.md` goes on with what contradicts each paper, what is not run and every row; "
        "`ledger.tsv` has the rows unrounded. docs/verdicts.md says what a verdict means.",
        MORE,
    ]
    for paper, rows in _grouped(ledger, lambda row: row.paper):
        parts += [f"## {paper}", *_in_short(rows)]
    parts += [
        "## Every number and comparison",
        "A comparison's reported and measured values are differences. A number that is not "
        "comparable, without a reason beside it, is so for the scale's reason, given above.",
    ]
    header = ["row", "column", "claim", "reported", "measured", "delta", "tolerance", "verdict"]
    for _, rows in _grouped(ledger, lambda row: row.table):
        lines = []
        for r in rows:
            changes = [_rounded(r.delta, "+.4g"), _rounded(r.tolerance, "g")]
            why = "" if r.reason == reason else plain(r.reason)
            lines.append([r.row, r.column, plain(r.claim), *_values(r), *changes, r.verdict, why])
        parts.append(f"### {rows[0].printed_in}\n\n{grid([*header, 'reason'], lines)}")
    return "\n\n".join([*parts, ""])


def _in_short(rows: Rows) -> Iterator[str]:
    """Yield what contradicts a paper (reversed comparisons, numbers that differ) or is not run."""
    lines = [
        [r.printed_in, r.column, plain(r.claim), r.verdict, *_values(r), _rounded(r.p_adjusted)]
        for r in rows
        if r.verdict in AGAINST
    ]
    header = ["where", "column", "claim", "verdict", "reported", "measured", "p"]
    against = f"Against the paper: {len(lines)}.\n\n{grid(header, lines)}"
    yield against if lines else "Nothing contradicts the paper."
    if absent := [row for row in rows if row.verdict == "not run"]:
        groups = _grouped(absent, _bare)
        listed = "\n".join(f"- {plain(why)}: {_printed_in(own)}" for why, own in groups)
        yield f"Not run: {len(absent)}.\n\n{listed}"


def _bare(row: LedgerRow) -> str:
    """Return a reason without the row that a comparison's reason names first, and its full stop."""
    words = row.claim.split() if row.kind == "comparison" else []
    starts = (f"{name}: " for name in words[:1] + words[-1:])
    start = next((start for start in starts if row.reason.startswith(start)), "")
    return row.reason.removeprefix(start).rstrip(".")


def _printed_in(rows: Rows) -> str:
    """Write where rows are printed: table, its rows, how many numbers and comparisons."""
    parts = []
    for page, own in _grouped(rows, lambda row: row.printed_in):
        kinds = Counter(row.kind for row in own)
        counted = [(kinds[kind], kind) for kind in ("number", "comparison") if kinds[kind]]
        amounts = ", ".join(f"{n} {kind}{'s' * (n != 1)}" for n, kind in counted)
        parts.append(f"{page} ({', '.join(dict.fromkeys(r.row for r in own))}; {amounts})")
    return "; ".join(parts)


def _values(row: LedgerRow) -> list[str]:
    """Return what is reported and measured; a difference carries its sign."""
    form = "+.4g" if row.kind == "comparison" else ".4g"
    return [_rounded(row.reported, form), _rounded(row.measured, form)]


def _rounded(value: float | None, form: str = ".4g") -> str:
    return "" if value is None else f"{value:{form}}"


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

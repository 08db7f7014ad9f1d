"""One row per number and per comparison that the papers print: reported, measured, verdict.

Command: `python -m residuum.ledger write ...`. Verdicts are defined in docs/verdicts.md.
Must not know how tables are rendered or tests computed.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from residuum.artefacts import files, manifest
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.pages import grids
from residuum.pages.grids import Grid, GridCell
from residuum.pages.layout import DASH, MORE, grid, plain
from residuum.pages.verdicts import VERDICTS, LedgerRow, judge
from residuum.paired import Comparison
from residuum.wiring.bound import BoundCharacteristics, BoundTable
from residuum.wiring.paths import Paths

app = command.app(__doc__)
HOLM = "comparisons, Holm"
COUNTED = list(dict.fromkeys(v for verdicts in VERDICTS.values() for v in verdicts))
JUDGED: dict[str, type[Grid]] = {"table": BoundTable, "characteristics": BoundCharacteristics}
Rows = Sequence[LedgerRow]


@app.command()
def write(
    spec: Annotated[list[str], typer.Option(help="page as JSON, one per --table")],
    table: Annotated[list[Path], typer.Option(help="table TSV, in the order of --spec")],
    significance: Annotated[list[Path], typer.Option(help="TSV of the tests, named as its table")],
    output: Annotated[Path, typer.Option(help="ledger TSV to write")],
) -> None:
    """Judge every reported number and comparison of the given tables."""
    ledger: list[LedgerRow] = []
    kinds = [json.loads(text)["table"]["kind"] for text in spec]
    forms = [JUDGED.get(kind, BoundTable) for kind in kinds]  # whose schema refuses other kinds
    jobs = list(map(command.parse_spec, forms, spec))
    tests = {path.stem: grids.rows(path, Comparison) for path in significance}
    for job, path in zip(jobs, table, strict=True):
        if isinstance(job, BoundTable) and job.id not in tests:
            raise ResiduumError(f"{job.id}: no --significance named {job.id}.tsv")
        ledger += judge(
            job, grids.rows(path, GridCell, optional=grids.INDEX), tests.get(job.id, [])
        )
    files.write_text(output, grids.frame(ledger, LedgerRow).write_csv(separator="\t"))
    reading = output.with_suffix(".md")
    files.write_text(reading, page(ledger, jobs[0].scale, jobs[0].reason))
    made_of, inputs = {"tables": [path.stem for path in table]}, [*table, *significance]
    own = [output, reading]
    manifest.write(output, {"rows": len(ledger)}, made_of, inputs, "residuum.ledger", own)


def _grouped(rows: Rows, key: Callable[[LedgerRow], str]) -> Iterator[tuple[str, list[LedgerRow]]]:
    """Yield rows that share a key, in the order of the keys' first rows."""
    groups: dict[str, list[LedgerRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    yield from groups.items()


def counts(ledger: Rows) -> str:
    """Count the verdicts in a grid with a line per paper and kind; a dash cannot occur.

    Comparisons have a second one, all corrected by Holm within their column.
    """
    lines = []
    for paper, rows in _grouped(ledger, lambda row: row.paper):
        own = {f"{kind}s": [r.verdict for r in rows if r.kind == kind] for kind in VERDICTS}
        under_holm = [r.under_holm for r in rows if r.under_holm]
        for what, verdicts in {**own, HOLM: under_holm}.items():
            possible = VERDICTS["number" if what == "numbers" else "comparison"]
            if counted := Counter(verdicts):
                shown = [str(counted[v]) if v in possible else DASH for v in COUNTED]
                lines.append([paper, what, *shown])
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
        "A comparison's reported and measured values are differences; effect ratio: measured over "
        "reported one; delta RI: reported relative improvement less the measured one. A number "
        "that is not comparable, without a reason beside it, is so for the scale's reason, given "
        "above.",
    ]
    header = ["row", "column", "claim", "reported", "measured", "delta", "tolerance"]
    header += ["effect ratio", "delta RI", "verdict"]
    for _, rows in _grouped(ledger, lambda row: row.table):
        lines = []
        for r in rows:
            changes = [_rounded(r.delta, "+.4g"), _rounded(r.tolerance, "g")]
            changes += [_rounded(r.effect_ratio, ".3g"), _rounded(r.delta_ri, "+.3g")]
            why = "" if r.reason == reason else plain(r.reason)
            lines.append([r.row, r.column, plain(r.claim), *_values(r), *changes, r.verdict, why])
        parts.append(f"### {rows[0].printed_in}\n\n{grid([*header, 'reason'], lines)}")
    return "\n\n".join([*parts, ""])


def _in_short(rows: Rows) -> Iterator[str]:
    """Yield what contradicts a paper (reversed comparisons, numbers that differ) or is not run."""
    lines = [
        [r.printed_in, r.column, plain(r.claim), r.verdict, *_values(r), _rounded(r.p_adjusted)]
        for r in rows
        if r.verdict in ("reversed", "differs")
    ]
    header = ["where", "column", "claim", "verdict", "reported", "measured", "p"]
    against = f"Against the paper: {len(lines)}.\n\n{grid(header, lines)}"
    yield against if lines else "Nothing contradicts the paper."
    if models := [row for row in rows if row.verdict == "these models only"]:
        lines = [
            [r.printed_in, r.column, plain(r.claim), *_values(r), _rounded(r.p_adjusted),
             _rounded(r.p_over_seeds), str(r.seeds_agreeing)]
            for r in models
        ]  # fmt: skip
        header = ["where", "column", "claim", "reported", "measured", "p", "p over seeds", "seeds"]
        text = "Significant over queries and not over training seeds, so of these models only"
        yield f"{text}: {len(models)}.\n\n{grid(header, lines)}"
    if absent := [row for row in rows if row.verdict == "not run"]:
        groups = _grouped(absent, _bare)
        listed = "\n".join(f"- {plain(why)}: {_printed_in(own)}" for why, own in groups)
        yield f"Not run: {len(absent)}.\n\n{listed}"


def _bare(row: LedgerRow) -> str:
    """Return a reason without the row that a comparison's reason names first, and its full stop."""
    reason = row.reason.partition(": ")[2] if row.kind == "comparison" else row.reason
    return reason.rstrip(".")


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
        named = ", ".join(made) or "snakemake --cores all makes one"
        raise ResiduumError(f"{path}: no such file; name a results folder with --results: {named}")
    ledger = grids.rows(path, LedgerRow)
    where = f"read {path.with_suffix('.md')}; every row, unrounded: {path}"
    return f"{counts(ledger) if ledger else 'The ledger is empty.'}\n\n{where}"


if __name__ == "__main__":
    command.main(app)

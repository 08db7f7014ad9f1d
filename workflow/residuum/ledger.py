"""One row per number and per comparison that the papers print: reported, measured, verdict.

Command: `python -m residuum.ledger write ...`. Verdicts are defined in docs/verdicts.md.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import typer
from pydantic import BaseModel

from residuum.artefacts import files, manifest
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.pages import grids, notes
from residuum.pages.bearing import Weighed
from residuum.pages.jobs import Judged
from residuum.pages.kinds import BLANKS, JOBS, JUDGED
from residuum.pages.layout import DASH, MORE, grid, harmless, plain
from residuum.pages.verdicts import VERDICTS, Before, LedgerRow, judge, number_form, why_not_shown
from residuum.pages.verdicts import ledger as read_ledger
from residuum.wiring.paths import Paths

app = command.app(__doc__)
HOLM = "comparisons, Holm"
AGAINST = ("reversed", "differs")
AGAIN = "as before"  # printed earlier, of the same runs, and counted there
BLANK = "no marker"
Rows = Sequence[LedgerRow]


class Kind(BaseModel):
    """The field of an entry that names its kind."""

    kind: str


class Named(BaseModel):
    """The field of a bound page that holds its entry's kind."""

    entry: Kind


@app.command()
def write(
    spec: Annotated[list[str], typer.Option(help="page as JSON, one per --table")],
    table: Annotated[list[Path], typer.Option(help="TSV of a page, in the order of --spec")],
    output: Annotated[Path, command.written("ledger TSV to write")],
    significance: Annotated[
        list[Path] | None, typer.Option(help="TSV of the tests, named as its table")
    ] = None,
    claims: Annotated[list[Path] | None, typer.Option(help="TSV of judged claims")] = None,
) -> None:
    """Judge every reported number and comparison of the given pages; add judged claims."""
    ledger, before = list[LedgerRow](), Before()
    jobs = list(map(bound, spec))
    tests = {path.stem: grids.rows(path, Weighed) for path in significance or []}
    for job, path in zip(jobs, table, strict=True):
        if job.between_rows() and job.id not in tests:
            raise ResiduumError(f"{job.id}: no --significance named {job.id}.tsv")
        cells = grids.read_cells(path)
        ledger += judge(job, cells, tests.get(job.id, []), before)
        if job.entry.kind in BLANKS:
            ledger += BLANKS[job.entry.kind](job, cells, tests[job.id], before)
    ledger += [
        replace(row, same_as=before.claim(row.table, row.row, row.rests_on))
        for path in claims or []
        for row in grids.rows(path, LedgerRow)
    ]
    grids.write(output, ledger, LedgerRow)
    reading = output.with_suffix(".md")
    reason = notes.reason_of_all(job.reason for job in jobs)
    files.write_text(reading, page(ledger, jobs[0].scale, reason))
    inputs = [*table, *(significance or []), *(claims or [])]
    made_of = {"tables": [path.stem for path in table]}
    written = [output, reading]
    manifest.write(output, {"rows": len(ledger)}, made_of, inputs, "residuum.ledger", written)


def bound(spec: str | bytes, source: str = "--spec") -> Judged:
    """Parse a bound page whose numbers are judged; another kind of page raises ResiduumError."""
    named = command.parse_spec(Named, spec, source).entry.kind
    if named not in JUDGED:
        raise ResiduumError(f"{source}: {unknown('kind of page that is judged', named, JUDGED)}")
    return cast(Judged, command.parse_spec(JOBS[named], spec, source))


def _grouped(rows: Rows, key: Callable[[LedgerRow], str]) -> Iterator[tuple[str, list[LedgerRow]]]:
    """Yield (key, rows with the key), in the order of the keys' first rows."""
    groups: dict[str, list[LedgerRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    yield from groups.items()


def counts(ledger: Rows) -> str:
    """Return the counts of verdicts as a grid, with a line per paper and kind.

    A dash marks a verdict that the kind cannot have. A row printed again, of the same runs, is
    counted where it was first printed; a separate column counts such rows. Comparisons have a
    second line, with all of a column corrected by Holm. Pairs that a paper leaves without a marker
    are counted in a separate grid.
    """
    blanks, printed = [r for r in ledger if r.kind == BLANK], [r for r in ledger if r.kind != BLANK]
    return "\n\n".join(_counted(rows) for rows in (printed, blanks) if rows)


def _counted(ledger: Rows) -> str:
    kinds = [kind for kind in VERDICTS if any(row.kind == kind for row in ledger)]
    columns = list(dict.fromkeys(verdict for kind in kinds for verdict in VERDICTS[kind]))
    lines = []
    for paper, rows in _grouped(ledger, lambda row: row.paper):
        for kind in kinds:
            every = [row for row in rows if row.kind == kind]
            first = [row for row in every if not row.same_as]
            verdicts = {f"{kind}s": [row.verdict for row in first]}
            if any(row.under_holm for row in every):
                verdicts[HOLM] = [str(row.under_holm) for row in first]
            for what, listed in verdicts.items() if every else ():
                counted = Counter(listed)
                shown = [str(counted[v]) if v in VERDICTS[kind] else DASH for v in columns]
                lines.append([paper, what, *shown, str(len(every) - len(first))])
    return grid(["paper", "printed", *columns, AGAIN], lines)


def page(ledger: Rows, scale: str, reason: str) -> str:
    """Return the ledger's page; a run prints the part above `MORE` as its summary."""
    if not ledger:
        return f"# Ledger, scale {scale}\n\nThe chosen pages report no number and no comparison.\n"
    parts = [
        f"# Ledger, scale {scale}",
        f"Scale {scale}: {harmless(reason)}",
        counts(ledger),
        *_reproduced(ledger),
        "`ledger.md` continues with what contradicts each paper, what is not run, and every row. "
        "`ledger.tsv` has the rows unrounded. docs/verdicts.md says what a verdict means.",
        MORE,
    ]
    for paper, rows in _grouped(ledger, lambda row: row.paper):
        parts += [f"## {paper}", *_in_short(rows)]
    parts += [
        "## Every number and comparison",
        "The reported and measured values of a comparison are differences. Effect ratio: the "
        "measured difference over the reported one. Delta RI: the reported relative improvement "
        "less the measured one. A number that is `not comparable` and has no reason beside it has "
        "the scale's reason, given above.",
    ]
    for _, rows in _grouped(ledger, lambda row: row.table):
        parts.append(f"### {harmless(rows[0].printed_in)}\n\n{_every_row(rows, reason)}")
    return "\n\n".join([*parts, ""])


def _every_row(rows: Rows, reason: str) -> str:
    """Return the rows of a table as a grid, without repeating the scale's own reason."""
    header = ["row", "column", "claim", "reported", "measured", "delta", "tolerance"]
    header += ["effect ratio", "delta RI", "verdict"]
    last = [AGAIN] if any(row.same_as for row in rows) else []
    lines = []
    for r in rows:
        changes = [_rounded(r.delta, "+.4g"), _rounded(r.tolerance, "g")]
        changes += [_rounded(r.effect_ratio, ".3g"), _rounded(r.delta_ri, "+.3g")]
        why = "" if r.reason == reason else plain(r.reason)
        line = [r.row, r.column, plain(r.claim), *_values(r), *changes, r.verdict, why]
        lines.append([*line, *(r.same_as or "" for _ in last)])
    return grid([*header, "reason", *last], lines)


def _in_short(every: Rows) -> Iterator[str]:
    """Yield what contradicts a paper (reversed comparisons, differing numbers) and what is not run.

    Rows printed before, of the same runs, are only counted.
    """
    judged = [row for row in every if row.kind != BLANK]
    rows = [row for row in judged if not row.same_as]
    again = [row for row in judged if row.same_as]
    lines = []
    for row in (row for row in rows if row.verdict in AGAINST):
        p = _rounded(row.p_adjusted)
        lines.append([*_place(row), row.verdict, *_values(row), p])
    header = ["where", "column", "claim", "verdict", "reported", "measured", "p"]
    against = f"Against the paper: {len(lines)}.\n\n{grid(header, lines)}"
    yield against if lines else f"Nothing {'else ' * bool(again)}contradicts the paper."
    if models := [row for row in rows if row.verdict == "these models only"]:
        lines = []
        for row in models:
            over = [_rounded(row.p_over_seeds), row.seeds_agreeing or "", plain(row.reason)]
            lines.append([*_place(row), *_values(row), _rounded(row.p_adjusted), *over])
        header = ["where", "column", "claim", "reported", "measured", "p", "p over seeds", "seeds"]
        header.append("reason")
        text = "Significant over queries, but not over seeds or of few trainings: these models only"
        yield f"{text} ({len(models)}).\n\n{grid(header, lines)}"
    for verdict in ("not learned", "not run"):
        if absent := [row for row in rows if row.verdict == verdict]:
            groups = _grouped(absent, _bare)
            listed = "\n".join(f"- {plain(why)}: {_printed_in(alike)}" for why, alike in groups)
            yield f"{verdict.capitalize()}: {len(absent)}.\n\n{listed}"
    if unshown := [row for row in rows if why_not_shown(row)]:
        groups = _grouped(unshown, lambda row: str(why_not_shown(row)))
        listed = "\n".join(f"- {plain(why)}: {_printed_in(alike)}" for why, alike in groups)
        yield f"Not judged, because the data could not show it: {len(unshown)}.\n\n{listed}"
    if again:
        where = dict.fromkeys("/".join(str(row.same_as).split("/")[:2]) for row in again)
        text = f"Printed before from the same runs, and counted there ({', '.join(where)})"
        against = f"{sum(row.verdict in AGAINST for row in again)} of them contradict the paper"
        yield f"{text}: {_printed_in(again)}; {against}."


def _reproduced(ledger: Rows) -> Iterator[str]:
    """Yield where the reproduced numbers are printed; nothing if none is reproduced."""
    if rows := [row for row in ledger if row.verdict == "reproduced" and not row.same_as]:
        yield f"Reproduced: {_printed_in(rows)}."


def _place(row: LedgerRow) -> list[str]:
    return [plain(row.printed_in), row.column, plain(row.claim)]


def _bare(row: LedgerRow) -> str:
    """Return a row's reason without a leading row name (of comparisons) and a final full stop."""
    reason = row.reason.partition(": ")[2] if row.kind == "comparison" else row.reason
    return reason.rstrip(".")


def _printed_in(rows: Rows) -> str:
    """Write where rows are printed: table, row names, counts of numbers and comparisons."""
    parts = []
    for page, printed in _grouped(rows, lambda row: harmless(row.printed_in)):
        kinds = Counter(row.kind for row in printed)
        counted = [(kinds[kind], kind) for kind in ("number", "comparison", "claim") if kinds[kind]]
        amounts = ", ".join(f"{n} {kind}{'s' * (n != 1)}" for n, kind in counted)
        parts.append(f"{page} ({', '.join(dict.fromkeys(r.row for r in printed))}; {amounts})")
    return "; ".join(parts)


def _values(row: LedgerRow) -> list[str]:
    form = number_form(row.kind)
    return [_rounded(row.reported, form), _rounded(row.measured, form)]


def _rounded(value: float | None, form: str = ".4g") -> str:
    return "" if value is None else f"{value:{form}}"


def ledger_of(results: Path) -> list[LedgerRow]:
    """Return the rows of a results folder's ledger; ResiduumError if it has none."""
    path = results / Paths().ledger
    if not path.is_file():
        made = sorted(str(p.parent) for p in path.parent.parent.glob(f"*/{path.name}"))
        named = ", ".join(made) or "snakemake --cores all makes one"
        raise ResiduumError(f"{path}: no such file; name a results folder with --results: {named}")
    return read_ledger(path)


def digest(results: Path) -> str:
    """Return the counts of a results folder's ledger, and the paths of its page and rows."""
    ledger, path = ledger_of(Path(results)), Path(results) / Paths().ledger
    where = f"read {path.with_suffix('.md')}; every row, unrounded: {path}"
    parts = [counts(ledger), *_reproduced(ledger)] if ledger else ["The ledger is empty."]
    return "\n\n".join([*parts, where])


if __name__ == "__main__":
    command.main(app)

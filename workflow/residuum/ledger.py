"""One row per number and per comparison that the papers print: reported, measured, verdict.

Command: `python -m residuum.ledger write ...`. Verdicts are defined in docs/verdicts.md.
Must not know how tables are rendered or tests computed, nor how the ledger is laid out.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from residuum.artefacts import files, manifest
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.config.schema.papers import PrintedCell, parts_of
from residuum.pages import grids, ledger_page, tsv
from residuum.pages.grids import Grid, GridCell
from residuum.pages.ledger_page import LedgerRow
from residuum.paired import Comparison
from residuum.wiring.bound import BoundCharacteristics, BoundTable

app = command.app(__doc__)
JUDGED: dict[str, type[Grid]] = {"table": BoundTable, "characteristics": BoundCharacteristics}
Verdict = tuple[str, str]  # and the reason


Tested = tuple[float, float, bool]  # difference, adjusted p, significant
Where = tuple[str, str, str, str, str]  # paper, printed_in, table, row, column


@app.command()
def write(
    spec: Annotated[list[str], typer.Option(help="page as JSON, one per --table")],
    table: Annotated[list[Path], typer.Option(help="table TSV, in the order of --spec")],
    significance: Annotated[list[Path], typer.Option(help="TSV of the tests, named as its table")],
    output: Annotated[Path, typer.Option(help="ledger TSV to write")],
) -> None:
    """Judge every reported number and comparison of the given tables."""
    ledger: list[LedgerRow] = []
    jobs = [_job(text) for text in spec]
    tests = {path.stem: tsv.rows(path, Comparison) for path in significance}
    for job, path in zip(jobs, table, strict=True):
        if isinstance(job, BoundTable) and job.id not in tests:
            raise ResiduumError(f"{job.id}: no --significance named {job.id}.tsv")
        ledger += judge(job, grids.read(path), tests.get(job.id, []))
    files.write_text(output, tsv.frame(ledger, LedgerRow).write_csv(separator="\t"))
    page = ledger_page.page(ledger, jobs[0].scale, jobs[0].reason)
    files.write_text(output.with_suffix(".md"), page)
    made_of = {"tables": [path.stem for path in table]}
    manifest.write(
        output, {"rows": len(ledger)}, made_of, [*table, *significance], "residuum.ledger"
    )


def _job(text: str) -> Grid:
    kind = json.loads(text)["table"]["kind"]
    if kind not in JUDGED:
        raise ResiduumError(f"--spec: table.kind: {unknown('kind', kind, JUDGED)}")
    return command.parse_spec(JUDGED[kind], text)


def judge(job: Grid, cells: Sequence[GridCell], tests: Sequence[Comparison]) -> list[LedgerRow]:
    """Return the ledger rows of one table: first the number of a cell, then its comparisons."""
    measured = {(cell.row, cell.column): cell for cell in cells}
    compared = {
        (t.column, *pair): (sign * t.difference, t.p_adjusted, t.significant)
        for t in tests
        for sign, pair in ((1, (t.a, t.b)), (-1, (t.b, t.a)))
    }
    rows: list[LedgerRow] = []
    for row in job.table.rows:
        for column, text in job.table.reported.get(row.id, {}).items():
            printed, cell = PrintedCell.parse(text), measured[row.id, column]
            rows.append(_number(job, printed.value, cell))
            for other, claim in _claims(job, row.id, printed):
                tested = compared.get((column, row.id, other))
                rows.append(_comparison(job, cell, measured[other, column], claim, tested))
    return rows


def _claims(job: Grid, name: str, printed: PrintedCell) -> Iterator[tuple[str, str]]:
    """Yield (other row, claim) for each marker of a printed cell; only tables have any."""
    if isinstance(job, BoundTable):
        for index in printed.beats:
            yield next(row.id for row in job.table.rows if row.index == index), "above"
        below = next(row.below for row in job.table.rows if row.id == name)
        if printed.below and below:
            yield below, "below"


def _where(job: Grid, cell: GridCell) -> Where:
    return parts_of(job.id)[0], job.table.printed_in, job.id, cell.row, cell.column


def _number(job: Grid, printed: float, cell: GridCell) -> LedgerRow:
    tolerance = job.table.tolerance.get(cell.column, job.table.tolerance.get("default"))
    delta = None if cell.measured is None else cell.measured - printed
    claim, judged = f"{cell.measure} = {printed}", number_verdict(job, printed, cell, tolerance)
    numbers = (printed, cell.measured, delta, tolerance, None)
    return LedgerRow(*_where(job, cell), "number", claim, *numbers, *judged)


def number_verdict(job: Grid, reported: float, cell: GridCell, tolerance: float | None) -> Verdict:
    """Return (verdict, reason) for a number: within tolerance, within the seeds' spread, or not."""
    if cell.measured is None:
        return "not run", str(cell.not_run)
    stated = job.table.index if isinstance(job, BoundTable) else None
    if stated and cell.other_index:
        return "not comparable", cell.other_index
    if not stated and not job.comparable:
        return "not comparable", job.reason
    delta = abs(cell.measured - reported)
    same = "the same index; " if stated else ""
    if tolerance is not None and delta <= tolerance:
        return "reproduced", f"{same}|delta| is at most {tolerance}"
    lowest, highest, seeds = cell.lowest, cell.highest, cell.seeds or 1
    if seeds > 1 and lowest is not None and highest is not None and lowest <= reported <= highest:
        return "close", f"{same}inside the range of {seeds} seeds"
    return "differs", f"{same}|delta| is more than {tolerance}"


def _comparison(
    job: Grid, own: GridCell, other: GridCell, claim: str, tested: Tested | None
) -> LedgerRow:
    judged = comparison_verdict(claim, tested)
    if tested is None:
        absent = next(cell for cell in (own, other) if cell.measured is None)
        judged = "not run", f"{absent.row}: {absent.not_run}"
    a, b = own.reported, other.reported
    gap = None if a is None or b is None else round(a - b, 6)
    difference, p, _ = tested or (None, None, None)
    delta = None if difference is None or gap is None else difference - gap
    numbers = (gap, difference, delta, None, p)
    sentence = f"{own.row} significantly {claim} {other.row}"
    return LedgerRow(*_where(job, own), "comparison", sentence, *numbers, *judged)


def comparison_verdict(claim: str, tested: Tested | None) -> Verdict:
    """Return (verdict, reason): holds, inconclusive, reversed, or not run.

    `tested` is the difference row - other, `claim` above or below. A difference that is not
    significant is inconclusive whichever way it points.
    """
    if tested is None:
        return "not run", ""
    difference, p, significant = tested
    reason = f"p {p:.4g}, difference {difference:+.4f}"
    if not significant:
        return "inconclusive", f"not significant ({reason})"
    agrees = (difference > 0) == (claim == "above")
    return ("holds" if agrees else "reversed"), reason


if __name__ == "__main__":
    command.main(app)

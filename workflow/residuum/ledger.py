"""One row per number and per comparison that the papers print: reported, measured, verdict.

Command: `python -m residuum.ledger write ...`. Verdicts are defined in docs/verdicts.md.
Must not know how tables are rendered or tests computed, nor how the ledger is laid out.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from residuum import ledger_page
from residuum.core import command, files, manifest, tsv
from residuum.core.errors import ResiduumError
from residuum.core.schema import Cell as Reported
from residuum.core.schema import parts_of
from residuum.wiring.bound import BoundCharacteristics, BoundTable

app = command.app(__doc__)
Page = BoundTable | BoundCharacteristics
COLUMNS = {
    "paper": pl.String,
    "place": pl.String,
    "table": pl.String,
    "row": pl.String,
    "column": pl.String,
    "kind": pl.String,
    "claim": pl.String,
    "reported": pl.Float64,
    "measured": pl.Float64,
    "delta": pl.Float64,
    "tolerance": pl.Float64,
    "p_adjusted": pl.Float64,
    "verdict": pl.String,
    "reason": pl.String,
}


@app.command()
def write(
    spec: Annotated[list[str], typer.Option(help="page as JSON, one per --table")],
    table: Annotated[list[Path], typer.Option(help="table TSV, in the order of --spec")],
    significance: Annotated[list[Path], typer.Option(help="TSV of the tests, named as its table")],
    output: Annotated[Path, typer.Option(help="ledger TSV to write")],
) -> None:
    """Judge every reported number and comparison of the given tables."""
    rows: list[dict[str, Any]] = []
    jobs = [_job(text) for text in spec]
    tests = {path.stem: tsv.read(path) for path in significance}
    for job, path in zip(jobs, table, strict=True):
        if isinstance(job, BoundTable) and job.id not in tests:
            raise ResiduumError(f"{job.id}: no --significance named {job.id}.tsv")
        rows += judge(job, tsv.read(path), tests.get(job.id))
    ledger = pl.DataFrame(rows, schema=COLUMNS)
    files.write_text(output, ledger.write_csv(separator="\t"))
    page = ledger_page.page(ledger, jobs[0].scale, jobs[0].reason)
    files.write_text(output.with_suffix(".md"), page)
    manifest.write(
        manifest.beside(output),
        artefact={"rows": len(rows)},
        spec={"tables": [p.stem for p in table]},
        inputs=[*table, *significance],
        module="residuum.ledger",
    )


def _job(text: str) -> Page:
    kind = json.loads(text)["table"]["kind"]
    return command.parse_spec(BoundTable if kind == "table" else BoundCharacteristics, text)


def judge(job: Page, table: pl.DataFrame, tests: pl.DataFrame | None) -> list[dict[str, Any]]:
    """Return the ledger rows of one table: first the number of a cell, then its comparisons.

    `tests` are None for a table whose cells are not compared.
    """
    measured = {(r["row"], r["column"]): r for r in table.iter_rows(named=True)}
    compared = {} if tests is None else _directed(tests)
    rows: list[dict[str, Any]] = []
    for row in job.table.rows:
        for column, text in job.table.reported.get(row.id, {}).items():
            cell = Reported.parse(text)
            rows.append(_number(job, cell, measured[row.id, column]))
            for other, claim in _claims(job, row, cell):
                rows.append(_comparison(job, row.id, other, column, claim, measured, compared))
    return rows


def _claims(job: Page, row: Any, cell: Reported) -> list[tuple[str, str]]:
    """Return (other row, claim) for each marker of a reported cell."""
    by_index = {other.index: other.id for other in job.table.rows if cell.beats and other.index}
    beaten = [(by_index[index], "above") for index in cell.beats]
    return [*beaten, (row.below, "below")] if cell.below else beaten


def _start(job: Page, row: str, column: str) -> dict[str, Any]:
    paper, _ = parts_of(job.id)
    return {"paper": paper, "place": job.table.place, "table": job.id, "row": row, "column": column}


def _number(job: Page, cell: Reported, found: dict[str, Any]) -> dict[str, Any]:
    tolerance = job.table.tolerance.get(found["column"], job.table.tolerance.get("default"))
    value = found["measured"]
    delta = None if value is None else value - cell.value
    verdict, reason = number_verdict(job, cell.value, found, tolerance)
    return {
        **_start(job, found["row"], found["column"]),
        "kind": "number",
        "claim": f"{found['measure']} = {cell.value}",
        "reported": cell.value,
        "measured": value,
        "delta": delta,
        "tolerance": tolerance,
        "p_adjusted": None,
        "verdict": verdict,
        "reason": reason,
    }


def number_verdict(
    job: Page, reported: float, found: dict[str, Any], tolerance: float | None
) -> tuple[str, str]:
    """Return (verdict, reason) for a number: within tolerance, within the seeds' spread, or not."""
    if found["measured"] is None:
        return "not run", found["not_run"]
    if unlike := _unlike(job, found):
        return "not comparable", unlike
    delta = abs(found["measured"] - reported)
    same = "the same index; " if getattr(job.table, "index", None) else ""
    if tolerance is not None and delta <= tolerance:
        return "reproduced", f"{same}|delta| is at most {tolerance}"
    if found["lowest"] <= reported <= found["highest"] and found["seeds"] > 1:
        return "close", f"{same}inside the range of {found['seeds']} seeds"
    return "differs", f"{same}|delta| is more than {tolerance}"


def _unlike(job: Page, found: dict[str, Any]) -> str | None:
    """Return why a number does not compare: another index than the stated one; else the scale."""
    if getattr(job.table, "index", None):
        return found["other_index"]
    return None if job.comparable else job.reason


def _directed(tests: pl.DataFrame) -> dict[tuple[str, str, str], tuple[float, float, bool]]:
    """Return {(column, a, b): (difference, p_adjusted, significant)} for both directions."""
    found: dict[tuple[str, str, str], tuple[float, float, bool]] = {}
    for r in tests.iter_rows(named=True):
        significant = str(r["significant"]).lower() == "true"
        found[r["column"], r["a"], r["b"]] = (r["difference"], r["p_adjusted"], significant)
        found[r["column"], r["b"], r["a"]] = (-r["difference"], r["p_adjusted"], significant)
    return found


def _comparison(
    job: BoundTable,
    row: str,
    other: str,
    column: str,
    claim: str,
    measured: dict[tuple[str, str], dict[str, Any]],
    compared: dict[tuple[str, str, str], tuple[float, float, bool]],
) -> dict[str, Any]:
    verdict, reason = comparison_verdict(claim, compared.get((column, row, other)))
    if verdict == "not run":
        absent = next(r for r in (row, other) if measured[r, column]["measured"] is None)
        reason = f"{absent}: {measured[absent, column]['not_run']}"
    gap = _reported_gap(job, row, other, column)
    difference, p, _ = compared.get((column, row, other), (None, None, None))
    return {
        **_start(job, row, column),
        "kind": "comparison",
        "claim": f"{row} significantly {claim} {other}",
        "reported": gap,
        "measured": difference,
        "delta": None if difference is None or gap is None else difference - gap,
        "tolerance": None,
        "p_adjusted": p,
        "verdict": verdict,
        "reason": reason,
    }


def _reported_gap(job: BoundTable, row: str, other: str, column: str) -> float | None:
    texts = [job.table.reported.get(name, {}).get(column) for name in (row, other)]
    if None in texts:
        return None
    a, b = (Reported.parse(str(text)).value for text in texts)
    return round(a - b, 6)


def comparison_verdict(claim: str, found: tuple[float, float, bool] | None) -> tuple[str, str]:
    """Return (verdict, reason): holds, inconclusive, reversed, or not run.

    `found` is (difference row - other, adjusted p, significant). A difference that is not
    significant is inconclusive whichever way it points.
    """
    if found is None:
        return "not run", ""
    difference, p, significant = found
    if not significant:
        return "inconclusive", f"not significant (p {p:.4g}, difference {difference:+.4f})"
    agrees = (difference > 0) == (claim == "above")
    return ("holds" if agrees else "reversed"), f"p {p:.4g}, difference {difference:+.4f}"


if __name__ == "__main__":
    command.main(app)

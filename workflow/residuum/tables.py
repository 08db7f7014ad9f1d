"""A paper's table with our numbers: tidy TSV, Markdown and LaTeX, markers from our own tests.

Command: `python -m residuum.tables render ...`. Rounding happens here and only when rendering.
Must not know how values or p-values are computed, nor how a parameter was chosen.
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from residuum.core import cells, command, files, manifest, pages, tsv
from residuum.core.jobs import Job
from residuum.core.schema import Cell as Reported
from residuum.core.schema.papers import DEPTH
from residuum.paired import notes

app = command.app(__doc__)
NO_DEPTH = "no depth: not a rerank system"


@app.command()
def render(
    spec: Annotated[str, typer.Option(help="Job as JSON")],
    metrics: Annotated[Path, typer.Option(help="folder of the metrics files")],
    significance: Annotated[Path, typer.Option(help="TSV written by significance")],
    output: Annotated[Path, typer.Option(help="TSV to write; .md and .tex go beside it")],
    tuning: Annotated[
        list[Path] | None, typer.Option(help="tuning JSON of a run: <dataset>/<split>/<run>.json")
    ] = None,
) -> None:
    """Write the table as .tsv (unrounded, a row per cell), .md and .tex."""
    asked = command.parse_spec(Job, spec)
    job = cells.refused(asked, metrics)
    tests = tsv.read(significance)
    tuned = [cells.read_tuned(path) for path in tuning or []]
    table = tidy(job, cells.load(job, metrics), tests, tuned)
    files.write_text(output, table.write_csv(separator="\t"))
    pages.write(output, page(job, table, caption(job, table, tests, tuned)))
    manifest.write(
        manifest.beside(output),
        artefact={"cells": table.height},
        spec=asked.model_dump(mode="json"),
        inputs=[
            significance,
            *(tuning or []),
            *(metrics / name for name in sorted(set(asked.metrics_files()))),
        ],
        module="residuum.tables",
    )


def tidy(
    job: Job,
    loaded: dict[tuple[str, str], cells.Cell],
    tests: pl.DataFrame,
    tuned: list[cells.Tuned] | None = None,
) -> pl.DataFrame:
    """Return a row per cell: measured mean over seeds, spread, markers, what the paper prints."""
    better = significant_pairs(tests)
    rows = []
    for row in job.table.rows:
        for column in job.table.columns:
            cell = loaded.get((row.id, column.id))
            reason = job.not_run(row, column)
            depths = cells.depths(job, row, column, tuned or []) if column.is_depth else None
            rows.append(
                {
                    "table": job.id,
                    "row": row.id,
                    "column": column.id,
                    "measure": column.measure,
                    "place": job.places[column.id],
                    **(_depth(depths) if depths else _measured(cell)),
                    **_markers(job, row, column.id, better if cell else set()),
                    **reported(job.table, row.id, column.id),
                    "not_run": reason or (NO_DEPTH if column.is_depth and not depths else None),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _depth(tuned: list[cells.Tuned]) -> dict[str, Any]:
    return spread([float(t.record["depth"]) for t in tuned], tuned[0].record["queries"])


def _measured(cell: cells.Cell | None) -> dict[str, Any]:
    if cell is None:
        return not_measured()
    return spread([float(value) for value in cell.values.mean(axis=0)], len(cell.query_ids))


def not_measured() -> dict[str, Any]:
    """Return the columns of a cell without a value."""
    return dict.fromkeys(["n", "measured", "seeds", "per_seed", "lowest", "highest", "std"])


def spread(per_seed: list[float], n: int) -> dict[str, Any]:
    """Return the columns of a measured cell from its value per seed and its number of queries."""
    values = np.array(per_seed)
    return {
        "n": n,
        "measured": float(values.mean()),
        "seeds": len(values),
        "per_seed": " ".join(map(str, per_seed)),
        "lowest": float(values.min()),
        "highest": float(values.max()),
        "std": float(values.std(ddof=1)) if len(values) > 1 else None,
    }


def significant_pairs(tests: pl.DataFrame) -> set[tuple[str, str, str]]:
    """Return {(column, better row, worse row)} of all significant comparisons."""
    found = tests.filter(pl.col("significant").cast(pl.String).str.to_lowercase() == "true")
    return {
        (row["column"], *((row["a"], row["b"]) if row["difference"] > 0 else (row["b"], row["a"])))
        for row in found.iter_rows(named=True)
    }


def _markers(job: Job, row: Any, column: str, better: set[tuple[str, str, str]]) -> dict:
    indexed = [other for other in job.table.rows if other.index and row.index]
    beats = [o.index for o in indexed if (column, row.id, o.id) in better]
    below = row.below is not None and (column, row.below, row.id) in better
    return {"beats": pages.span(beats), "below": below}


def reported(table: Any, row: str, column: str) -> dict[str, Any]:
    """Return the columns of a cell that the paper prints, empty where it prints none."""
    text = table.reported.get(row, {}).get(column)
    if text is None:
        return {"reported": None, "reported_beats": None, "reported_below": None}
    cell = Reported.parse(text)
    beats = pages.span(cell.beats)
    return {"reported": cell.value, "reported_beats": beats, "reported_below": cell.below}


def number(row: dict[str, Any]) -> str:
    """Round for display; a cell without a value says so, and is never a zero."""
    if row["measured"] is None:
        return pages.DASH if row["not_run"] == NO_DEPTH else "not run"
    if row["measure"] == DEPTH:
        span = f" ({row['lowest']:.0f}{pages.DASH}{row['highest']:.0f})"
        return f"{row['measured']:.0f}{span if row['lowest'] < row['highest'] else ''}"
    deviation = f" ±{row['std']:.3f}" if row["std"] is not None else ""
    return f"{row['measured']:.3f}{deviation}"


def headers(job: Job) -> list[str]:
    """Return a short header per column: split and ir_measures name."""
    return [_header(job, column) for column in job.table.columns]


def _header(job: Job, column: Any) -> str:
    if column.is_depth:
        return "Rerank depth K"
    place = job.places[column.id]
    return f"{place.split('/')[1] if place else column.role} {column.measure}"


def caption(
    job: Job, table: pl.DataFrame, tests: pl.DataFrame, tuned: list[cells.Tuned]
) -> list[str]:
    """Return the lines under a table: what each column is, the tests, the systems' parameters."""
    lines = [_column_note(job, column, table) for column in job.table.columns]
    lines.append(
        f"Superscripts: rows significantly beaten; ↓: significantly below the row it varies. "
        f"{pages.tests_note(job.tests, compared=_compared(job))}"
    )
    lines += notes.remarks(tests.iter_rows(named=True), job.tests.alpha, _comparison)
    seeds = table.filter(pl.col("measure") != DEPTH)["seeds"].max()
    if isinstance(seeds, int) and seeds > 1:
        lines.append(
            f"Rows with ± are means over {seeds} training seeds (± standard deviation); tests "
            "compare each query's mean over seeds."
        )
    lines += _not_run_notes(job, table)
    lines += [_system_note(row, system) for row, system in job.systems.items()]
    lines += dict.fromkeys(map(_tuning_note, sorted(tuned, key=lambda t: (t.run, t.place))))
    lines.append(f"Scale {job.scale}: {job.reason}")
    return lines


def _compared(job: Job) -> str:
    """Say which pairs of rows are tested, where not all."""
    baselines = " and ".join(job.table.baselines)
    return f"compared with {baselines} only" if baselines else ""


def _comparison(test: dict[str, Any]) -> str:
    return f"{test['column']}, {test['a']} and {test['b']}"


def _column_note(job: Job, column: Any, table: pl.DataFrame) -> str:
    place, header = job.places[column.id], _header(job, column)
    if place is None:
        what = f"{column.role} {header}" if column.is_depth else header
        return f"{what}: not cast at this scale."
    paper = f"(the paper's {column.header})"
    if column.is_depth:
        return (
            f"{header}: that of the runs on {place} in the role of {column.role} {paper}, chosen "
            f"as said below; mean and range over seeds; {pages.DASH} is no rerank system."
        )
    n = table.filter(pl.col("column") == column.id)["n"].max()
    return f"{header}: {place} in the role of {column.role} {paper}, {n} queries."


def _not_run_notes(job: Job, table: pl.DataFrame) -> list[str]:
    """Say each reason once; a column that is not cast says its own in its note."""
    placed = table.filter(pl.col("place").is_not_null())
    partly = set(placed.filter(pl.col("measured").is_not_null())["row"])
    names = dict(zip((column.id for column in job.table.columns), headers(job), strict=True))
    reasons: dict[str, dict[str, list[str]]] = {}
    for cell in placed.filter(pl.col("not_run") != NO_DEPTH).iter_rows(named=True):
        columns = reasons.setdefault(cell["not_run"], {}).setdefault(cell["row"], [])
        columns.append(names[cell["column"]])
    return [
        "Not run: "
        + "; ".join(f"{r} ({', '.join(cs)})" if r in partly else r for r, cs in rows.items())
        + f": {reason.rstrip('.')}{'' if reason.endswith('?') else '.'}"
        for reason, rows in reasons.items()
    ]


def _system_note(row: str, system: dict[str, Any]) -> str:
    shown = {key: value for key, value in sorted(system.items()) if key not in ("kind", "label")}
    parts = [system["kind"]]
    parts += [f"{k} {_flat(v)}" for k, v in shown.items() if v not in (None, [], {})]
    return f"{row}: {'; '.join(parts).rstrip('.')}."


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_flat(v)}" for key, v in value.items() if v is not None)
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _tuning_note(tuned: cells.Tuned) -> str:
    record = tuned.record
    if "folds" in record:
        folds = [_fold_note(number, fold) for number, fold in enumerate(record["folds"], start=1)]
        what = "lambda" if "lambda" in record["folds"][0]["chosen"] else "RM3"
        start = f"{tuned.run} on {tuned.place}: {what} chosen for each fold of the queries by "
        return f"{start}{record['measure']} on the other folds: {'; '.join(folds)}."
    name, key = ("depth K", "depth") if "depth" in record else ("lambda", "lambda")
    return (
        f"{tuned.run}: {name} {record[key]}{_edge(record['at_edge'])}, chosen on "
        f"{record['queries']} tuning queries by {record['measure']}."
    )


def _fold_note(number: int, fold: dict[str, Any]) -> str:
    return (
        f"fold {number} ({fold['queries']} queries) {_flat(fold['chosen'])}"
        f"{_edge(fold['at_edge'])}, {fold['value_on_others']:.3f} on the others and "
        f"{fold['value_held_out']:.3f} held out"
    )


def _edge(at_edge: bool | list[str]) -> str:
    """Warn of a choice at an edge of its grid; a list names the parameters that are."""
    which = f"{', '.join(at_edge)} " if isinstance(at_edge, list) and at_edge else ""
    return f" ({which}at an edge of its grid)" if at_edge else ""


def page(job: Job, table: pl.DataFrame, notes: list[str]) -> pages.Page:
    """Lay the table out: a line per row, its group and label first."""
    by_row: dict[str, list[pages.Cell]] = {row.id: [] for row in job.table.rows}
    for cell in table.iter_rows(named=True):
        shown = pages.Cell(number(cell), cell["beats"], cell["below"])
        by_row[cell["row"]].append(shown)
    return pages.Page(
        title=job.table.title,
        place=job.table.place,
        header=["", "Model", *headers(job)],
        rows=[
            [pages.Cell(row.group), pages.Cell(_label(row)), *by_row[row.id]]
            for row in job.table.rows
        ],
        notes=notes,
        align=["l", "l", *"c" * len(job.table.columns)],
    )


def _label(row: Any) -> str:
    """Number the rows that others may beat; a dash marks a variant of another row."""
    return f"{row.index} {row.label}" if row.index else f"- {row.label}" if row.below else row.label


if __name__ == "__main__":
    command.main(app)

"""A paper's table with our numbers: tidy TSV, Markdown and LaTeX, markers from our own tests.

Command: `python -m residuum.tables render ...`. Rounding happens here and only when rendering.
Must not know how values or p-values are computed.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from residuum.core import cells, command, files, manifest
from residuum.core.jobs import Job
from residuum.core.schema import Cell as Reported

app = command.app(__doc__)
LATEX = str.maketrans(
    {**{c: f"\\{c}" for c in "&%$#_{}"}, "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
SUPERSCRIPTS = str.maketrans("0123456789-,", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ ")


@app.command()
def render(
    spec: Annotated[str, typer.Option(help="Job as JSON")],
    metrics: Annotated[Path, typer.Option(help="folder of the metrics files")],
    significance: Annotated[Path, typer.Option(help="TSV written by significance")],
    output: Annotated[Path, typer.Option(help="TSV to write; .md and .tex go beside it")],
    tuning: Annotated[list[Path] | None, typer.Option(help="tuning JSON of a fused run")] = None,
) -> None:
    """Write the table as .tsv (unrounded, a row per cell), .md and .tex."""
    job = command.parse_spec(Job, spec)
    tests = pl.read_csv(significance, separator="\t", infer_schema_length=None)
    table = tidy(job, cells.load(job, metrics), tests)
    tuned = tuning or []
    lambdas = {path.stem: json.loads(files.read_bytes(path)) for path in tuned}
    notes = caption(job, table, lambdas)
    files.write_text(output, table.write_csv(separator="\t"))
    files.write_text(output.with_suffix(".md"), markdown(job, table, notes))
    files.write_text(output.with_suffix(".tex"), latex(job, table, notes))
    manifest.write(
        manifest.beside(output),
        artefact={"cells": table.height},
        spec=job.model_dump(mode="json"),
        inputs=[
            significance,
            *tuned,
            *(metrics / name for name in sorted(set(job.metrics_files()))),
        ],
        module="residuum.tables",
    )


def tidy(job: Job, loaded: dict[tuple[str, str], cells.Cell], tests: pl.DataFrame) -> pl.DataFrame:
    """Return a row per cell: measured mean over seeds, spread, markers, what the paper prints."""
    better = significant_pairs(tests)
    rows = []
    for row in job.table.rows:
        for column in job.table.columns:
            cell = loaded.get((row.id, column.id))
            rows.append(
                {
                    "table": job.id,
                    "row": row.id,
                    "column": column.id,
                    "measure": column.measure,
                    "place": job.places[column.id],
                    **_measured(cell),
                    **_markers(job, row, column.id, better if cell else set()),
                    **_reported(job, row.id, column.id),
                    "not_run": job.not_run(row, column),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _measured(cell: cells.Cell | None) -> dict[str, Any]:
    if cell is None:
        names = ["n", "measured", "seeds", "per_seed", "lowest", "highest", "std"]
        return dict.fromkeys(names)
    means = cell.values.mean(axis=0)
    return {
        "n": len(cell.query_ids),
        "measured": float(means.mean()),
        "seeds": len(means),
        "per_seed": " ".join(str(float(value)) for value in means),
        "lowest": float(means.min()),
        "highest": float(means.max()),
        "std": float(means.std(ddof=1)) if len(means) > 1 else None,
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
    return {"beats": span(beats), "below": below}


def _reported(job: Job, row: str, column: str) -> dict[str, Any]:
    text = job.table.reported.get(row, {}).get(column)
    if text is None:
        return {"reported": None, "reported_beats": None, "reported_below": None}
    cell = Reported.parse(text)
    beats = span(cell.beats)
    return {"reported": cell.value, "reported_beats": beats, "reported_below": cell.below}


def span(indices: list[int]) -> str:
    """Write row indices as the papers do: 1-3 for a run of three or more, else 1,2."""
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    parts = [f"{r[0]}-{r[-1]}" if len(r) > 2 else ",".join(map(str, r)) for r in runs]
    return ",".join(parts)


def number(row: dict[str, Any]) -> str:
    """Round for display; a cell without a value says so, and is never a zero."""
    if row["measured"] is None:
        return "not run"
    spread = f" ±{row['std']:.3f}" if row["std"] is not None else ""
    return f"{row['measured']:.3f}{spread}"


def headers(job: Job) -> list[str]:
    """Return a short header per column: split and ir_measures name."""
    return [f"{_split(job, column)} {column.measure}" for column in job.table.columns]


def _split(job: Job, column: Any) -> str:
    place = job.places[column.id]
    return place.split("/")[1] if place else column.role


def caption(job: Job, table: pl.DataFrame, lambdas: dict[str, Any]) -> list[str]:
    """Return the lines under a table: what each column is, the tests, the systems' parameters."""
    tests = job.table.tests
    lines = [_column_note(job, column, table) for column in job.table.columns]
    flips = f", {tests.resamples} sign flips, seed {tests.seed}" * (tests.test == "permutation")
    lines.append(
        f"Superscripts: rows significantly beaten; ↓: significantly below the row it varies. "
        f"Test: {tests.test} (paired, two-sided{flips}), alpha {tests.alpha}, "
        f"correction {tests.correction}, family: each {tests.family}."
    )
    seeds = table["seeds"].max()
    if isinstance(seeds, int) and seeds > 1:
        lines.append(
            f"Rows with ± are means over {seeds} training seeds (± standard deviation); tests "
            "compare each query's mean over seeds."
        )
    lines += [_system_note(row, system) for row, system in job.systems.items()]
    lines += [_lambda_note(run, record) for run, record in sorted(lambdas.items())]
    lines.append(f"Scale {job.scale}: {job.reason}")
    return lines


def _column_note(job: Job, column: Any, table: pl.DataFrame) -> str:
    place = job.places[column.id]
    if place is None:
        return f"{column.role} {column.measure}: not cast at this scale."
    n = table.filter(pl.col("column") == column.id)["n"].max()
    return (
        f"{_split(job, column)} {column.measure}: {place} in the role of {column.role} "
        f"(the paper's {column.header}), {n} queries."
    )


def _system_note(row: str, system: dict[str, Any]) -> str:
    shown = {key: value for key, value in sorted(system.items()) if key not in ("kind", "label")}
    parts = [system["kind"]]
    parts += [f"{key} {_flat(value)}" for key, value in shown.items() if value is not None]
    return f"{row}: {'; '.join(parts)}."


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_flat(v)}" for key, v in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _lambda_note(run: str, record: dict[str, Any]) -> str:
    edge = " (at an edge of its grid)" if record["at_edge"] else ""
    return (
        f"{run}: lambda {record['lambda']}{edge}, chosen on {record['queries']} tuning queries "
        f"by {record['measure']}."
    )


def _grid(job: Job, table: pl.DataFrame) -> list[tuple[Any, list[dict[str, Any]]]]:
    by_row = {row.id: [] for row in job.table.rows}
    for cell in table.iter_rows(named=True):
        by_row[cell["row"]].append(cell)
    return [(row, by_row[row.id]) for row in job.table.rows]


def markdown(job: Job, table: pl.DataFrame, notes: list[str]) -> str:
    """Render for reading as Markdown or as plain text: columns are padded."""
    rows = [["", "Model", *headers(job)]]
    for row, line in _grid(job, table):
        marks = [f"{number(c)}{_unicode(c)}" for c in line]
        rows.append([row.group, _label(row), *marks])
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    padded = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |" for r in rows
    ]
    rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|"
    body = "\n".join([padded[0], rule, *padded[1:]])
    under = "\n".join(f"- {note}" for note in notes)
    return f"## {job.table.title}\n\n({job.table.place})\n\n{body}\n\n{under}\n"


def _label(row: Any) -> str:
    """Number the rows that others may beat; a dash marks a variant of another row."""
    return f"{row.index} {row.label}" if row.index else f"- {row.label}" if row.below else row.label


def raised(beats: str) -> str:
    """Write beaten rows as the papers raise them: 1-5, or 135 where one digit is enough."""
    plain = beats.replace(",", "")
    return plain if plain.isdigit() and all(len(i) == 1 for i in beats.split(",")) else beats


def _unicode(cell: dict[str, Any]) -> str:
    above = raised(cell["beats"]).translate(SUPERSCRIPTS)
    return (f" {above}" if above else "") + (" ↓" if cell["below"] else "")


def latex(job: Job, table: pl.DataFrame, notes: list[str]) -> str:
    """Render as a LaTeX table in booktabs style."""
    columns = "ll" + "c" * len(job.table.columns)
    head = " & ".join(["", "Model", *map(_escape, headers(job))])
    body = []
    for row, line in _grid(job, table):
        marks = [f"{_escape(number(c))}{_math(c)}" for c in line]
        label = _escape(_label(row))
        body.append(" & ".join([_escape(row.group), label, *marks]) + r" \\")
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            rf"\caption{{{_escape(job.table.title)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\footnotesize {_escape(note)}" for note in notes),
            r"\end{table}",
            "",
        ]
    )


def _math(cell: dict[str, Any]) -> str:
    above = raised(cell["beats"]).replace("-", r"\textrm{--}")
    return (f"$^{{{above}}}$" if above else "") + (r"$^{\downarrow}$" if cell["below"] else "")


def _escape(text: str) -> str:
    text = text.replace("\\", "\0").translate(LATEX).replace("\0", r"\textbackslash{}")
    return text.replace("±", r"$\pm$").replace("↓", r"$\downarrow$")


if __name__ == "__main__":
    command.main(app)

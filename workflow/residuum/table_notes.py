"""What stands under a table and over its columns: what each is, the tests, parameters, indexes.

Usage: `caption(job, table, tests, tuned)`. Called by `residuum.tables`. Must not know how values or
p-values are computed, nor how a parameter was chosen.
"""

from typing import Any

import polars as pl

from residuum.core import cells, indexes, pages
from residuum.core.schema.papers import DEPTH
from residuum.paired import notes
from residuum.wiring.bound import BoundTable

NO_DEPTH = "no depth: not a rerank system"


def headers(job: BoundTable) -> list[str]:
    """Return a short header per column: split and ir_measures name."""
    return [_header(job, column) for column in job.table.columns]


def _header(job: BoundTable, column: Any) -> str:
    if column.is_depth:
        return "Rerank depth K"
    place = job.places[column.id]
    return f"{place.split('/')[1] if place else column.role} {column.measure}"


def caption(
    job: BoundTable, table: pl.DataFrame, tests: pl.DataFrame, tuned: list[cells.Tuned]
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
    return [*lines, *_comparability(job, table)]


def _comparability(job: BoundTable, table: pl.DataFrame) -> list[str]:
    """Say what decides whether the numbers compare: the index that is stated, else the scale."""
    if job.table.index is None:
        return [f"Scale {job.scale}: {job.reason}"]
    here = [
        f"Index searched on {place}: {index}."
        for place, index in table.select("place", "index").unique(maintain_order=True).rows()
        if index
    ]
    stated = f"Index of the published numbers: {indexes.counted(job.table.index)}."
    return [*here, f"{stated} They compare with numbers of the same index, at any scale."]


def _compared(job: BoundTable) -> str:
    """Say which pairs of rows are tested, where not all."""
    baselines = " and ".join(job.table.baselines)
    return f"compared with {baselines} only" if baselines else ""


def _comparison(test: dict[str, Any]) -> str:
    return f"{test['column']}, {test['a']} and {test['b']}"


def _column_note(job: BoundTable, column: Any, table: pl.DataFrame) -> str:
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


def _not_run_notes(job: BoundTable, table: pl.DataFrame) -> list[str]:
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

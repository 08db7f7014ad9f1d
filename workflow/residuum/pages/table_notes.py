"""What stands under a table and over its columns: what each is, the tests, parameters, indexes.

Usage: `caption(job, cells, tests, tuned)`. Called by `residuum.tables`. Must not know how values or
p-values are computed, nor how a parameter was chosen.
"""

from collections.abc import Iterator, Mapping, Sequence

from residuum.artefacts import indexes
from residuum.config.schema.papers import DEPTH, Column
from residuum.pages.grids import GridCell
from residuum.pages.layout import DASH
from residuum.pages.tuned import note
from residuum.paired import Comparison, notes
from residuum.tuning.record import Tuned
from residuum.wiring.bound import BoundTable

NO_DEPTH = "no depth: not a rerank system"
EMPTY: tuple[object, ...] = (None, [], {})


def headers(job: BoundTable) -> list[str]:
    """Return a short header per column: split and ir_measures name."""
    return [_header(job, column) for column in job.table.columns]


def _header(job: BoundTable, column: Column) -> str:
    if column.is_depth:
        return "Rerank depth K"
    split_ref = job.places[column.id]
    return f"{split_ref.split('/')[1] if split_ref else column.role} {column.measure}"


def caption(
    job: BoundTable,
    cells: Sequence[GridCell],
    tests: Sequence[Comparison],
    records: Sequence[Tuned],
) -> list[str]:
    """Return the lines under a table: what each column is, the tests, the systems' parameters."""
    baselines = " and ".join(job.table.baselines)
    compared = f"compared with {baselines} only" if baselines else ""
    return [
        *(_column_note(job, column, cells) for column in job.table.columns),
        "Superscripts: rows significantly beaten; ↓: significantly below the row it varies. "
        f"{notes.tests_note(job.tests, compared=compared)}",
        *notes.remarks(tests, job.tests.alpha, lambda t: f"{t.column}, {t.a} and {t.b}"),
        *_seeds_note(cells),
        *_not_run_notes(job, cells),
        *(_system_note(row, system) for row, system in job.systems.items()),
        *dict.fromkeys(map(note, sorted(records, key=lambda t: (t.run, t.split_ref)))),
        *_comparability(job, cells),
    ]


def _seeds_note(cells: Sequence[GridCell]) -> Iterator[str]:
    seeds = max((cell.seeds or 0 for cell in cells if cell.measure != DEPTH), default=0)
    if seeds > 1:
        yield (
            f"Rows with ± are means over {seeds} training seeds (± standard deviation); tests "
            "compare each query's mean over seeds."
        )


def _comparability(job: BoundTable, cells: Sequence[GridCell]) -> Iterator[str]:
    """Yield what decides whether the numbers compare: the stated index, else the scale."""
    if job.table.index is None:
        yield f"Scale {job.scale}: {job.reason}"
        return
    for split_ref, index in dict.fromkeys(
        (cell.split_ref, cell.index) for cell in cells if cell.index
    ):
        yield f"Index searched on {split_ref}: {index}."
    stated = f"Index of the published numbers: {indexes.counted(job.table.index)}."
    yield f"{stated} They compare with numbers of the same index, at any scale."


def _column_note(job: BoundTable, column: Column, cells: Sequence[GridCell]) -> str:
    split_ref, header = job.places[column.id], _header(job, column)
    if split_ref is None:
        what = f"{column.role} {header}" if column.is_depth else header
        return f"{what}: no split has this role at this scale."
    paper = f"(the paper's {column.header})"
    if column.is_depth:
        return (
            f"{header}: that of the runs on {split_ref} in the role of {column.role} {paper}, "
            f"chosen as noted below; mean and range over seeds; {DASH}: not a rerank system."
        )
    n = max((cell.n for cell in cells if cell.column == column.id and cell.n), default=None)
    return f"{header}: {split_ref} in the role of {column.role} {paper}, {n} queries."


def _not_run_notes(job: BoundTable, cells: Sequence[GridCell]) -> list[str]:
    """Return a note per reason; a column without a binding has its own note."""
    bound = [cell for cell in cells if cell.split_ref is not None]
    partly = {cell.row for cell in bound if cell.measured is not None}
    names = dict(zip((column.id for column in job.table.columns), headers(job), strict=True))
    reasons: dict[str, dict[str, list[str]]] = {}
    for cell in bound:
        if cell.not_run not in (None, NO_DEPTH):
            rows = reasons.setdefault(str(cell.not_run), {})
            rows.setdefault(cell.row, []).append(names[cell.column])
    return [
        "Not run: "
        + "; ".join(f"{r} ({', '.join(cs)})" if r in partly else r for r, cs in rows.items())
        + f": {reason.rstrip('.')}{'' if reason.endswith('?') else '.'}"
        for reason, rows in reasons.items()
    ]


def _system_note(row: str, system: Mapping[str, object]) -> str:
    shown = {key: value for key, value in sorted(system.items()) if key not in ("kind", "label")}
    parts = [f"{k} {_flat(v)}" for k, v in shown.items() if v not in EMPTY]
    return f"{row}: {'; '.join([str(system['kind']), *parts]).rstrip('.')}."


def _flat(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_flat(v)}" for key, v in value.items() if v not in EMPTY)
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)

"""Paired tests between all systems of a table, deterministic, corrected within a stated family.

Command: `python -m residuum.significance compare ...`. Sources: Fisher's randomisation by sign
flips, p = (b + 1) / (B + 1); Student's paired t; Wilcoxon's signed ranks; Holm and Bonferroni.
Must not know rendering, nor what a paper reported.
"""

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from residuum.core import cells, command, files, manifest
from residuum.core.jobs import Job
from residuum.core.seeds import derive

app = command.app(__doc__)
BLOCK = 512  # resamples per matrix product: bounds memory, does not touch the result
TIE = 1e-12  # resampled means this close to the observed one count as equal to it
COLUMNS = [
    "column",
    "measure",
    "a",
    "b",
    "n",
    "seeds",
    "mean_a",
    "mean_b",
    "difference",
    "ci_low",
    "ci_high",
    "p",
    "p_error",
    "p_adjusted",
    "significant",
    "test",
    "correction",
    "family",
    "wins",
    "ties",
    "losses",
]


@app.command()
def compare(
    spec: Annotated[str, typer.Option(help="Job as JSON")],
    metrics: Annotated[Path, typer.Option(help="folder of the metrics files")],
    output: Annotated[Path, typer.Option(help="TSV to write")],
) -> None:
    """Test every pair of rows in every column of one table."""
    job = command.parse_spec(Job, spec)
    loaded = cells.load(cells.refused(job, metrics), metrics)
    rows = [r for column in job.table.columns for r in compare_column(job, column, loaded)]
    adjust(rows, job.table.tests.correction)
    for row in rows:
        row["significant"] = row["p_adjusted"] < job.table.tests.alpha
    table = pl.DataFrame(rows, schema=COLUMNS, infer_schema_length=None)
    files.write_text(output, table.write_csv(separator="\t"))
    manifest.write(
        manifest.beside(output),
        artefact={"comparisons": len(rows)},
        spec=job.model_dump(mode="json"),
        inputs=[metrics / name for name in sorted(set(job.metrics_files()))],
        module="residuum.significance",
    )


def compare_column(job: Job, column: Any, loaded: dict[Any, cells.Cell]) -> list[dict]:
    """Compare all pairs of one column; per query, a system with seeds counts by their mean."""
    tests = job.table.tests
    present = [row.id for row in job.table.rows if (row.id, column.id) in loaded]
    pairs = list(itertools.combinations(present, 2))
    if not pairs:
        return []
    values = {row: loaded[row, column.id].per_query for row in present}
    differences = np.stack([values[a] - values[b] for a, b in pairs], axis=1)
    seed = derive(tests.seed, job.id, column.id)
    p = TESTS[tests.test](differences, tests.resamples, seed)
    error = monte_carlo_error(p, tests.resamples) if tests.test == "permutation" else 0 * p
    family = job.id if tests.family == "table" else f"{job.id}/{column.id}"
    fixed = {
        "column": column.id,
        "measure": column.measure,
        "n": len(differences),
        "test": tests.test,
        "correction": tests.correction,
        "family": family,
    }
    return [
        {
            **fixed,
            **_pair(a, b, loaded[a, column.id], loaded[b, column.id], differences[:, i]),
            "p": float(p[i]),
            "p_error": float(error[i]),
        }
        for i, (a, b) in enumerate(pairs)
    ]


def _pair(a: str, b: str, cell_a: cells.Cell, cell_b: cells.Cell, d: np.ndarray) -> dict:
    low, high = t_interval(d)
    wins, losses = int((d > TIE).sum()), int((d < -TIE).sum())
    return {
        "a": a,
        "b": b,
        "seeds": max(len(cell_a.runs), len(cell_b.runs)),
        "mean_a": float(cell_a.values.mean()),
        "mean_b": float(cell_b.values.mean()),
        "difference": float(d.mean()),
        "ci_low": low,
        "ci_high": high,
        "wins": wins,
        "ties": len(d) - wins - losses,
        "losses": losses,
    }


def permutation(differences: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Two-sided paired permutation test by sign flips, for all columns at once.

    `differences` has shape (queries, comparisons), rows ordered by query_id. Every comparison
    shares the same signs, so p depends neither on the order of systems nor on workers.
    Returns p = (b + 1) / (resamples + 1), b counting |resampled mean| >= |observed mean|.
    """
    n = len(differences)
    observed = np.abs(differences.sum(axis=0)) - TIE * n
    generator = np.random.Generator(np.random.PCG64(seed))
    at_least = np.zeros(differences.shape[1], dtype=np.int64)
    for start in range(0, resamples, BLOCK):
        signs = _signs(generator, min(BLOCK, resamples - start), n)
        at_least += (np.abs(signs @ differences) >= observed).sum(axis=0)
    return (at_least + 1) / (resamples + 1)


def _signs(generator: np.random.Generator, rows: int, n: int) -> np.ndarray:
    width = -(-n // 8)
    bits = np.frombuffer(generator.bytes(rows * width), dtype=np.uint8).reshape(rows, width)
    return np.unpackbits(bits, axis=1, count=n).astype(np.float64) * 2 - 1


def monte_carlo_error(p: np.ndarray, resamples: int) -> np.ndarray:
    """Standard error of a permutation p-value that comes from its limited resamples."""
    return np.sqrt(p * (1 - p) / (resamples + 1))


def t_test(differences: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Two-sided paired t-test per column; p = 1 where all differences are zero."""
    from scipy import stats

    return _column_wise(differences, lambda d: stats.ttest_1samp(d, 0.0).pvalue)


def wilcoxon(differences: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Two-sided Wilcoxon signed-rank test per column, zero differences dropped (Wilcoxon)."""
    from scipy import stats

    return _column_wise(differences, lambda d: stats.wilcoxon(d, zero_method="wilcox").pvalue)


def _column_wise(differences: np.ndarray, test: Callable[[np.ndarray], float]) -> np.ndarray:
    """Apply a test per column; one whose differences are all equal has p of 1 if they are 0.

    A constant difference other than 0 over several queries leaves the t statistic infinite: p = 0.
    """
    p = [float(test(d)) if np.any(d) else 1.0 for d in differences.T]
    return np.array([1.0 if math.isnan(value) else value for value in p])


TESTS: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
    "permutation": permutation,
    "t-test": t_test,
    "wilcoxon": wilcoxon,
}


def t_interval(d: np.ndarray, level: float = 0.95) -> tuple[float | None, float | None]:
    """Return the t interval of the mean difference, or (None, None) for fewer than two queries."""
    if len(d) < 2:
        return None, None
    from scipy import special

    half = float(special.stdtrit(len(d) - 1, (1 + level) / 2) * d.std(ddof=1) / math.sqrt(len(d)))
    return float(d.mean()) - half, float(d.mean()) + half


def adjust(rows: list[dict], correction: str) -> None:
    """Fill in p_adjusted, correcting together the comparisons that share a family."""
    families: dict[str, list[dict]] = {}
    for row in rows:
        families.setdefault(row["family"], []).append(row)
    for members in families.values():
        adjusted = CORRECTIONS[correction]([row["p"] for row in members])
        for row, p in zip(members, adjusted, strict=True):
            row["p_adjusted"] = p


def bonferroni(p: list[float]) -> list[float]:
    """Multiply by the number of comparisons, at most 1."""
    return [min(1.0, value * len(p)) for value in p]


def holm(p: list[float]) -> list[float]:
    """Holm's step-down: the i-th smallest of m times (m - i + 1), never decreasing."""
    adjusted, running = [0.0] * len(p), 0.0
    for position, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        running = max(running, min(1.0, p[i] * (len(p) - position)))
        adjusted[i] = running
    return adjusted


CORRECTIONS: dict[str, Callable[[list[float]], list[float]]] = {
    "none": list,
    "bonferroni": bonferroni,
    "holm": holm,
}

if __name__ == "__main__":
    command.main(app)

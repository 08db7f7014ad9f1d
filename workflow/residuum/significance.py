"""Paired tests between the systems of a table, deterministic, corrected within a stated family.

Command: `python -m residuum.significance compare ...`. The tests themselves are in
`residuum.paired`; docs/statistics.md explains them. Must not know rendering, nor what a paper
reported.
"""

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from residuum import paired
from residuum.core import cells, command, files, manifest
from residuum.core.schema import parts_of
from residuum.wiring.bound import BoundTable

app = command.app(__doc__)
COLUMNS = [
    *("column", "measure", "a", "b", "n", "seeds", "mean_a", "mean_b", "difference"),
    *("ci_low", "ci_high", "boot_low", "boot_high", "effect", "wins", "ties", "losses"),
    *("detectable", "p", "p_error", "p_adjusted", "significant", "p_seeds", "seeds_holding"),
    *("method", "test", "correction", "family"),
]
TEXT = ("column", "measure", "a", "b", "seeds_holding", "method", "test", "correction", "family")
WHOLE = ("n", "seeds", "wins", "ties", "losses")
FORM = {
    name: pl.String if name in TEXT else pl.Int64 if name in WHOLE else pl.Float64
    for name in COLUMNS
} | {"significant": pl.Boolean}


@app.command()
def compare(
    spec: Annotated[str, typer.Option(help="BoundTable as JSON")],
    metrics: Annotated[Path, typer.Option(help="folder of the metrics files")],
    output: Annotated[Path, typer.Option(help="TSV to write")],
    together: Annotated[
        list[str] | None,
        typer.Option(help="another BoundTable of the same family, as JSON"),
    ] = None,
    workers: Annotated[int, typer.Option(help="threads; no value depends on them")] = 1,
) -> None:
    """Test the pairs of rows that a table's tests ask for, in every column."""
    job, *others = (command.parse_spec(BoundTable, text) for text in [spec, *(together or [])])
    rows = compared(job, metrics, workers)
    family = [row for other in others for row in compared(other, metrics, workers)]
    paired.adjust([*rows, *family], job.tests.correction)
    for row in rows:
        row["significant"] = row["p_adjusted"] < job.tests.alpha
    table = pl.DataFrame(rows, schema=FORM)
    files.write_text(output, table.write_csv(separator="\t"))
    read = {name for one in (job, *others) for name in one.metrics_files()}
    manifest.write(
        manifest.beside(output),
        artefact={"comparisons": len(rows)},
        spec=job.model_dump(mode="json"),
        inputs=[metrics / name for name in sorted(read)],
        module="residuum.significance",
    )


def compared(job: BoundTable, metrics: Path, workers: int = 1) -> list[dict[str, Any]]:
    """Return a row per comparison of one table, with its family; p is not adjusted yet."""
    job = cells.refused(job, metrics)
    wanted = [paired.Wanted(*names) for names in job.compared()]
    found = paired.compare_all(cells.load(job, metrics), wanted, job.tests, job.tests.seed, workers)
    measures = {column.id: column.measure for column in job.table.columns}
    return [
        {
            **row,
            "seeds_holding": row["seeds_holding"] or None,
            "measure": measures[row["column"]],
            "test": job.tests.test,
            "correction": job.tests.correction,
            "family": family(job, row["column"]),
        }
        for row in found
    ]


def family(job: BoundTable, column: str) -> str:
    """Name the comparisons that one in this column is corrected with."""
    names = {"column": f"{job.id}/{column}", "table": job.id, "paper": parts_of(job.id)[0]}
    return names[job.tests.family]


if __name__ == "__main__":
    command.main(app)

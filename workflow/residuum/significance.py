"""Paired tests between the systems of a table, deterministic, corrected within a stated family.

Command: `python -m residuum.significance compare ...`. docs/statistics.md explains the tests of
`residuum.paired`.
"""

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from residuum import paired
from residuum.artefacts import manifest
from residuum.cli import command
from residuum.pages import grids, limits
from residuum.pages.bearing import Limits, Weighed, weigh
from residuum.pages.entries import parts_of
from residuum.pages.grids import read_groups
from residuum.pages.table.job import BoundTable, metrics_files
from residuum.tuning.learned import read_all

app = command.app(__doc__)


@app.command()
def compare(
    spec: Annotated[str, typer.Option(help="BoundTable as JSON")],
    metrics: command.Metrics,
    output: Annotated[Path, command.written("TSV to write")],
    bounds: command.Bounds,
    together: Annotated[
        list[str] | None, typer.Option(help="another BoundTable of the same family, as JSON")
    ] = None,
    workers: command.Workers = 1,
    learning: command.Learning = None,
    groups: command.Groups = None,
) -> None:
    """Test the pairs of rows that a table's tests require, in every column."""
    jobs = [command.parse_spec(BoundTable, spec)]
    jobs += [command.parse_spec(BoundTable, text, "--together") for text in together or ()]
    tests, verdicts, tables = jobs[0].tests, read_all(learning or []), []
    parted, known = read_groups(groups or []), Limits(metrics, bounds)
    for job in jobs:
        bound, values, _ = grids.load(job, metrics, verdicts, parted)
        measures = {column.id: column.named() for column in job.shown()}
        pairs = []
        paper = parts_of(job.id)[0]
        for column, a, b in bound.compared():
            families = {"column": f"{job.id}/{column}", "table": job.id, "paper": paper}
            pairs.append(paired.Pair(a, b, column, measures[column], families[tests.family]))
        compared = paired.compare(values, pairs, tests, workers)
        tables.append([_weighed(bound, test, known) for test in compared])
    family = paired.adjust([*chain(*tables)], tests.correction, tests.alpha)
    rows = family[: len(tables[0])]
    grids.write(output, rows, Weighed)
    parts, bounded = limits.below(basis for job in jobs for basis in job.bases_compared())
    inputs = [metrics / name for name in sorted({*metrics_files(jobs), *parts})]
    inputs += [*(bounds / name for name in bounded), *(learning or [])]
    inputs += groups or []
    manifest.write(output, {"comparisons": len(rows)}, jobs[0], inputs, "residuum.significance")


def _weighed(job: BoundTable, test: paired.Comparison, known: Limits) -> Weighed:
    a, b = ([basis] if (basis := job.basis(row, test.column)) else [] for row in (test.a, test.b))
    return weigh(test, a, b, known, job.tests)


if __name__ == "__main__":
    command.main(app)

"""What a paper says of its results in words, judged by paired tests of the same per-query values.

Command: `python -m residuum.claims judge ...`. Each claim is a family of comparisons of its own.
Must not know how tables and figures are rendered, nor how a value was computed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum import paired
from residuum.artefacts import files, manifest, trec
from residuum.cli import command
from residuum.pages import curves, grids, layout, notes
from residuum.pages.claims import Values, compare, in_words
from residuum.pages.claims import judge as judged
from residuum.pages.grids import GridCell
from residuum.pages.layout import TextCell
from residuum.pages.verdicts import LedgerRow
from residuum.tuning.learned import Learned, read_all
from residuum.wiring.bound import BoundClaims, BoundFigure, BoundTable

app = command.app(__doc__)


@app.command()
def judge(
    spec: Annotated[str, typer.Option(help="BoundClaims as JSON")],
    metrics: command.Metrics,
    tests: Annotated[Path, typer.Option(help="TSV of the tests to write")],
    output: command.Page,
    table: Annotated[list[Path] | None, typer.Option(help="TSV of a table they are about")] = None,
    depths: Annotated[list[Path] | None, typer.Option(help="depth curve of a figure")] = None,
    learning: command.Learning = None,
) -> None:
    """Write the claims with their verdicts as .tsv, .md and .tex, and the tests as .tsv."""
    job = command.parse_spec(BoundClaims, spec)
    read = [trec.read_depths(path) for path in depths or []]
    told = learning or []
    values = {name: of_table(bound, metrics, told) for name, bound in job.tables.items()}
    for name, absent in job.absent.items():
        values[name] = of_figure(job.figures.get(name), read, absent, read_all(told))
    made = compare(job, values)
    files.write_text(tests, grids.frame(made, paired.Comparison).write_csv(separator="\t"))
    cells = {path.stem: grids.rows(path, GridCell, optional=grids.INDEX) for path in table or []}
    by_name = {
        name: {(cell.row, cell.column): cell for cell in cells[bound.id]}
        for name, bound in job.tables.items()
    }
    rows = list(judged(job, values, made, by_name))
    own = layout.write(output, grids.frame(rows, LedgerRow), page(job, rows, made))
    names = sorted({name for bound in job.tables.values() for name in bound.metrics_files()})
    inputs = [*(metrics / name for name in names), *(table or []), *(depths or []), *told]
    manifest.write(tests, {"comparisons": len(made)}, job, inputs, "residuum.claims")
    manifest.write(output, {"claims": len(rows)}, job, inputs, "residuum.claims", own)


def of_table(job: BoundTable, metrics: Path, learning: Sequence[Path]) -> Values:
    """Return the values of a table's cells, and why the others are not run or not learned."""
    bound, scores = grids.load(job, metrics, learning)
    cells = ((row, column) for column in bound.table.columns for row in bound.table.rows)
    reasons = {(row.id, column.id): bound.not_run(row, column) for row, column in cells}
    unlearned = {(r, c): why for r, of in bound.unlearned.items() for c, why in of.items()}
    return Values(scores, {key: why for key, why in reasons.items() if why}, unlearned)


def of_figure(
    job: BoundFigure | None,
    depths: Sequence[pl.DataFrame],
    absent: dict[str, str],
    told: Mapping[str, Learned],
) -> Values:
    """Return the values of a figure at each depth from 1, as (series, panel/depth)."""
    points = curves.measured(job, pl.concat(depths)) if job and job.runs else []
    scores = {(point.series.id, point.column): point.scores for point in points if point.depth > 0}
    panels = [panel.id for panel in job.figure.panels] if job else []
    faulty = {}
    for name, runs in job.runs.items() if job else ():
        if job and (why := grids.why_not_learned(job, runs, job.place, told)):
            faulty |= {(name, panel): why for panel in panels}
    return Values(scores, {(row, p): why for row, why in absent.items() for p in panels}, faulty)


def page(
    job: BoundClaims, rows: Sequence[LedgerRow], tests: Sequence[paired.Comparison]
) -> layout.Layout:
    """Lay the claims out: what is said where, what is tested for it, the verdict and why."""
    lines = []
    for claim, row in zip(job.claims.claims, rows, strict=True):
        tested = in_words(claim.holds)
        texts = [claim.section, claim.says, tested, row.verdict, row.reason]
        lines.append(list(map(TextCell, texts)))
    header = ["Section", "The paper says", "Tested here", "Verdict", "Reason"]
    align = r"lp{.3\linewidth}p{.2\linewidth}lp{.3\linewidth}"
    named = [(f"{t.family}: {t.a} and {t.b} in {t.column}", t) for t in tests]
    lines_below = [
        "A claim holds if all its comparisons do; one that is reversed decides against it.",
        notes.tests_note(job.tests, "claim"),
        *notes.remarks(named, job.tests.alpha),
        f"Scale {job.scale}: {job.reason}",
    ]
    return layout.Layout(job.claims.title, job.claims.printed_in, header, lines, lines_below, align)


if __name__ == "__main__":
    command.main(app)

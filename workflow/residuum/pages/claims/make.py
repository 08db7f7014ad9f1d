"""What a paper says of its results in words, judged by paired tests of the same per-query values.

Command: `python -m residuum.pages.claims.make judge ...`. Each claim is a family of comparisons of
its own.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum import paired
from residuum.artefacts import fidelities, manifest, trec
from residuum.cli import command
from residuum.config.schema.fidelities import nth
from residuum.pages import grids, layout, limits, notes
from residuum.pages.bearing import Limits, Weighed
from residuum.pages.claims.job import BoundClaims
from residuum.pages.claims.judging import Values, axis, compare, in_words
from residuum.pages.claims.judging import judge as judged
from residuum.pages.dimensions.job import BoundDimensions
from residuum.pages.figure import curves
from residuum.pages.figure.job import BoundFigure
from residuum.pages.figure.metrics import of_runs, without_unlearned
from residuum.pages.figure.points import Point
from residuum.pages.grids import Parted, read_groups
from residuum.pages.layout import TextCell
from residuum.pages.table.job import BoundTable, metrics_files
from residuum.pages.verdicts import LedgerRow
from residuum.paired import ScoreMatrix
from residuum.tuning.learned import Learned, read_all
from residuum.wiring.paths import Paths

app = command.app(__doc__)
PATHS = Paths()


@app.command()
def judge(
    spec: Annotated[str, typer.Option(help="BoundClaims as JSON")],
    metrics: command.Metrics,
    tests: Annotated[Path, command.written("TSV of the tests to write")],
    output: command.Page,
    bounds: command.Bounds,
    measured: command.Measured,
    table: Annotated[
        list[Path] | None, typer.Option(help="TSV of a table or page of dimensions")
    ] = None,
    depths: Annotated[list[Path] | None, typer.Option(help="depth curve of a figure")] = None,
    groups: command.Groups = None,
    learning: command.Learning = None,
) -> None:
    """Write the claims with their verdicts as .tsv, .md and .tex, and the tests as .tsv."""
    job = command.parse_spec(BoundClaims, spec)
    verdicts = read_all(learning or [])
    parted = read_groups(groups or [])
    values = {n: of_table(bound, metrics, verdicts, parted) for n, bound in job.tables.items()}
    for name, figure in job.figures.items():
        kept, deep = without_unlearned(figure, verdicts), figure.entry.of_curves
        points = _over_depths(figure, depths or []) if deep else of_runs(kept, metrics, parted)
        values[name] = of_figure(job, name, kept, points)
    read: dict[Path, None] = {}
    for name, theory in job.dimensions.items():
        folders = {row: measured / at for row, at in theory.folders().items()}
        read |= dict.fromkeys(folder / "manifest.json" for folder in folders.values())
        values[name] = of_dimensions(job, name, theory, folders)
    made = compare(job, values, Limits(metrics, bounds))
    grids.write(tests, made, Weighed)
    cells = {path.stem: grids.read_cells(path) for path in table or []}
    shown = {**job.tables, **job.dimensions}
    by_name = {name: grids.by_place(cells[bound.id]) for name, bound in shown.items()}
    rows = list(judged(job, values, made, by_name))
    written = layout.write(output, grids.frame(rows, LedgerRow), page(job, rows, made))
    names = {*metrics_files(job.tables.values())}
    names |= {name for figure in job.figures.values() for name in figure.metrics()}
    parts, bounded = limits.below(job.bases_compared())
    inputs = [metrics / name for name in sorted({*names, *parts})]
    inputs += [bounds / name for name in bounded]
    inputs += [*(table or []), *(depths or []), *(groups or []), *(learning or []), *read]
    manifest.write(tests, {"comparisons": len(made)}, job, inputs, "residuum.pages.claims.make")
    manifest.write(
        output, {"claims": len(rows)}, job, inputs, "residuum.pages.claims.make", written
    )


def of_table(
    job: BoundTable, metrics: Path, verdicts: Mapping[str, Learned], groups: Parted
) -> Values:
    """Return the values of a table's cells, and why other cells are not run or not learned."""
    bound, scores, _ = grids.load(job, metrics, verdicts, groups)
    cells = ((row, column) for column in bound.entry.columns for row in bound.entry.rows)
    reasons = {(row.id, column.id): bound.not_run(row, column) for row, column in cells}
    unlearned = {
        (row, column): why
        for row, by_column in bound.unlearned.items()
        for column, why in by_column.items()
    }
    return Values(scores, {key: why for key, why in reasons.items() if why}, unlearned)


def _over_depths(figure: BoundFigure, depths: Sequence[Path]) -> list[Point]:
    """Return the points of a figure at each depth from 1, from the depth curves of its splits.

    A figure without runs or curves has no points.
    """
    if not figure.drawn():
        return []
    tables = [trec.read_curve(p) for p in depths if _split_ref(p) in figure.splits.values()]
    points = curves.measured(figure, pl.concat([pl.DataFrame(schema=trec.curve()), *tables]))
    return [point for point in points if point.x > 0]


def of_figure(job: BoundClaims, name: str, figure: BoundFigure, points: Sequence[Point]) -> Values:
    """Return a figure's values by (series, panel/point), and why series have no values."""
    held = [claim.holds for claim in job.entry.claims if claim.holds and claim.holds.page == name]
    panels = dict.fromkeys(panel for holds in held for panel in holds.columns)
    scores = {(point.series.id, point.column): point.scores for point in points}
    not_run, unlearned = (
        {(row, panel): why for row, why in reasons.items() for panel in panels}
        for reasons in (figure.absent, figure.unlearned)
    )
    return Values(scores, not_run, unlearned)


def of_dimensions(
    job: BoundClaims, name: str, page: BoundDimensions, folders: Mapping[str, Path]
) -> Values:
    """Return margins by (row, rank/length) of docs, and why rows are not measured.

    Of a rank, the queries are those with a margin of that rank at every length that has any.
    """
    held = [claim.holds for claim in job.entry.claims if claim.holds and claim.holds.page == name]
    columns = dict.fromkeys(column for holds in held for column in holds.columns)
    not_run = {(row, column): why for row, why in page.absent.items() for column in columns}
    scores: dict[tuple[str, str], ScoreMatrix] = {}
    for row in (row.id for row in page.entry.rows if row.shows == "margins" and row.id in folders):
        margins = fidelities.read(folders[row]).margins.filter(pl.col("length") != fidelities.ALL)
        for (rank,), of_rank in margins.group_by("nearest", maintain_order=True):
            lengths = of_rank["length"].unique(maintain_order=True)
            with_all = of_rank.filter(pl.len().over("query_id") == len(lengths)).sort("query_id")
            for length in lengths:
                values = with_all.filter(length=length)
                matrix = ScoreMatrix(
                    values["query_id"].to_list(), values["margin"].to_numpy()[:, None]
                )
                scores[row, f"{nth(int(str(rank)))}/{length}"] = matrix
    return Values(scores, not_run, {})


def _split_ref(curve: Path) -> str:
    parts = PATHS.depth_curve.parse(curve) or {}
    return "/".join(parts.get(part, "") for part in ("dataset", "split"))


def page(
    job: BoundClaims, rows: Sequence[LedgerRow], tests: Sequence[paired.Comparison]
) -> layout.Layout:
    """Lay the claims out: section, sentence, tested relation, verdict and reason."""
    lines = []
    for claim, row in zip(job.entry.claims, rows, strict=True):
        tested = in_words(claim.holds, axis(job, claim.holds)) if claim.holds else ""
        texts = [claim.section, claim.says, tested, row.verdict, row.reason]
        lines.append(list(map(TextCell, texts)))
    header = ["Section", "The paper says", "Tested here", "Verdict", "Reason"]
    align = r"lp{.3\linewidth}p{.2\linewidth}lp{.3\linewidth}"
    pages: dict[str, BoundTable | BoundFigure] = {**job.tables, **job.figures}
    about = [(h.page, row) for c in job.entry.claims if (h := c.holds) for row in h.named()]
    runs = {
        f"{name}/{part}": part_runs
        for name, row in about
        for part, part_runs in (pages[name].runs if name in pages else {}).items()
        if part.partition("/")[0] == row
    }
    named = [(f"{t.family}: {t.a} and {t.b} in {t.column}", t) for t in tests]
    lines_below = [
        "A claim holds if all its comparisons hold. One reversed comparison decides against it.",
        notes.tests_note(job.tests, "claim"),
        *notes.remarks(named, job.tests.alpha),
        *notes.one_training(runs),
        *notes.of_scale(job),
    ]
    return layout.page(job.entry, header, lines, lines_below, align)


if __name__ == "__main__":
    command.main(app)

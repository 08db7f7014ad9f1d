"""Measures over rerank depths, efforts, cutoffs, queries, groups or snapshots, drawn and tested.

Command: `python -m residuum.pages.figure.make draw|time ...`. What is drawn lies beside the
drawing, unrounded; equal data is equal bytes. Seconds, which no two runs share, are drawn apart.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import files, manifest, trec
from residuum.cli import command
from residuum.pages import drawing, grids, layout, notes
from residuum.pages.drawing import panel_name
from residuum.pages.figure import queries
from residuum.pages.figure.curves import cost_notes, measured, vectors_compared
from residuum.pages.figure.entry import COSTS, CUTOFF, DEPTH, EFFORT, QUERY, SNAPSHOT
from residuum.pages.figure.job import BoundFigure
from residuum.pages.figure.metrics import cells, labelled, of_runs, over_groups, without_unlearned
from residuum.pages.figure.points import Point, compare
from residuum.pages.grids import GridCell, Parted, read_groups
from residuum.pages.layout import DASH, TextCell
from residuum.paired import ScoreMatrix
from residuum.tuning.learned import Learned, read_all

app = command.app(__doc__)
FROM_ZERO = {
    DEPTH: "K = 0 is the first stage alone, drawn as a thin line and not tested.",
    EFFORT: "Effort 0 is the exact search, drawn as a thin line and not tested.",
}
TESTED = (
    *("difference", "ci_low", "ci_high", "boot_low", "boot_high", "effect", "min_detectable"),
    *("p", "p_error", "p_adjusted", "p_mixed_effects", "p_over_seeds"),
    *("seeds_agreeing", "seeds_near_alpha", "method", "significant"),
)
AXIS = {
    SNAPSHOT: "Snapshots are models after equal parts of a training's steps. The last is the "
    "finished model: tables show its runs, and all snapshots take its lambda.",
    CUTOFF: "At a cutoff k the measure reads the first k docs of each list.",
    QUERY: queries.NOTE,
}


@app.command()
def draw(
    spec: Annotated[str, typer.Option(help="BoundFigure as JSON")],
    output: Annotated[Path, command.written("TSV to write; .pdf, .png and .md go beside it")],
    metrics: command.Metrics,
    curve: Annotated[
        list[Path] | None,
        typer.Option(help="TSV of run, depth (or effort), query_id, values"),
    ] = None,
    cost: Annotated[
        list[Path] | None,
        typer.Option(help="manifest of its scored pairs, or of its searches"),
    ] = None,
    groups: command.Groups = None,
    learning: command.Learning = None,
) -> None:
    """Write the drawn data as .tsv, the drawing as .pdf and .png and its caption as .md."""
    requested = command.parse_spec(BoundFigure, spec)
    verdicts, curves, paid = read_all(learning or []), curve or [], cost or []
    if requested.entry.of_curves:
        job, points = _of_curves(requested, verdicts, curves, paid)
        data, lines = frame(job, points), list(cost_notes(job, paid))
    else:
        job, parted = without_unlearned(requested, verdicts), read_groups(groups or [])
        kept = [series.id for series in job.drawn()]
        points = compare(job, kept, of_runs(job, metrics, parted))
        if job.entry.grouped:
            data = grouped_frame(job, points)
            lines = [f"{at}: {cut}" for (at, _), made in parted.items() for cut in made.cuts()]
        else:
            made = queries.frame if job.entry.over == QUERY else frame
            data, lines = made(job, points), [AXIS[job.entry.over]]
    if job.entry.over == QUERY:
        written = queries.save(job, points, data, output)
    else:
        written = drawing.save(job, points, output)
    page = caption(job, points, lines)
    page.notes.extend(notes.of_learning(verdicts))
    written += layout.write(output, data, page, image=f"{output.stem}.png")
    inputs = [*curves, *paid, *(metrics / name for name in requested.metrics())]
    inputs += [*(groups or []), *(learning or [])]
    facts = {"points": len(points)}
    manifest.write(output, facts, requested, inputs, "residuum.pages.figure.make", written)


@app.command("time")
def draw_times(
    spec: Annotated[str, typer.Option(help="BoundFigure as JSON")],
    output: Annotated[Path, command.written("TSV to write; .pdf and .png go beside it")],
    curve: Annotated[list[Path], typer.Option(help="TSV of run, effort, query_id, measure, value")],
    timing: Annotated[list[Path], typer.Option(help="JSON of the seconds of its searches")],
    learning: command.Learning = None,
) -> None:
    """Draw a figure over efforts by the time that a search takes; no manifest says it is a result.

    Of several seeds the time is the mean of their medians.
    """
    job = command.parse_spec(BoundFigure, spec)
    times = {
        (path.stem, int(effort)): 1000 * seconds
        for path in timing
        for effort, seconds in json.loads(files.read_bytes(path))["median"].items()
    }
    shown, _ = labelled(job, read_all(learning or []))
    points = measured(shown, _read(shown, curve), times)
    drawing.save(shown, points, output, "Milliseconds per query")
    data = frame(job, points).rename({COSTS[EFFORT]: "ms_per_query"})
    files.write_text(output, data.drop(*TESTED).write_csv(None, separator="\t"))


def _of_curves(
    job: BoundFigure, verdicts: Mapping[str, Learned], curves: list[Path], paid: list[Path]
) -> tuple[BoundFigure, list[Point]]:
    shown, tested = labelled(job, verdicts)
    compared = {key: count for path in paid for key, count in vectors_compared(path)}
    made = measured(shown, _read(job, curves), compared)
    return shown, compare(shown, tested, made)


def _read(job: BoundFigure, curves: list[Path]) -> pl.DataFrame:
    return pl.concat([trec.read_curve(path, job.entry.over) for path in curves])


def frame(job: BoundFigure, points: list[Point]) -> pl.DataFrame:
    """Return a row per point: means over queries and seeds, spread, its test."""
    over = job.entry.over
    rows = [
        {
            "panel": point.panel.id,
            "series": point.series.id,
            over: point.x,
            "measure": _measure(job, point),
            "n": len(point.scores.query_ids),
            "seeds": len(point.means),
            "mean": float(point.means.mean()),
            "lowest": float(point.means.min()),
            "highest": float(point.means.max()),
            "per_seed": " ".join(str(float(mean)) for mean in point.means),
            **({COSTS[over]: point.cost} if over in COSTS else {}),
            **_tested(point),
        }
        for point in points
    ]
    header = None if rows else ["panel", "series", over]
    return pl.DataFrame(rows, infer_schema_length=None, schema=header)


def _measure(job: BoundFigure, point: Point) -> str:
    return job.entry.measure_at(point.panel, point.at) if point.panel.measure else trec.RECALL


def grouped_frame(job: BoundFigure, points: list[Point]) -> pl.DataFrame:
    """Return a row per point in the form of a table's cells, which the ledger reads."""
    shown = cells(job, points)
    tests = {(point.series.id, point.column): _tested(point) for point in points}
    none = dict.fromkeys(TESTED)
    rows = [tests.get((cell.row, cell.column), none) for cell in shown]
    beside = pl.DataFrame(rows, infer_schema_length=None, schema=None if rows else [*TESTED])
    return grids.tidied(shown).drop(grids.INDEX).hstack(beside)


def _tested(point: Point) -> dict[str, object]:
    return {name: getattr(point.test, name, None) for name in TESTED}


def caption(job: BoundFigure, points: list[Point], lines: list[str]) -> layout.Layout:
    """Return the page under the drawing: the values, what is shown, the tests and the costs."""
    figure, columns = job.entry, job.plotted()
    if figure.over == QUERY:
        return layout.page(figure, *queries.grid(job, points), _notes(job, points, lines))
    by_place = {(point.at, point.panel.id, point.series.id): point for point in points}
    costs = {(point.series.id, point.at): point.cost for point in points}  # of all panels
    sizes: dict[str, set[int]] = {}  # queries of a group, by the splits of all series
    for point in sorted(points, key=lambda point: point.x):
        sizes.setdefault(point.at, set()).add(len(point.scores.query_ids))
    searched = job.drawn() if figure.over == EFFORT else []
    rows = []
    for at, numbers in sizes.items():
        counted = " or ".join(map(str, sorted(numbers)))
        texts = [f"{at} ({counted} queries)" if figure.grouped else at]
        texts += [_shown(by_place.get((at, panel.id, series.id))) for panel, series in columns]
        counts = [costs.get((series.id, at)) for series in searched]
        texts += [DASH if count is None else f"{count:,.0f}" for count in counts]
        rows.append(list(map(TextCell, texts)))
    deep = figure.over == DEPTH
    header = ["K" if deep else figure.over]
    for panel, series in columns:
        value = (panel.measure or "recall") if deep else panel.header
        header.append(f"{value} {series.label}")
    header += [f"vectors compared, {series.label}" for series in searched]
    return layout.page(figure, header, rows, _notes(job, points, lines))


def _shown(point: Point | None) -> str:
    """Write a point's mean, its range over seeds, and a star for a significant difference."""
    if point is None:
        return DASH
    mean, low, high = point.means.mean(), point.means.min(), point.means.max()
    spread = f" ({low:.3f}{DASH}{high:.3f})" if low < high else ""
    significant = point.test is not None and point.test.significant
    return f"{mean:.3f}{spread}{'*' * significant}"


def _notes(job: BoundFigure, points: list[Point], lines: list[str]) -> Iterator[str]:
    figure, drawn = job.entry, job.drawn()
    yield from dict.fromkeys(_panels(job, points))  # two may differ in series alone
    for series in drawn:
        yield f"{series.label}: {series.system}, runs {', '.join(job.runs[series.id])}."
    single = figure.over == QUERY  # a test of each series, and no point with a spread
    if max(map(len, job.runs.values()), default=0) > 1:
        spread = "" if single else "; bars and brackets: lowest to highest seed"
        yield f"Means over training seeds, per query where tested{spread}. {notes.SHARED}"
    if any(point.test for point in points):
        note = notes.tests_note(job.tests, "panel", "figure")
        named = figure.over if figure.of_curves or figure.over == CUTOFF else "point"
        signs, where = ("*", "") if single else ("Marks and *", f" at that {named}")
        yield f"{signs}: differs significantly from {drawn[0].label}{where}. {note}"
        tests = [(_named(job, p), p.test) for p in points if p.test]
        yield from notes.remarks(tests, job.tests.alpha)
        yield from notes.one_training(job.runs)
    if figure.of_curves:
        yield FROM_ZERO[figure.over]
    yield from lines
    yield from _not_drawn(job)
    yield from notes.of_runs(job)
    yield from notes.of_scale(job)


def _named(job: BoundFigure, point: Point) -> str:
    """Name a comparison; over queries a series has one point alone."""
    name = f"{point.panel.id}, {point.series.id}"
    return name if job.entry.over == QUERY else f"{name} at {point.at}"


def _panels(job: BoundFigure, points: list[Point]) -> Iterator[str]:
    """Yield a note on each panel: its value, its splits and their numbers of queries."""
    sizes: dict[tuple[str, str], dict[int, int]] = {}
    for p in points:
        sizes.setdefault((p.panel.id, p.series.id), {})[p.x] = len(p.scores.query_ids)
    for panel in job.entry.panels:
        splits = dict[str, None]()
        for series in (one for at, one in job.plotted() if at == panel):
            at_points = sizes.get((panel.id, series.id), {}).values()
            queries = sum(at_points) if job.entry.grouped else max(at_points, default=0)
            role = series.role or job.entry.role
            splits[f"{job.splits[series.id]} in the role of {role}, {queries} queries"] = None
        named = f"{panel_name(job, panel)}{job.entry.papers_name(panel.header)}"
        yield f"{named}: {'; '.join(splits) or 'not run'}."


def _not_drawn(job: BoundFigure) -> Iterator[str]:
    absent = [series for series in job.entry.series if series not in job.drawn()]
    if job.entry.of_curves and absent:
        labels = ", ".join(series.label for series in absent)
        yield f"Not drawn, because they have no runs at this scale: {labels}."
        return
    for series in absent:
        verdict = "not learned" if series.id in job.unlearned else "not run"
        why = job.unlearned.get(series.id) or job.absent.get(series.id, "no runs")
        yield f"Not drawn, {verdict}: {series.label}: {why.rstrip('.')}."


def values(
    job: BoundFigure, row: str, column: str, metrics: Path, groups: Parted, read: object
) -> list[ScoreMatrix]:
    """Return the scores per query behind a point of a figure over groups."""
    points = over_groups(job, metrics, groups)
    return [p.scores for p in points if (p.series.id, p.column) == (row, column)]


def places(job: BoundFigure, numbers: Sequence[GridCell]) -> layout.Places:
    """Return the number that each cell of the grid shows, for a figure over groups.

    The grid has a line per group, and a column per panel and series.
    """
    columns = [(panel.id, series.id) for panel, series in job.plotted()]
    groups = dict.fromkeys(number.column.partition("/")[2] for number in numbers)
    return [[None, *(f"{series}/{panel}/{group}" for panel, series in columns)] for group in groups]


if __name__ == "__main__":
    command.main(app)

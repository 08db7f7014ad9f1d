"""Measures over the rerank depth, drawn: a line per first stage, tests at every depth.

Command: `python -m residuum.figures draw ...`. What is drawn lies beside the drawing, unrounded.
Must not know how docs were reranked, nor how p-values are computed.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum import paired
from residuum.artefacts import files, manifest, trec
from residuum.cli import command
from residuum.pages import curves, drawing, layout, tsv
from residuum.pages.curves import Curves, Point, Tests
from residuum.pages.layout import DASH, TextCell
from residuum.paired import notes
from residuum.wiring.bound import BoundFigure

app = command.app(__doc__)
TESTED = (
    *("difference", "ci_low", "ci_high", "boot_low", "boot_high", "effect", "min_detectable"),
    *("p", "p_error", "p_adjusted", "p_mixed_effects", "seeds_agreeing", "method", "significant"),
)


@app.command()
def draw(
    spec: Annotated[str, typer.Option(help="BoundFigure as JSON")],
    depths: Annotated[list[Path], typer.Option(help="TSV of run, depth, query_id, measure, value")],
    scored: Annotated[list[Path], typer.Option(help="manifest of the scored pairs behind it")],
    output: Annotated[Path, typer.Option(help="TSV to write; .pdf, .png and .md go beside it")],
) -> None:
    """Write the drawn data as .tsv, the drawing as .pdf and .png and its caption as .md."""
    job = command.parse_spec(BoundFigure, spec)
    loaded = curves.load(job, pl.concat([trec.read_depths(path) for path in depths]))
    points, tests = curves.points(job, loaded), compare(job, loaded)
    drawing.save(job, points, tests, output)
    page = caption(job, points, tests, [cost(path) for path in scored])
    layout.write(output, frame(points, tests), page, image=f"{output.stem}.png")
    manifest.write(output, {"points": len(points)}, job, [*depths, *scored], "residuum.figures")


def frame(points: list[Point], tests: Tests) -> pl.DataFrame:
    """Return a row per panel, series and depth: means over queries and seeds, spread and tests.

    `difference`, its 95% t interval and p compare the series with the first one drawn, per
    query, seeds averaged.
    """
    form = tsv.columns(paired.Comparison)
    columns = tsv.columns(Point) | {name: form[name] for name in TESTED}
    rows = [
        asdict(point) | {name: getattr(tests.get(point.key), name, None) for name in TESTED}
        for point in points
    ]
    return pl.DataFrame(rows, schema=columns)


def compare(job: BoundFigure, loaded: Curves) -> Tests:
    """Test each other series against the first, per panel, at every depth that both have.

    Depth 0, where nothing is reranked, is shown but not tested.
    """
    first, *others = (series.id for series in job.series())
    keys = [
        (panel.id, series, depth)
        for panel in job.figure.panels
        for series in others
        for depth in loaded[panel.id, series].values
        if depth > 0 and depth in loaded[panel.id, first].values
    ]
    scores = {
        (series, f"{panel}/{depth}"): paired.ScoreMatrix(curve.query_ids, job.runs[series], values)
        for (panel, series), curve in loaded.items()
        for depth, values in curve.values.items()
    }
    pairs = [
        paired.Pair(series, first, f"{panel}/{depth}", family=_family(job, panel))
        for panel, series, depth in keys
    ]
    rows = paired.compare(scores, pairs, job.tests)
    adjusted = paired.adjust(rows, job.tests.correction, job.tests.alpha)
    return dict(zip(keys, adjusted, strict=True))


def _family(job: BoundFigure, panel: str) -> str:
    return job.id if job.tests.family == "table" else f"{job.id}/{panel}"


def cost(scored: Path) -> str:
    """Return how many pairs a reranker scored, and how many without sharing them between runs."""
    facts = json.loads(files.read_bytes(scored))["artefact"]
    pairs, alone = facts["pairs"], facts["pairs_without_sharing"]
    runs = len(facts["pairs_per_run"])
    return (
        f"Pairs scored by {scored.name.partition('.')[0]}: {pairs:,}, each once for all depths of "
        f"{runs} first-stage runs; {alone:,} if every run were scored alone at its largest depth "
        f"({1 - pairs / max(alone, 1):.0%} saved)."
    )


def caption(job: BoundFigure, points: list[Point], tests: Tests, costs: list[str]) -> layout.Layout:
    """Return what stands under the drawing: what it shows, how it is tested, cost, the values."""
    columns = [(panel, s) for panel in job.figure.panels for s in job.series()]
    at = {point.key: point for point in points}

    def shown(key: curves.Key) -> TextCell:
        significant = key in tests and tests[key].significant
        return TextCell(f"{_mean(at[key])}{'*' * significant}" if key in at else DASH)

    return layout.Layout(
        title=job.figure.title,
        printed_in=job.figure.printed_in,
        header=["K", *(f"{panel.measure or 'recall'} {s.label}" for panel, s in columns)],
        rows=[
            [TextCell(str(k)), *(shown((panel.id, s.id, k)) for panel, s in columns)]
            for k in sorted({point.depth for point in points})
        ],
        notes=list(_notes(job, points, tests, costs)),
        align=["r", *"c" * len(columns)],
    )


def _mean(point: Point) -> str:
    low, high = point.lowest, point.highest
    return f"{point.mean:.3f}{f' ({low:.3f}{DASH}{high:.3f})' if low < high else ''}"


def _notes(job: BoundFigure, points: list[Point], tests: Tests, costs: list[str]) -> Iterator[str]:
    figure, (first, *others) = job.figure, job.series()
    for panel in figure.panels:
        n = max(point.n for point in points if point.panel == panel.id)
        yield (
            f"{drawing.panel_name(panel)} (the paper's {panel.header}): {job.place} in the role of "
            f"{figure.role}, {n} queries."
        )
    for series in [first, *others]:
        yield f"{series.label}: {series.system}, runs {', '.join(job.runs[series.id])}."
    if max(point.seeds for point in points) > 1:
        spread = "bars and brackets: lowest to highest seed"
        yield f"Means over training seeds, per query where tested; {spread}."
    if others:
        note = notes.tests_note(job.tests, "panel", "figure")
        yield f"Marks and *: differs significantly from {first.label} at that depth. {note}"
        yield from notes.remarks(list(tests.values()), job.tests.alpha, _point)
    yield "K = 0 is the first stage alone, drawn as a thin line and not tested."
    yield from costs
    if absent := [series.label for series in figure.series if series not in job.series()]:
        yield f"Not drawn, without runs at this scale: {', '.join(absent)}."
    yield f"Scale {job.scale}: {job.reason}"


def _point(test: paired.Comparison) -> str:
    panel, _, depth = test.column.rpartition("/")
    return f"{panel}, {test.a} at {depth}"


if __name__ == "__main__":
    command.main(app)

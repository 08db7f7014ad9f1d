"""Measures over rerank depths, groups of queries or snapshots, drawn; tests at every point.

Command: `python -m residuum.figures draw ...`. What is drawn lies beside the drawing, unrounded;
equal data is equal bytes. Must not know how runs were made, nor how p-values are computed.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import files, manifest, trec
from residuum.artefacts.groupings import Groups
from residuum.cli import command
from residuum.config.schema.figures import DEPTH
from residuum.pages import drawing, grids, grouped, layout, learned, notes
from residuum.pages.curves import measured
from residuum.pages.drawing import panel_name
from residuum.pages.layout import DASH, TextCell
from residuum.pages.points import Point, compare
from residuum.pages.series import of_runs, without_unlearned
from residuum.tuning.learned import Learned, read_all
from residuum.wiring.drawn import BoundFigure

app = command.app(__doc__)
TESTED = (
    *("difference", "ci_low", "ci_high", "boot_low", "boot_high", "effect", "min_detectable"),
    *("p", "p_error", "p_adjusted", "p_mixed_effects", "p_over_seeds"),
    *("seeds_agreeing", "seeds_near_alpha", "method", "significant"),
)
SNAPSHOTS = (
    "Snapshots are models after equal parts of a training's steps; the last is the finished one, "
    "whose runs tables show and whose lambda all have."
)


@app.command()
def draw(
    spec: Annotated[str, typer.Option(help="BoundFigure as JSON")],
    output: Annotated[Path, typer.Option(help="TSV to write; .pdf, .png and .md go beside it")],
    metrics: command.Metrics,
    depths: Annotated[
        list[Path] | None, typer.Option(help="TSV of run, depth, query_id, measure, value")
    ] = None,
    scored: Annotated[
        list[Path] | None, typer.Option(help="manifest of the scored pairs behind it")
    ] = None,
    groups: Annotated[list[Path] | None, typer.Option(help="groups of a split's queries")] = None,
    learning: command.Learning = None,
) -> None:
    """Write the drawn data as .tsv, the drawing as .pdf and .png and its caption as .md."""
    requested = command.parse_spec(BoundFigure, spec)
    verdicts, curves, costs = read_all(learning or []), depths or [], scored or []
    if requested.figure.sweeps:
        job, points = _over_depths(requested, verdicts, curves)
        data, lines = frame(points), [cost(path) for path in costs]
    else:
        job, parted = without_unlearned(requested, verdicts), grouped.read_all(groups or [])
        kept = [series.id for series in job.drawn()]
        points = compare(job, kept, of_runs(job, metrics, parted))
        if job.figure.grouped:
            data, lines = grouped_frame(job, points), list(_parted(parted))
        else:
            data, lines = frame(points, job.figure.over), [SNAPSHOTS]
    own = drawing.save(job, points, output)
    page = caption(job, points, lines)
    page.notes.extend(learned.notes(verdicts))
    own += layout.write(output, data, page, image=f"{output.stem}.png")
    inputs = [*curves, *costs, *(metrics / name for name in requested.metrics())]
    inputs += [*(groups or []), *(learning or [])]
    manifest.write(output, {"points": len(points)}, requested, inputs, "residuum.figures", own)


def _over_depths(
    job: BoundFigure, verdicts: Mapping[str, Learned], depths: list[Path]
) -> tuple[BoundFigure, list[Point]]:
    labelled, tested = learned.labelled(job, verdicts)
    made = measured(labelled, pl.concat([trec.read_depths(path) for path in depths]))
    return labelled, compare(labelled, tested, made)


def frame(points: list[Point], over: str = DEPTH) -> pl.DataFrame:
    """Return a row per depth or snapshot: means over queries and seeds, spread, its test."""
    rows = [
        {
            "panel": point.panel.id,
            "series": point.series.id,
            over: point.x,
            "measure": point.panel.measure or trec.RECALL,
            "n": len(point.scores.query_ids),
            "seeds": len(point.means),
            "mean": float(point.means.mean()),
            "lowest": float(point.means.min()),
            "highest": float(point.means.max()),
            "per_seed": " ".join(str(float(mean)) for mean in point.means),
            **({"docs_reranked": point.docs_reranked} if over == DEPTH else {}),
            **_tested(point),
        }
        for point in points
    ]
    header = None if rows else ["panel", "series", over]
    return pl.DataFrame(rows, infer_schema_length=None, schema=header)


def grouped_frame(job: BoundFigure, points: list[Point]) -> pl.DataFrame:
    """Return a row per point, in the form of a table's cells, so that the ledger reads them."""
    cells = grouped.cells(job, points)
    tests = {(point.series.id, point.column): _tested(point) for point in points}
    none = dict.fromkeys(TESTED)
    rows = [tests.get((cell.row, cell.column), none) for cell in cells]
    beside = pl.DataFrame(rows, infer_schema_length=None, schema=None if rows else [*TESTED])
    return grids.tidied(cells).drop(grids.INDEX).hstack(beside)


def _tested(point: Point) -> dict[str, object]:
    return {name: getattr(point.test, name, None) for name in TESTED}


def cost(scored: Path) -> str:
    """Return how many pairs a reranker scored, and how many without sharing them between runs."""
    facts = json.loads(files.read_bytes(scored))["artefact"]
    pairs, alone = facts["pairs"], facts["pairs_without_sharing"]
    return (
        f"Pairs scored by {scored.name.partition('.')[0]}: {pairs:,}, each once for all depths of "
        f"{len(facts['pairs_per_run'])} first-stage runs; {alone:,} if every run were scored alone "
        f"at its largest depth ({1 - pairs / max(alone, 1):.0%} saved)."
    )


def _parted(groups: Mapping[str, Groups]) -> Iterator[str]:
    """Yield which queries of one value stand in two groups."""
    for split_ref, own in groups.items():
        yield from (f"{split_ref}: {cut}" for cut in own.cuts())


def caption(job: BoundFigure, points: list[Point], lines: list[str]) -> layout.Layout:
    """Return what stands under the drawing: what it shows, how it is tested, cost, the values."""
    columns = job.plotted()
    shown: dict[int, list[TextCell]] = {}
    for x, at in sorted({(point.x, point.at) for point in points}):
        shown[x] = [TextCell(at), *[TextCell(DASH)] * len(columns)]
    for point in points:
        mean, low, high = point.means.mean(), point.means.min(), point.means.max()
        spread = f" ({low:.3f}{DASH}{high:.3f})" if low < high else ""
        significant = point.test is not None and point.test.significant
        number = columns.index((point.panel, point.series)) + 1
        shown[point.x][number] = TextCell(f"{mean:.3f}{spread}{'*' * significant}")
    names = [f"{panel.measure or 'recall'} {series.label}" for panel, series in columns]
    if not job.figure.sweeps:
        names = [f"{panel.header} {series.label}" for panel, series in columns]
    if job.figure.grouped:
        for x, size in {point.x: len(point.scores.query_ids) for point in points}.items():
            shown[x][0] = TextCell(f"{shown[x][0].text} ({size} queries)")
    header = ["K" if job.figure.sweeps else job.figure.over, *names]
    of, rows = job.figure, list(shown.values())
    return layout.Layout(of.title, of.printed_in, header, rows, list(_notes(job, points, lines)))


def _notes(job: BoundFigure, points: list[Point], lines: list[str]) -> Iterator[str]:
    figure, drawn = job.figure, job.drawn()
    yield from dict.fromkeys(_panels(job, points))  # two may differ in series alone
    for series in drawn:
        yield f"{series.label}: {series.system}, runs {', '.join(job.runs[series.id])}."
    if max(map(len, job.runs.values()), default=0) > 1:
        spread = "bars and brackets: lowest to highest seed"
        yield f"Means over training seeds, per query where tested; {spread}. {notes.SHARED}"
    if any(point.test for point in points):
        note = notes.tests_note(job.tests, "panel", "figure")
        where = "depth" if figure.sweeps else "point"
        yield f"Marks and *: differs significantly from {drawn[0].label} at that {where}. {note}"
        tests = [(f"{p.panel.id}, {p.series.id} at {p.at}", p.test) for p in points if p.test]
        yield from notes.remarks(tests, job.tests.alpha)
        yield from notes.one_training(job.runs)
    if figure.sweeps:
        yield "K = 0 is the first stage alone, drawn as a thin line and not tested."
    yield from lines
    yield from _not_drawn(job)
    yield from notes.of_runs(job)
    yield f"Scale {job.scale}: {job.reason}"


def _panels(job: BoundFigure, points: list[Point]) -> Iterator[str]:
    """Say of each panel what it shows, on which split and of how many queries."""
    sizes = {(p.series.id, p.panel.id, p.x): len(p.scores.query_ids) for p in points}
    roles = {s.id: s.role or job.figure.role for s in job.figure.series}
    for panel in job.figure.panels:
        splits = {}
        for series in (one for at, one in job.plotted() if at == panel):
            own = [n for (one, of, _), n in sizes.items() if (one, of) == (series.id, panel.id)]
            queries = sum(own) if job.figure.grouped else max(own, default=0)
            where = f"{job.places[series.id]} in the role of {roles[series.id]}, {queries} queries"
            splits[where] = None
        yield f"{panel_name(panel)} (the paper's {panel.header}): {'; '.join(splits) or 'not run'}."


def _not_drawn(job: BoundFigure) -> Iterator[str]:
    absent = [series for series in job.figure.series if series not in job.drawn()]
    if job.figure.sweeps and absent:
        labels = ", ".join(series.label for series in absent)
        yield f"Not drawn, without runs at this scale: {labels}."
        return
    for series in absent:
        verdict = "not learned" if series.id in job.unlearned else "not run"
        why = job.unlearned.get(series.id) or job.absent.get(series.id, "no runs")
        yield f"Not drawn, {verdict}: {series.label}: {why.rstrip('.')}."


if __name__ == "__main__":
    command.main(app)

"""Measures over the rerank depth, drawn: a line per first stage, tests at every depth.

Command: `python -m residuum.figures draw ...`. What is drawn lies beside the drawing, unrounded;
equal data is equal bytes. Must not know how docs were reranked, nor how p-values are computed.
"""

import itertools
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl
import typer

from residuum import paired
from residuum.artefacts import files, manifest, trec
from residuum.cli import command
from residuum.config import measures
from residuum.config.schema.papers import Panel
from residuum.pages import layout, learned, notes
from residuum.pages.curves import Point, measured
from residuum.pages.layout import DASH, TextCell
from residuum.tuning.learned import read_all
from residuum.wiring.bound import BoundFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import RcKeyType

app = command.app(__doc__)
TESTED = (
    *("difference", "ci_low", "ci_high", "boot_low", "boot_high", "effect", "min_detectable"),
    *("p", "p_error", "p_adjusted", "p_mixed_effects", "p_over_seeds"),
    *("seeds_agreeing", "seeds_near_alpha", "method", "significant"),
)
Legend = dict[str, object]  # label: what is drawn
LOG_FROM = 10  # depths that spread this much or more are drawn on a logarithmic axis
# Colours of Okabe and Ito; markers and dashes tell the lines apart without them.
LINES: list[tuple[str, str, str | tuple[float, tuple[float, ...]]]] = [
    ("#000000", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#0072B2", "^", "-."),
    ("#009E73", "D", ":"),
    ("#CC79A7", "v", (0, (5, 1, 1, 1, 1, 1))),
]
DIFFERS = [(6, 2, 0), "x", "+", (3, 2, 0)]
STYLE: "dict[RcKeyType, object]" = {
    **{"font.family": "DejaVu Sans", "font.size": 8, "pdf.fonttype": 42, "savefig.dpi": 200},
    **{"errorbar.capsize": 2, "lines.linewidth": 1.2, "lines.markersize": 4},
}
WITHOUT = {"pdf": ["Creator", "Producer", "CreationDate"], "png": ["Software"]}  # metadata


@app.command()
def draw(
    spec: Annotated[str, typer.Option(help="BoundFigure as JSON")],
    depths: Annotated[list[Path], typer.Option(help="TSV of run, depth, query_id, measure, value")],
    scored: Annotated[list[Path], typer.Option(help="manifest of the scored pairs behind it")],
    output: Annotated[Path, typer.Option(help="TSV to write; .pdf, .png and .md go beside it")],
    learning: command.Learning = None,
) -> None:
    """Write the drawn data as .tsv, the drawing as .pdf and .png and its caption as .md."""
    requested = command.parse_spec(BoundFigure, spec)
    verdicts = read_all(learning or [])
    job, tested = learned.labelled(requested, verdicts)
    made = measured(job, pl.concat([trec.read_depths(path) for path in depths]))
    points = compare(job, tested, made)
    own = save(job, points, output)
    page = caption(job, points, [cost(path) for path in scored])
    page.notes.extend(learned.notes(verdicts))
    own += layout.write(output, frame(points), page, image=f"{output.stem}.png")
    inputs = [*depths, *scored, *(learning or [])]
    manifest.write(output, {"points": len(points)}, requested, inputs, "residuum.figures", own)


def compare(job: BoundFigure, tested: list[str], points: list[Point]) -> list[Point]:
    """Test each other series against the first, per panel, at every depth that both have.

    Those whose models did not learn are no results and are not `tested`.
    """
    first = job.series()[0]
    scores = {(point.series.id, point.column): point.scores for point in points}
    pairs = []
    for p in points:  # depth 0, where nothing is reranked, is shown but not tested
        both = {p.series.id, first.id} <= {*tested}
        if both and p.depth > 0 and p.series != first and (first.id, p.column) in scores:
            family = job.id if job.tests.family == "table" else f"{job.id}/{p.panel.id}"
            pairs.append(paired.Pair(p.series.id, first.id, p.column, family=family))
    rows = paired.compare(scores, pairs, job.tests)
    adjusted = paired.adjust(rows, job.tests.correction, job.tests.alpha)
    tests = {(test.a, test.column): test for test in adjusted}
    return [point._replace(test=tests.get((point.series.id, point.column))) for point in points]


def frame(points: list[Point]) -> pl.DataFrame:
    """Return a row per point: means over queries and seeds, spread, its test per query."""
    rows = [
        {
            "panel": point.panel.id,
            "series": point.series.id,
            "depth": point.depth,
            "measure": point.panel.measure or trec.RECALL,
            "n": len(point.scores.query_ids),
            "seeds": len(point.means),
            "mean": float(point.means.mean()),
            "lowest": float(point.means.min()),
            "highest": float(point.means.max()),
            "per_seed": " ".join(str(float(mean)) for mean in point.means),
            "docs_reranked": point.docs_reranked,
            **{name: getattr(point.test, name, None) for name in TESTED},
        }
        for point in points
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def cost(scored: Path) -> str:
    """Return how many pairs a reranker scored, and how many without sharing them between runs."""
    facts = json.loads(files.read_bytes(scored))["artefact"]
    pairs, alone = facts["pairs"], facts["pairs_without_sharing"]
    return (
        f"Pairs scored by {scored.name.partition('.')[0]}: {pairs:,}, each once for all depths of "
        f"{len(facts['pairs_per_run'])} first-stage runs; {alone:,} if every run were scored alone "
        f"at its largest depth ({1 - pairs / max(alone, 1):.0%} saved)."
    )


def caption(job: BoundFigure, points: list[Point], costs: list[str]) -> layout.Layout:
    """Return what stands under the drawing: what it shows, how it is tested, cost, the values."""
    columns = list(itertools.product(job.figure.panels, job.series()))
    shown: dict[int, list[TextCell]] = {}
    for depth in sorted({point.depth for point in points}):
        shown[depth] = [TextCell(str(depth)), *[TextCell(DASH)] * len(columns)]
    for point in points:
        mean, low, high = point.means.mean(), point.means.min(), point.means.max()
        spread = f" ({low:.3f}{DASH}{high:.3f})" if low < high else ""
        significant = point.test is not None and point.test.significant
        number = columns.index((point.panel, point.series)) + 1
        shown[point.depth][number] = TextCell(f"{mean:.3f}{spread}{'*' * significant}")
    header = ["K", *(f"{panel.measure or 'recall'} {s.label}" for panel, s in columns)]
    lines, rows, of = list(_notes(job, points, costs)), list(shown.values()), job.figure
    return layout.Layout(of.title, of.printed_in, header, rows, lines)


def _notes(job: BoundFigure, points: list[Point], costs: list[str]) -> Iterator[str]:
    figure, (first, *others) = job.figure, job.series()
    split = f"{job.place} in the role of {figure.role}, {len(points[0].scores.query_ids)} queries"
    for panel in figure.panels:
        yield f"{panel_name(panel)} (the paper's {panel.header}): {split}."
    for series in [first, *others]:
        yield f"{series.label}: {series.system}, runs {', '.join(job.runs[series.id])}."
    if max(map(len, job.runs.values())) > 1:
        spread = "bars and brackets: lowest to highest seed"
        yield f"Means over training seeds, per query where tested; {spread}. {notes.SHARED}"
    if others:
        note = notes.tests_note(job.tests, "panel", "figure")
        yield f"Marks and *: differs significantly from {first.label} at that depth. {note}"
        tests = [(f"{p.panel.id}, {p.series.id} at {p.depth}", p.test) for p in points if p.test]
        yield from notes.remarks(tests, job.tests.alpha)
    yield "K = 0 is the first stage alone, drawn as a thin line and not tested."
    yield from costs
    if absent := [series.label for series in figure.series if series not in [first, *others]]:
        yield f"Not drawn, without runs at this scale: {', '.join(absent)}."
    yield from notes.residual(job)
    yield f"Scale {job.scale}: {job.reason}"


def save(job: BoundFigure, points: list[Point], output: Path) -> list[Path]:
    """Write the drawing as .pdf and .png beside `output`; return both files."""
    import matplotlib
    from matplotlib.figure import Figure

    panels = job.figure.panels
    whole: dict[RcKeyType, object] = {**matplotlib.rcParamsDefault, **STYLE}
    with matplotlib.rc_context(rc=whole):
        figure = Figure(figsize=(3.4 * len(panels), 3.4), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        legend: Legend = {}
        for ax, panel in zip(axes, panels, strict=True):
            own = [point for point in points if point.panel == panel]
            legend |= _lines(ax, job, own) | _marks(ax, job, own)
            depths = sorted({point.depth for point in own if point.depth > 0})
            if depths[-1] >= LOG_FROM * depths[0]:
                ax.set_xscale("log")
            ax.set_xticks(depths, labels=[f"{depth:,}" for depth in depths])
            ax.minorticks_off()
            ax.set_xlabel("Rerank depth K")
            queries = f"n = {len(own[0].scores.query_ids):,} queries"
            ax.set_ylabel(f"{textwrap.fill(panel_name(panel), 36)}\n{queries}")
            ax.grid(color="0.9", linewidth=0.5)
        figure.legend([*legend.values()], [*legend], loc="outside lower center", ncols=2)
        for form, left_out in WITHOUT.items():
            with files.whole(output.with_suffix(f".{form}")) as temporary:
                figure.savefig(temporary, format=form, metadata=dict.fromkeys(left_out))
    return [output.with_suffix(f".{form}") for form in WITHOUT]


def _lines(ax: "Axes", job: BoundFigure, points: list[Point]) -> Legend:
    """Draw each series, thick where docs are reranked; return what the legend shows."""
    legend: Legend = {}
    for (color, marker, dashes), series in zip(itertools.cycle(LINES), job.series()):
        own = [point for point in points if point.series == series]
        reranked = [point for point in own if point.depth > 0]
        means = np.array([point.means for point in reranked])
        mean = means.mean(axis=1)
        spread = np.maximum([mean - means.min(axis=1), means.max(axis=1) - mean], 0.0)
        bars = spread if means.shape[1] > 1 else None
        legend[series.label] = ax.errorbar(
            [p.depth for p in reranked], mean, bars, color=color, marker=marker, linestyle=dashes
        )
        for first_stage in (point.means.mean() for point in own if point.depth == 0):
            thin = ax.axhline(first_stage, color=color, linestyle=dashes, linewidth=0.6)
            legend[f"{series.label}, first stage alone"] = thin
    return legend


def _marks(ax: "Axes", job: BoundFigure, points: list[Point]) -> Legend:
    """Put a row of marks above the frame for each other series, where it differs from the first."""
    first, *others = job.series()
    legend: Legend = {}
    for row, (sign, series) in enumerate(zip(itertools.cycle(DIFFERS), others)):
        depths = [p.depth for p in points if p.series == series and p.test and p.test.significant]
        if not depths:
            continue  # a line without points would collapse the axes
        (legend[f"{first.label} and {series.label} differ significantly"],) = ax.plot(
            depths,
            [1.03 + 0.05 * row] * len(depths),
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            linestyle="none",
            marker=sign,
            markersize=6,
            color="black",
        )
    return legend


def panel_name(panel: Panel) -> str:
    """Write what a panel shows in full: RR@10 is `Reciprocal rank at 10 (RR@10)`."""
    return measures.words(panel.measure) if panel.measure else "Recall of candidates"


if __name__ == "__main__":
    command.main(app)

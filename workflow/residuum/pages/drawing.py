"""The drawing of a figure: measures over the rerank depth, a panel each, a line per series.

Usage: `save(job, points, Path("figure.tsv"))` writes figure.pdf and figure.png. Free of clock and
versions, so that equal data is equal bytes. Must not know how values or tests were computed.
"""

import itertools
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from residuum.artefacts import files
from residuum.config import measures
from residuum.config.schema.papers import Panel, Series
from residuum.paired import Comparison, ScoreMatrix
from residuum.wiring.bound import BoundFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
STYLE = {
    **{"font.family": "DejaVu Sans", "font.size": 8, "pdf.fonttype": 42, "savefig.dpi": 200},
    **{"errorbar.capsize": 2, "lines.linewidth": 1.2, "lines.markersize": 4},
}
WITHOUT = {"pdf": ["Creator", "Producer", "CreationDate"], "png": ["Software"]}  # metadata


class Point(NamedTuple):
    """A series at one depth in one panel, and its test against the first series, if any."""

    panel: Panel
    series: Series
    depth: int
    scores: ScoreMatrix
    docs_reranked: float | None  # per query, where the depth curve has it
    test: Comparison | None = None

    @property
    def column(self) -> str:
        """Name what is tested together: the series of one panel at one depth."""
        return f"{self.panel.id}/{self.depth}"

    @property
    def means(self) -> np.ndarray:
        """Return the mean over queries of each run."""
        return np.asarray(self.scores.values.mean(axis=0))


def save(job: BoundFigure, points: list[Point], output: Path) -> None:
    """Write the drawing as .pdf and .png beside `output`."""
    import matplotlib
    from matplotlib.figure import Figure

    panels = job.figure.panels
    with matplotlib.rc_context(rc={**matplotlib.rcParamsDefault, **STYLE}):  # type: ignore[dict-item]
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
        shown = (legend.values(), legend.keys())
        figure.legend(*shown, loc="outside lower center", ncols=2)  # type: ignore[call-overload]
        for form, left_out in WITHOUT.items():
            with files.whole(output.with_suffix(f".{form}")) as temporary:
                figure.savefig(temporary, format=form, metadata=dict.fromkeys(left_out))


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

"""Drawings of figures: lines over depths, efforts, cutoffs, groups, snapshots; or bars at one x.

Usage: `save(job, points, output)`; `save_plots(output, plots)` for other drawings. Equal data gives
equal bytes.
"""

import itertools
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from residuum.artefacts import files
from residuum.config import measures
from residuum.pages.figure.entry import CUTOFF, DEPTH, EFFORT, SNAPSHOT, Panel
from residuum.pages.figure.job import BoundFigure
from residuum.pages.figure.points import Point

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

Legend = dict[str, object]  # label: drawn line or bar
Plot = Callable[["Axes"], Legend] | None  # draws into axes; None: there are no runs
# Inches: a column of ACM's papers, so that a plot fits a column, and two beside each other a page.
# In a column of ACL's, 3.03, letters of 8 points print as 7.3.
COLUMN = 3.33
BESIDE = 2  # plots beside each other
MANY = 7  # points from which numbers of an axis are small
LINE = 0.17  # inches of a line of the legend
WIDEST = 36  # letters of a label's line
LOG_FROM = 10  # the axis is logarithmic if the largest depth is this many times the smallest
AXES = {  # an axis over groups has the grouping's name
    DEPTH: "Rerank depth K",
    EFFORT: "Vectors compared per query",
    SNAPSHOT: "Snapshot of the training",
    CUTOFF: "Cutoff k",
}
FROM_ZERO = {DEPTH: "first stage alone", EFFORT: "exact search"}
RECALLS = {DEPTH: "Recall of candidates", EFFORT: "Recall of what the exact search finds"}
# Colours of Okabe and Ito; markers and dashes distinguish the lines without colours.
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


def save_plots(
    output: Path,
    plots: Sequence[Plot],
    height: float = COLUMN,
    sharey: bool = False,
) -> list[Path]:
    """Draw plots, each a column wide and `height` inches high; return the written files.

    None stands for a plot without runs. A legend under all plots, with a height of its own, shows
    what the plots return. The style does not depend on this machine's settings.
    """
    with styled():
        figure = figure_of(plots, height, sharey)
        for form, left_out in WITHOUT.items():
            with files.whole(output.with_suffix(f".{form}")) as temporary:
                figure.savefig(temporary, format=form, metadata=dict.fromkeys(left_out))
    return [output.with_suffix(f".{form}") for form in WITHOUT]


@contextmanager
def styled() -> Iterator[None]:
    """Draw and write figures in this project's style, whatever this machine's settings are."""
    import matplotlib

    style: dict[RcKeyType, object] = {**matplotlib.rcParamsDefault, **STYLE}
    with matplotlib.rc_context(rc=style):
        yield


def figure_of(plots: Sequence[Plot], height: float = COLUMN, sharey: bool = False) -> "Figure":
    """Return a figure of plots as `save_plots` draws it, two beside each other, within `styled`."""
    from matplotlib.figure import Figure

    beside = min(len(plots), BESIDE)
    rows = math.ceil(len(plots) / beside)
    figure = Figure(figsize=(COLUMN * beside, height * rows), layout="constrained")
    axes = figure.subplots(rows, beside, squeeze=False, sharey=sharey).ravel()
    legend: Legend = {}
    for ax, plot in zip(axes[: len(plots)], plots, strict=True):
        legend |= (plot or _nothing)(ax)
    for ax in axes[len(plots) :]:
        ax.remove()
    if legend:
        handles = cast("list[Artist]", [*legend.values()])
        figure.legend(handles, [*legend], loc="outside lower center", ncols=beside)
        lines = sum(label.count("\n") + 1 for label in legend)
        figure.set_figheight(height * rows + LINE * (1 + math.ceil(lines / beside)))
    return figure


def points() -> Iterator[tuple[str, str]]:
    """Yield colours and markers of single points; the first 25 differ."""
    marks = len(LINES)
    for number in itertools.count():
        yield LINES[number % marks][0], LINES[(number + number // marks) % marks][1]


def scattered(
    points: Sequence[tuple[str, float, float, tuple[str, str]]],
    xlabel: str,
    ylabel: str,
    ax: "Axes",
) -> Legend:
    """Draw single points: label, x, y, colour and marker of each."""
    legend: Legend = {}
    for label, x, y, (color, marker) in points:
        (legend[plain(label)],) = ax.plot([x], [y], marker, color=color, markerfacecolor="none")
    if spread([x for _, x, *_ in points]):
        ax.set_xscale("log")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(plain(ylabel))
    ax.grid(color="0.9", linewidth=0.5)
    return legend


def plain(name: str) -> str:
    """Return a name that a picture shows as it is: `$` would begin a formula."""
    return name.replace("$", r"\$")


def _nothing(ax: "Axes") -> Legend:
    ax.set_axis_off()
    ax.text(0.5, 0.5, "not run", ha="center", va="center")
    return {}


def save(
    job: BoundFigure, points: Sequence[Point], output: Path, axis: str | None = None
) -> list[Path]:
    """Draw a figure with a plot for each panel; return the written files.

    Over efforts, x is the cost of a point. `axis` names this cost if it is not vectors compared.
    """
    axis = axis or AXES.get(job.entry.over)
    plots: list[Plot] = []
    for panel in job.entry.panels:
        shown = [point for point in points if point.panel == panel]
        plots.append(partial(_plot, job, panel, shown, axis) if shown else None)
    return save_plots(output, plots)


def _plot(
    job: BoundFigure, panel: Panel, points: Sequence[Point], axis: str | None, ax: "Axes"
) -> Legend:
    alone = len({point.x for point in points}) == 1 and job.entry.grouped
    legend = (_bars if alone else _lines)(ax, job, points) | _marks(ax, job, points)
    ax.set_xlabel(axis or f"Group of {job.entry.over}")
    if job.entry.over == EFFORT:
        _number_axis(ax)
    else:
        _name_points(ax, job, points)
    ax.set_ylabel(f"{textwrap.fill(panel_name(job, panel), WIDEST)}{_queries(job, points)}")
    ax.grid(color="0.9", linewidth=0.5)
    return legend


def _x(job: BoundFigure, point: Point) -> float:
    """Return the x of a point: its cost over efforts."""
    return float(point.cost or 0) if job.entry.over == EFFORT else point.x


def _number_axis(ax: "Axes") -> None:
    """Make the axis logarithmic, with numbers at 1, 2 and 5 of each power of ten."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    ax.minorticks_off()


def _name_points(ax: "Axes", job: BoundFigure, points: Sequence[Point]) -> None:
    named = {p.x: p for p in sorted(points, key=lambda p: p.x) if p.x > 0}
    labels = [f"{x:,}" for x in named]
    if logarithmic(job, [*named]):
        ax.set_xscale("log")
    if len(named) > MANY:
        ax.tick_params(axis="x", labelsize=6)
    if job.entry.grouped:
        labels = [f"{p.at}\n(n = {len(p.scores.query_ids):,})" for p in named.values()]
    ax.set_xticks([*named], labels=labels)
    ax.minorticks_off()


def logarithmic(job: BoundFigure, places: Sequence[int]) -> bool:
    """Say whether the axis of a figure over depths or cutoffs is logarithmic."""
    return job.entry.over in (DEPTH, CUTOFF) and spread(places)


def spread(places: Sequence[float]) -> bool:
    """Say whether the largest of some numbers above 0 is ten times the smallest, or more."""
    return max(places, default=1) >= LOG_FROM * min(places, default=1)


def _queries(job: BoundFigure, points: Sequence[Point]) -> str:
    return "" if job.entry.grouped else f"\nn = {len(points[0].scores.query_ids):,} queries"


def _bars(ax: "Axes", job: BoundFigure, points: Sequence[Point]) -> Legend:
    """Draw a bar per series at a single point, with the spread over seeds."""
    legend: Legend = {}
    places = np.linspace(-0.3, 0.3, len(points)) if len(points) > 1 else np.zeros(1)
    for (color, _, _), place, point in zip(itertools.cycle(LINES), places, points):
        mean, spread = point.means.mean(), None
        if len(point.means) > 1:
            spread = np.maximum([[mean - point.means.min()], [point.means.max() - mean]], 0.0)
        bar = ax.bar(point.x + place, mean, 0.5 / len(points), yerr=spread, color=color, alpha=0.8)
        legend[point.series.label] = bar
    ax.set_axisbelow(True)
    ax.set_xlim(points[0].x - 0.7, points[0].x + 0.7)
    return legend


def _lines(ax: "Axes", job: BoundFigure, points: Sequence[Point]) -> Legend:
    """Draw each series, with its value at x = 0 as a thin line; return the legend entries."""
    legend: Legend = {}
    for (color, marker, dashes), series in zip(itertools.cycle(LINES), job.drawn()):
        shown = [point for point in points if point.series == series]
        if not shown:
            continue  # this panel does not show the series
        along = [point for point in shown if point.x > 0]
        means = np.array([point.means for point in along])
        mean = means.mean(axis=1)
        spread = np.maximum([mean - means.min(axis=1), means.max(axis=1) - mean], 0.0)
        bars = spread if means.shape[1] > 1 else None
        places = [_x(job, p) for p in along]
        legend[series.label] = ax.errorbar(
            places, mean, bars, color=color, marker=marker, linestyle=dashes
        )
        for first in (point.means.mean() for point in shown if point.x == 0):
            thin = ax.axhline(first, color=color, linestyle=dashes, linewidth=0.6)
            legend[f"{series.label}, {FROM_ZERO[job.entry.over]}"] = thin
    return legend


def _marks(ax: "Axes", job: BoundFigure, points: Sequence[Point]) -> Legend:
    """Draw a row of marks above the frame for each series that differs from the first."""
    first, *others = job.drawn()
    legend: Legend = {}
    for row, (sign, series) in enumerate(zip(itertools.cycle(DIFFERS), others)):
        differing = [p for p in points if p.series == series and p.test and p.test.significant]
        if not differing:
            continue  # a line without points would collapse the axes
        label = textwrap.fill(f"{series.label} differs significantly from {first.label}", 44)
        (legend[label],) = ax.plot(
            [_x(job, p) for p in differing],
            [1.03 + 0.05 * row] * len(differing),
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            linestyle="none",
            marker=sign,
            markersize=6,
            color="black",
        )
    return legend


def panel_name(job: BoundFigure, panel: Panel) -> str:
    """Write a panel's value in full: RR@10 is `Reciprocal rank at 10 (RR@10)`."""
    if panel.than:
        text = f"Share of queries of which {panel.measure} is above that of {panel.than}"
    elif panel.measure:
        text = measures.words(job.entry.measure_at(panel, "k"))
    else:
        text = RECALLS[job.entry.over]
    return f"{text}, change from {panel.change_from}" if panel.change_from else text

"""A figure over queries: each series against the first, with a point for a pair of values.

Usage: `data = frame(job, points)`; `save(job, points, data, output)`; `grid(job, points)`. The
value of a query is the mean over training seeds.
"""

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from residuum.pages import drawing
from residuum.pages.figure.entry import Panel
from residuum.pages.figure.job import BoundFigure
from residuum.pages.figure.points import Point
from residuum.pages.layout import DASH, TextCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = {
    "panel": pl.String,
    "series": pl.String,
    "against": pl.String,  # the first series that learned
    "query_id": pl.String,
    "first": pl.Float64,
    "value": pl.Float64,
}
HEADER = ("mean", "higher", "equal", "lower", "difference", "95% interval", "p adjusted")
DIGITS = 9  # decimals of a value
OF_ONE, LARGEST, SMALLEST = 16.0, 260.0, 3.0  # square points: of one query's circle; bounds
NOTE = (
    "A circle stands for the queries with these two values, and its area grows with their number. "
    "Above the diagonal the series is better than the first."
)


def frame(job: BoundFigure, points: Sequence[Point]) -> pl.DataFrame:
    """Return a line per panel, series but the first, and query: the two values."""
    parts = [pl.DataFrame(schema=COLUMNS)]
    for first, point in _pairs(job, points):
        values = {
            "query_id": point.scores.query_ids,
            "first": first.scores.values.mean(axis=1),
            "value": point.scores.values.mean(axis=1),
        }
        named = {"panel": point.panel.id, "series": point.series.id, "against": first.series.id}
        fixed = (pl.lit(name).alias(column) for column, name in named.items())
        parts.append(pl.DataFrame(values).with_columns(fixed).select(*COLUMNS))
    return pl.concat(parts)


def _pairs(job: BoundFigure, points: Sequence[Point]) -> Iterator[tuple[Point, Point]]:
    """Yield the point of the first series and that of each other one, panel by panel."""
    for panel in job.entry.panels:
        of_panel = [one for one in points if one.panel == panel]
        yield from zip(itertools.repeat(of_panel[0]), of_panel[1:]) if of_panel else ()


def spots(data: pl.DataFrame, panel: Panel, series: str) -> pl.DataFrame:
    """Return first, value, queries: each pair of values, with its number of queries."""
    shown = data.filter(panel=panel.id, series=series)
    rounded = shown.with_columns(pl.col("first", "value").round(DIGITS))
    return rounded.group_by("first", "value").len("queries").sort("first", "value")


def largest(shown: pl.DataFrame) -> float:
    """Return the larger end of both axes, given what `spots` returns."""
    return float(shown.select("first", "value").to_numpy().max(initial=0.0)) or 1.0


def save(job: BoundFigure, points: Sequence[Point], data: pl.DataFrame, output: Path) -> list[Path]:
    """Draw a plot for each panel and series but the first; return the written files."""
    plots: list[drawing.Plot] = [
        partial(_plot, job, first, point, spots(data, point.panel, point.series.id))
        for first, point in _pairs(job, points)
    ]
    return drawing.save_plots(output, plots or [None])


def _plot(
    job: BoundFigure, first: Point, point: Point, shown: pl.DataFrame, ax: "Axes"
) -> drawing.Legend:
    numbers = shown["queries"].to_numpy()
    sizes = np.maximum(numbers * min(OF_ONE, LARGEST / numbers.max()), SMALLEST)
    top = largest(shown)
    ax.plot([0, top], [0, top], color="0.6", linewidth=0.6)
    color = drawing.LINES[2][0]
    ax.scatter(shown["first"], shown["value"], sizes, color=color, alpha=0.5, edgecolors=color)
    name = job.entry.measure_at(point.panel, point.at)
    labels = (drawing.plain(f"{name} of {one.series.label}") for one in (first, point))
    across, up = (textwrap.fill(label, drawing.WIDEST) for label in labels)
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    higher, equal, lower = _counts(point)
    ax.set_title(f"{higher} queries higher, {equal} equal, {lower} lower", fontsize=8)
    ax.set_aspect("equal")
    ax.grid(color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)
    return {}


def _counts(point: Point) -> tuple[int, int, int]:
    """Return the numbers of queries where a series is higher than the first, equal, and lower."""
    test, queries = point.test, len(point.scores.query_ids)
    wins, losses = (test.wins, test.losses) if test else (0, 0)
    return wins, queries - wins - losses, losses


def grid(job: BoundFigure, points: Sequence[Point]) -> tuple[list[str], list[list[TextCell]]]:
    """Return the header and the lines of the caption's table: each series, and its test."""
    several = len(job.entry.panels) > 1
    rows = []
    for point in points:
        label = f"{point.series.label}, {point.panel.header}" if several else point.series.label
        texts, test = [label, f"{point.means.mean():.3f}", *[DASH] * 6], point.test
        if test:
            texts[2:5] = map(str, _counts(point))
            texts[5:] = f"{test.difference:+.4f}", DASH, f"{test.p_adjusted:.4f}"
            texts[5] += "*" * test.significant
            if test.ci_low is not None and test.ci_high is not None:
                texts[6] = f"{test.ci_low:+.4f} to {test.ci_high:+.4f}"
        rows.append([TextCell(text) for text in texts])
    return ["", *HEADER], rows

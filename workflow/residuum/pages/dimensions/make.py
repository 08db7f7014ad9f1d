"""How many dimensions of a random projection keep a lexical ranking, drawn and in numbers.

Command: `python -m residuum.pages.dimensions.make draw ...`. Source: Luan et al. 2021 (ME-BERT),
Figures 2 and 3 and section 2. Reads what `residuum.fidelity` measured.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import polars as pl
import typer

from residuum.artefacts import fidelities, manifest
from residuum.artefacts.fidelities import ALL, Measured
from residuum.cli import command
from residuum.config.schema.fidelities import nth
from residuum.pages import drawing, grids, layout, notes
from residuum.pages.dimensions.entry import (
    CONSTANT,
    EXACT,
    EXPONENT,
    LEAST_MARGIN,
    MOST_SHARE,
    SHARE_RATIO,
    SLOPE,
    SLOPES,
    Projection,
)  # fmt: skip
from residuum.pages.dimensions.job import BoundDimensions
from residuum.pages.grids import GridCell
from residuum.pages.layout import DASH, TextCell
from residuum.paired.comparisons import digits
from residuum.vectors import bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

app = command.app(__doc__)
HEADER = ["", "quantity", "queries", "here", "paper"]
NOT_REACHED = "none of the tried numbers of dimensions is enough"
MARGIN = "margin"
PERCENTILES = (5, 95)  # the whiskers of a box


class Quantity(NamedTuple):
    """A number of a plot, and the number of queries that it is computed from."""

    value: float | None
    queries: int


@app.command()
def draw(
    spec: Annotated[str, typer.Option(help="BoundDimensions as JSON")],
    measured: command.Measured,
    output: Annotated[Path, command.written("TSV to write; .pdf, .png and .md go beside it")],
) -> None:
    """Write the quantities as .tsv (a row per number), plots as .pdf and .png, a caption as .md."""
    job = command.parse_spec(BoundDimensions, spec)
    folders = {row: measured / name for row, name in job.folders().items()}
    shown = {row: fidelities.read(folder) for row, folder in folders.items()}
    cells = [cell for row in job.entry.rows for cell in _cells(job, row, shown.get(row.id))]
    written = _save(job, shown, output)
    lines, below, entry = [_line(job, cell) for cell in cells], [*_notes(job, shown)], job.entry
    page = layout.page(entry, HEADER, lines, below)
    data = grids.tidied(cells).drop(grids.INDEX)
    written += layout.write(output, data, page, image=f"{output.stem}.png")
    inputs = [folder / "manifest.json" for folder in dict.fromkeys(folders.values())]
    facts = {"plots": len(shown)}
    manifest.write(output, facts, job, inputs, "residuum.pages.dimensions.make", written)


def quantities(row: Projection, measured: Measured, recalls: list[float]) -> dict[str, Quantity]:
    """Return the numbers of a plot; None if no number of dimensions that was tried is enough.

    Slopes are least-squares slopes of lines through the origin over the bins: of measured least
    dimensions over x, of those of each draw alone, and of exact least dimensions of Gaussian
    projections.
    """
    error, queries = measured.facts["error"], measured.facts["queries"]
    shown = {LEAST_MARGIN: Quantity(measured.facts["least_margin"], queries)}
    if row.shows == "pairs":
        points = fidelities.least(measured.pairs, ["x", "exact"], pl.col("error") <= error)
        reached = points.drop_nulls("dimensions")
        shown[CONSTANT] = Quantity(bounds.constant(error), queries)
        shown[SLOPE] = Quantity(_slope(reached, "dimensions"), queries)
        draws = measured.draws.drop_nulls("dimensions").partition_by("draw")
        slopes = [slope for d in draws if (slope := _slope(d, "dimensions")) is not None]
        for name, extreme in SLOPES.items():
            shown[name] = Quantity(extreme(slopes, default=None), queries)
        shown[EXACT] = Quantity(_slope(reached, "exact"), queries)
        x, least = reached["x"].to_numpy(), reached["dimensions"].to_numpy()
        shares = _shares(x, least, error)
        shown |= {name: Quantity(value, queries) for name, value in shares.items()}
    if row.shows == "margins":
        groups = measured.margins.group_by("length", "nearest", maintain_order=True)
        medians = groups.agg(pl.col("margin").median(), pl.len())
        for length, nearest, margin, count in medians.iter_rows():
            if length != ALL:
                shown[f"{nth(nearest)}/{length}"] = Quantity(margin, count)
    if row.shows == "bounds":
        shown |= _theory(measured)
    if row.shows == "recall":
        for share in recalls:
            points = fidelities.least(
                measured.recall, ["length", "queries"], pl.col("recall") >= share
            )
            for length, count, dimensions in points.iter_rows():
                shown[f"{share:g}/{length}"] = Quantity(dimensions, count)
    return shown


def _shares(x: np.ndarray, least: np.ndarray, error: float) -> dict[str, float | None]:
    """Return how far least dimensions follow Lemma 1's bound over bins of x, both of shape (bins,).

    A bin's share is its least dimensions over the bound. A line through the origin has a ratio of
    the largest to the smallest share of 1, and an exponent of 1: the slope of log k over log x. A
    single bin has neither.
    """
    share = least / (bounds.constant(error) * x)
    shown: dict[str, float | None] = {MOST_SHARE: digits(float(share.max())) if len(x) else None}
    shown |= {SHARE_RATIO: None, EXPONENT: None}
    if len(x) > 1:
        log_x = np.log(x) - np.log(x).mean()
        slope = float(log_x @ np.log(least) / (log_x @ log_x))
        ratio = float(share.max() / share.min())
        shown |= {SHARE_RATIO: digits(ratio), EXPONENT: digits(slope)}
    return shown


def _slope(points: pl.DataFrame, column: str) -> float | None:
    """Return the least-squares slope of a line through the origin, over x; None without points."""
    x, y = points["x"].to_numpy(), points[column].to_numpy()
    # The last digit of a product depends on the memory alignment of its numbers.
    return digits(float(x @ y / (x @ x))) if len(x) else None


def _theory(measured: Measured) -> dict[str, Quantity]:
    """Return the dimensions that bounds require at the r-th smallest margins of the queries.

    All docs are ranked. The bound of a pair takes the median margin. The bound of recall, like the
    measured number, lets at most a share `error` of the queries lose their first doc.
    """
    error, depth, docs = (measured.facts[name] for name in ("error", "depth", "docs"))
    margins = measured.margins.filter(length=ALL, nearest=depth)["margin"].to_numpy()
    shown, count = dict[str, Quantity](), len(margins)
    if count:
        middle = float(np.median(margins))
        of_one = np.array([middle]), np.array([1]), error
        numbers = {
            MARGIN: middle,
            "pair/exact": bounds.gaussian_dimensions(*of_one),
            "pair/lemma-1": bounds.guaranteed_dimensions(*of_one),
            "pair/corollary-1": bounds.simple_dimensions(middle, error),
            "recall/lemma-2": bounds.guaranteed_recall(margins, error, docs - 1, depth),
        }
        shown |= {name: Quantity(value, count) for name, value in numbers.items()}
    points = fidelities.least(measured.recall, ["length"], pl.col("recall") >= 1 - error)
    [least] = points.filter(length=ALL)["dimensions"].to_list()
    shown["recall/measured"] = Quantity(least, measured.facts["queries"])
    if boolean := measured.facts.get("boolean_dimensions"):
        shown["every-pair/corollary-2"] = Quantity(boolean, measured.facts["queries"])
    return shown


def _cells(job: BoundDimensions, row: Projection, measured: Measured | None) -> Iterator[GridCell]:
    nothing = Quantity(None, 0)
    names = {LEAST_MARGIN: nothing}
    if measured is not None:
        names = quantities(row, measured, job.entry.recalls)
    printed = dict.fromkeys(job.entry.reported.get(row.id, {}), nothing)
    for name, (value, count) in {**printed, **names}.items():
        cell = GridCell(job.id, row.id, name, f"{row.shows} of {row.fidelity}", job.split)
        if value is not None:
            cell = cell.measured_as([float(value)], count)
        else:
            cell = replace(cell, not_run=job.absent.get(row.id, NOT_REACHED))
        yield grids.with_reported(cell, job.entry)


def _line(job: BoundDimensions, cell: GridCell) -> list[TextCell]:
    label = next(row.label for row in job.entry.rows if row.id == cell.row)
    here = DASH if cell.measured is None else f"{cell.measured:.4g}"
    printed = "" if cell.reported is None else f"{cell.reported:g}"
    queries = "" if cell.n is None else f"{cell.n:,}"
    return [TextCell(text) for text in (label, cell.column, queries, here, printed)]


def _save(job: BoundDimensions, shown: dict[str, Measured], output: Path) -> list[Path]:
    plots: list[drawing.Plot] = []
    for row in job.entry.rows:
        measured = shown.get(row.id)
        if measured and (row.shows != "pairs" or measured.pairs.height):
            plots.append(partial(_plot, job, row, measured))
        else:
            plots.append(None)
    return drawing.save_plots(output, plots)


def _plot(job: BoundDimensions, row: Projection, measured: Measured, ax: "Axes") -> drawing.Legend:
    plots = {"pairs": _pairs, "margins": _margins, "recall": _recall, "bounds": _bounds}
    plots[row.shows](ax, job, measured)
    ax.set_title(row.label, fontsize=8)
    return {}


def _pairs(ax: "Axes", job: BoundDimensions, measured: Measured) -> None:
    """Draw the least dimensions of each bin over x, the exact ones, and Lemma 1's line."""
    error = measured.facts["error"]
    points = fidelities.least(measured.pairs, ["x", "exact"], pl.col("error") <= error)
    most = measured.pairs["dimensions"].max()
    (color, marker, _), (other, _, dashed), (third, *_) = drawing.LINES[:3]
    ax.plot(points["x"], points["dimensions"], marker, color=color, label="measured")
    ax.plot(points["x"], points["exact"], "-", color=third, label="exact, Gaussian")
    x = np.array([0.0, *points["x"].to_list()])
    ax.plot(x, bounds.constant(error) * x, ls=dashed, color=other, label="Lemma 1")
    ax.set_ylim(0, 1.05 * float(str(most)))
    ax.set_xlabel(r"$(\epsilon^2/2 - \epsilon^3/3)^{-1}$")
    ax.set_ylabel("least dimensions k")
    ax.legend()


def _margins(ax: "Axes", job: BoundDimensions, measured: Measured) -> None:
    """Draw boxes of small margins over queries, by the length of docs."""
    groups = [
        name for name in measured.margins["length"].unique(maintain_order=True) if name != ALL
    ]
    nearest = measured.margins["nearest"].unique().sort().to_list()
    width = 0.8 / max(1, len(nearest))
    for number, rank in enumerate(nearest):
        color = drawing.LINES[number % len(drawing.LINES)][0]
        for place, name in enumerate(groups):
            values = measured.margins.filter(length=name, nearest=rank)["margin"].to_list()
            at = place + (number - (len(nearest) - 1) / 2) * width
            style: dict[str, Any] = {
                key: {"color": color} for key in ("boxprops", "whiskerprops", "capprops")
            }
            if values:
                ax.boxplot(
                    values, positions=[at], widths=0.8 * width, whis=PERCENTILES, sym="",
                    manage_ticks=False, medianprops={"color": color}, **style,
                )  # fmt: skip
        ax.plot([], [], color=color, label=f"{nth(rank)} smallest")
    ax.set_yscale("log")
    ax.set_xticks(range(len(groups)), groups)
    ax.set_xlabel("terms of docs")
    ax.set_ylabel("normalised margin")
    ax.legend()


def _recall(ax: "Axes", job: BoundDimensions, measured: Measured) -> None:
    for share, (color, marker, line) in zip(job.entry.recalls, drawing.LINES, strict=False):
        points = fidelities.least(measured.recall, ["length"], pl.col("recall") >= share)
        points = points.filter(pl.col("length") != ALL)
        x, y = range(points.height), points["dimensions"].to_list()
        ax.plot(x, [np.nan if k is None else k for k in y], marker=marker, ls=line, color=color,
                label=f"{share:.0%} of queries")  # fmt: skip
        ax.set_xticks(x, points["length"].to_list())
    ax.set_xlabel("terms of docs")
    ax.set_ylabel("least dimensions k")
    ax.legend()


def _bounds(ax: "Axes", job: BoundDimensions, measured: Measured) -> None:
    every = {name: quantity.value for name, quantity in _theory(measured).items()}
    shown = {name: k for name, k in every.items() if k is not None and name != MARGIN}
    ax.barh(range(len(shown)), [*shown.values()], color=drawing.LINES[2][0])
    ax.set_yticks(range(len(shown)), [*shown])
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlabel("dimensions k")


def _notes(job: BoundDimensions, shown: dict[str, Measured]) -> Iterator[str]:
    yield f"{job.split or 'No split'} in the role of {job.entry.role}."
    for row in job.entry.rows:
        if why := job.absent.get(row.id):
            yield f"Not run: {row.label}: {why.rstrip('.')}."
            continue
        facts = shown[row.id].facts
        counts = ", ".join(f"{facts[name]:,} {name}" for name in ("queries", "docs", "terms"))
        how = f"{facts['draws']} {facts['distribution']} projections"
        beyond = f"; of {facts['pairs']:,} pairs, {facts['beyond_bins']:,} lie beyond the last bin "
        beyond += f"and {facts['in_small_bins']:,} in bins with too few pairs"
        yield f"{row.label}: {row.fidelity}, {how}; {counts}{beyond * (row.shows == 'pairs')}."
    if any(row.shows == "pairs" for row in job.entry.rows):
        yield (
            "A pair is a query's first doc and a doc of a lower score. Bins of x, "
            "1/(eps^2/2 - eps^3/3), end where the most dimensions that are tried are enough."
        )
        yield (
            "constant: 2 ln(4/error), Lemma 1's bound over x. slope and exact-slope: slopes of the "
            "least dimensions over x, measured with the pairs of all draws together, and exact for "
            "Gaussian projections. slope-least and slope-most: the smallest and the largest slope "
            "of a single draw; a bin that a draw does not reach is left out of its slope alone. No "
            "paper prints slopes. most-share: the largest share of the bound that was enough in a "
            "bin; share-ratio: the largest share over the smallest; exponent: the slope of log k "
            "over log x, 1 for a line through the origin."
        )
    if any(row.shows == "bounds" for row in job.entry.rows):
        yield (
            "margin: the median over queries of the r-th smallest margin, with all docs ranked; r "
            "is the depth of recall. pair/: dimensions that keep a pair of this margin. recall/: "
            "dimensions that keep all first docs among the first r, except for the allowed error, "
            "as Lemma 2 guarantees and as was measured. every-pair/: dimensions that keep any pair "
            "of Boolean vectors."
        )
    if any(row.shows in ("recall", "bounds") for row in job.entry.rows):
        yield "Docs that tie with a first doc do not push it out."
    if any(row.shows in ("margins", "recall") for row in job.entry.rows):
        yield (
            "Docs are grouped by their number of different terms. Groups have equally many docs, "
            "because more docs make a query's r-th smallest margin smaller."
        )
        for name, labels in _by_groups(job, shown).items():
            yield f"Docs of each group ({', '.join(labels)}): {name}."
    yield from notes.of_scale(job)


def _by_groups(job: BoundDimensions, shown: dict[str, Measured]) -> dict[str, list[str]]:
    """Return the labels of the rows that show groups of docs, by what the groups hold."""
    labels: dict[str, list[str]] = {}
    for row in job.entry.rows:
        if row.id in shown and row.shows in ("margins", "recall"):
            groups = shown[row.id].facts["lengths"].items()
            text = ", ".join(f"{count:,} with {name} terms" for name, count in groups)
            labels.setdefault(text or "none is large enough", []).append(row.label)
    return labels


def places(job: BoundDimensions, numbers: Sequence[GridCell]) -> layout.Places:
    """Return the number that each cell of the Markdown's grid shows: a line per number."""
    return [[None, None, None, f"{one.row}/{one.column}", None] for one in numbers]


if __name__ == "__main__":
    command.main(app)

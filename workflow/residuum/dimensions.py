"""How many dimensions of a random projection keep a lexical ranking, drawn and in numbers.

Command: `python -m residuum.dimensions draw ...`. Source: Luan et al. 2021 (ME-BERT), Figures 2 and
3 and section 2. Reads what `residuum.fidelity` measured. Must not know vectors.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl
import typer

from residuum.artefacts import fidelities, manifest
from residuum.artefacts.fidelities import ALL, Measured
from residuum.cli import command
from residuum.config.schema.figures import CONSTANT, EXACT, LEAST_MARGIN, SLOPE, Projection
from residuum.pages import drawing, grids, layout
from residuum.pages.grids import GridCell
from residuum.pages.layout import DASH, TextCell
from residuum.vectors import bounds
from residuum.wiring.bound import BoundDimensions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

app = command.app(__doc__)
HEADER = ["", "quantity", "here", "paper"]
NOT_REACHED = "no number of dimensions that was tried is enough"
MARGIN = "margin"
PERCENTILES = (5, 95)  # whiskers of a box


@app.command()
def draw(
    spec: Annotated[str, typer.Option(help="BoundDimensions as JSON")],
    measured: Annotated[Path, typer.Option(help="folder of all measurements of fidelity")],
    output: Annotated[Path, typer.Option(help="TSV to write; .pdf, .png and .md go beside it")],
) -> None:
    """Write the quantities as .tsv (a row per number), plots as .pdf and .png, a caption as .md."""
    job = command.parse_spec(BoundDimensions, spec)
    folders = {row: measured / name for row, name in job.folders().items()}
    found = {row: fidelities.read(folder) for row, folder in folders.items()}
    cells = [cell for row in job.table.rows for cell in _cells(job, row, found.get(row.id))]
    own = _save(job, found, output)
    body = [_line(job, cell) for cell in cells]
    page = layout.Layout(
        job.table.title, job.table.printed_in, HEADER, body, list(_notes(job, found))
    )
    data = grids.tidied(cells).drop(grids.INDEX)
    own += layout.write(output, data, page, image=f"{output.stem}.png")
    inputs = [folder / "manifest.json" for folder in dict.fromkeys(folders.values())]
    manifest.write(output, {"plots": len(found)}, job, inputs, "residuum.dimensions", own)


def quantities(row: Projection, of: Measured, recalls: list[float]) -> dict[str, float | None]:
    """Return the numbers of a plot; None where no number of dimensions that was tried is enough.

    Slopes are those of lines through the origin, by least squares over the bins: of measured least
    dimensions over x, and of the exact ones of Gaussian projections.
    """
    error = of.facts["error"]
    found: dict[str, float | None] = {LEAST_MARGIN: of.facts["least_margin"]}
    if row.shows == "pairs":
        points = fidelities.least(of.pairs, ["x", "exact"], pl.col("error") <= error)
        reached = points.drop_nulls("dimensions")
        x = reached["x"].to_numpy()
        found[CONSTANT] = bounds.constant(error)
        for name, column in ((SLOPE, "dimensions"), (EXACT, "exact")):
            y = reached[column].to_numpy()
            found[name] = float(x @ y / (x @ x)) if len(x) else None
    if row.shows == "margins":
        medians = of.margins.group_by("length", "nearest", maintain_order=True)
        for length, nearest, margin in medians.agg(pl.col("margin").median()).iter_rows():
            if length != ALL:
                found[f"{nearest}th/{length}"] = margin
    if row.shows == "bounds":
        found |= _theory(of)
    if row.shows == "recall":
        for share in recalls:
            points = fidelities.least(of.recall, ["length"], pl.col("recall") >= share)
            for length, dimensions in points.iter_rows():
                found[f"{share:g}/{length}"] = dimensions
    return found


def _theory(of: Measured) -> dict[str, float | None]:
    """Return what bounds ask for at the r-th smallest margin of the middle query, all docs ranked.

    And at how many dimensions so many queries, all but the error allowed, kept their first doc.
    """
    error, depth, docs = (of.facts[name] for name in ("error", "depth", "docs"))
    margin = of.margins.filter(length=ALL, nearest=depth)["margin"].median()
    found: dict[str, float | None] = {MARGIN: None}
    if isinstance(margin, float):
        exact = bounds.gaussian_dimensions(np.array([margin]), np.array([1]), error)
        found |= {
            MARGIN: margin,
            "pair/exact": exact,
            "pair/lemma-1": bounds.least_dimensions(margin, error),
            "pair/corollary-1": bounds.simple_dimensions(margin, error),
            "recall/lemma-2": bounds.recall_dimensions(margin, error, docs - 1, depth),
        }
    points = fidelities.least(of.recall, ["length"], pl.col("recall") >= 1 - error)
    found["recall/measured"] = points.filter(length=ALL)["dimensions"].to_list()[0]
    if boolean := of.facts.get("boolean_dimensions"):
        found["every-pair/corollary-2"] = boolean
    return found


def _cells(job: BoundDimensions, row: Projection, of: Measured | None) -> Iterator[GridCell]:
    """Yield the cells of a plot, those without a value too."""
    names = {LEAST_MARGIN: None} if of is None else quantities(row, of, job.table.recalls)
    printed = dict.fromkeys(job.table.reported.get(row.id, {}))
    for name, value in {**printed, **names}.items():
        cell = GridCell(job.id, row.id, name, f"{row.shows} of {row.fidelity}", job.projected)
        if value is not None and of is not None:
            cell = cell.measured_as([float(value)], of.facts["queries"])
        else:
            cell = replace(cell, not_run=job.absent.get(row.id, NOT_REACHED))
        yield grids.with_reported(cell, job.table)


def _line(job: BoundDimensions, cell: GridCell) -> list[TextCell]:
    label = next(row.label for row in job.table.rows if row.id == cell.row)
    here = DASH if cell.measured is None else f"{cell.measured:.4g}"
    printed = "" if cell.reported is None else f"{cell.reported:g}"
    return [TextCell(text) for text in (label, cell.column, here, printed)]


def _save(job: BoundDimensions, found: dict[str, Measured], output: Path) -> list[Path]:
    """Draw the plots beside each other."""
    from matplotlib.figure import Figure

    plots = {"pairs": _pairs, "margins": _margins, "recall": _recall, "bounds": _bounds}
    rows = job.table.rows
    with drawing.styled():
        figure = Figure(figsize=(3.6 * len(rows), 3.2), layout="constrained")
        for ax, row in zip(figure.subplots(1, len(rows), squeeze=False)[0], rows, strict=True):
            if row.id in found:
                plots[row.shows](ax, job, found[row.id])
                ax.set_title(row.label, fontsize=8)
            else:
                drawing.nothing(ax)
        return drawing.written(figure, output)


def _pairs(ax: "Axes", job: BoundDimensions, of: Measured) -> None:
    """Draw the least dimensions of each bin over x, the exact ones, and Lemma 1's line."""
    error = of.facts["error"]
    points = fidelities.least(of.pairs, ["x", "exact"], pl.col("error") <= error)
    most = of.pairs["dimensions"].max()
    (color, marker, _), (other, _, dashed), (third, *_) = drawing.LINES[:3]
    ax.plot(points["x"], points["dimensions"], marker, color=color, label="measured")
    ax.plot(points["x"], points["exact"], "-", color=third, label="exact, Gaussian")
    x = np.array([0.0, *points["x"].to_list()])
    ax.plot(x, bounds.constant(error) * x, ls=dashed, color=other, label="Lemma 1")
    ax.set_ylim(0, 1.05 * float(str(most)))
    ax.set_xlabel(r"$(\epsilon^2/2 - \epsilon^3/3)^{-1}$")
    ax.set_ylabel("least dimensions k")
    ax.legend()


def _margins(ax: "Axes", job: BoundDimensions, of: Measured) -> None:
    """Draw boxes of small margins over queries, by the length of docs."""
    groups = [name for name in of.margins["length"].unique(maintain_order=True) if name != ALL]
    nearest = of.margins["nearest"].unique().sort().to_list()
    width = 0.8 / max(1, len(nearest))
    for number, rank in enumerate(nearest):
        color = drawing.LINES[number % len(drawing.LINES)][0]
        for place, name in enumerate(groups):
            values = of.margins.filter(length=name, nearest=rank)["margin"].to_list()
            at = place + (number - (len(nearest) - 1) / 2) * width
            style = {key: {"color": color} for key in ("boxprops", "whiskerprops", "capprops")}
            if values:
                ax.boxplot(
                    values, positions=[at], widths=0.8 * width, whis=PERCENTILES, sym="",
                    manage_ticks=False, medianprops={"color": color}, **style,
                )  # fmt: skip
        ax.plot([], [], color=color, label=f"{rank}th smallest")
    ax.set_yscale("log")
    ax.set_xticks(range(len(groups)), groups)
    ax.set_xlabel("terms of docs")
    ax.set_ylabel("normalised margin")
    ax.legend()


def _recall(ax: "Axes", job: BoundDimensions, of: Measured) -> None:
    """Draw the least dimensions for shares of the queries, by the length of docs."""
    for share, (color, marker, line) in zip(job.table.recalls, drawing.LINES, strict=False):
        points = fidelities.least(of.recall, ["length"], pl.col("recall") >= share)
        points = points.filter(pl.col("length") != ALL)
        x, y = range(points.height), points["dimensions"].to_list()
        ax.plot(x, [np.nan if k is None else k for k in y], marker=marker, ls=line, color=color,
                label=f"{share:.0%} of queries")  # fmt: skip
        ax.set_xticks(x, points["length"].to_list())
    ax.set_xlabel("terms of docs")
    ax.set_ylabel("least dimensions k")
    ax.legend()


def _bounds(ax: "Axes", job: BoundDimensions, of: Measured) -> None:
    """Draw a bar for each bound, on a logarithmic axis."""
    found = {name: k for name, k in _theory(of).items() if k is not None and name != MARGIN}
    ax.barh(range(len(found)), [*found.values()], color=drawing.LINES[2][0])
    ax.set_yticks(range(len(found)), [*found])
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlabel("dimensions k")


def _notes(job: BoundDimensions, found: dict[str, Measured]) -> Iterator[str]:
    yield f"{job.projected or 'No split'} in the role of {job.table.role}."
    for row in job.table.rows:
        if why := job.absent.get(row.id):
            yield f"Not run: {row.label}: {why.rstrip('.')}."
            continue
        facts = found[row.id].facts
        counts = ", ".join(f"{facts[name]:,} {name}" for name in ("queries", "docs", "terms"))
        how = f"{facts['draws']} {facts['distribution']} projections"
        beyond = f"; of {facts['pairs']:,} pairs {facts['beyond_bins']:,} lie beyond the last bin, "
        beyond += f"{facts['in_small_bins']:,} in bins of too few"
        yield f"{row.label}: {row.fidelity}, {how}; {counts}{beyond * (row.shows == 'pairs')}."
    if any(row.shows == "pairs" for row in job.table.rows):
        yield (
            "A pair is a query's first doc and another; pairs of equal scores are none. Bins of x, "
            "1/(eps^2/2 - eps^3/3), end where the most dimensions that are tried would do."
        )
        yield (
            "constant: 2 ln(4/error), Lemma 1's bound over x. slope, exact-slope: of least "
            "dimensions over x, measured and exact for Gaussian projections, which no paper prints."
        )
    if any(row.shows == "bounds" for row in job.table.rows):
        yield (
            "margin: the tenth smallest one of the middle query (the r-th, for recall at r), all "
            "docs ranked; pair/: dimensions that keep a pair of that margin; recall/: that keep a "
            "first doc among the first r, as Lemma 2 guarantees for the middle query and as was "
            "measured for all but the error allowed; every-pair/: for any pair of Boolean vectors."
        )
    if any(row.shows in ("margins", "recall") for row in job.table.rows):
        yield "Docs are grouped by how many different terms they have."
    yield f"Scale {job.scale}: {job.reason}"


if __name__ == "__main__":
    command.main(app)

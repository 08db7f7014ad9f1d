"""The drawing of a figure: measures over the rerank depth, a panel each, a line per series.

Usage: `save(job, drawn, Path("figure.tsv"))` writes figure.pdf and figure.png. Free of clock and
versions, so that equal data is equal bytes. Must not know how values or tests were computed.
"""

import itertools
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from residuum.core import files, pages, schema
from residuum.wiring.bound import BoundFigure

LOG_FROM = 10  # depths that spread this much or more are drawn on a logarithmic axis
# Colours of Okabe and Ito; markers and dashes tell the lines apart without them.
LINES = [
    {"color": "#000000", "marker": "o", "linestyle": "-"},
    {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    {"color": "#0072B2", "marker": "^", "linestyle": "-."},
    {"color": "#009E73", "marker": "D", "linestyle": ":"},
    {"color": "#CC79A7", "marker": "v", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
]
DIFFERS = [(6, 2, 0), "x", "+", (3, 2, 0)]
SIZES = {"markersize": 4, "linewidth": 1.2}
STYLE = {"font.family": "DejaVu Sans", "font.size": 8, "pdf.fonttype": 42, "savefig.dpi": 200}
METADATA = {
    "pdf": dict.fromkeys(["Creator", "Producer", "CreationDate"]),
    "png": {"Software": None},
}


def save(job: BoundFigure, drawn: pl.DataFrame, output: Path) -> None:
    """Write the drawing as .pdf and .png beside `output`; `drawn` has a row per point."""
    import matplotlib
    from matplotlib.figure import Figure

    panels = job.figure.panels
    with matplotlib.rc_context(rc={**matplotlib.rcParamsDefault, **STYLE}):
        figure = Figure(figsize=(3.4 * len(panels), 3.4), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        legend: dict[str, Any] = {}
        for ax, panel in zip(axes, panels, strict=True):
            points = drawn.filter(pl.col("panel") == panel.id)
            legend |= _lines(ax, job, points) | _marks(ax, job, points)
            _label(ax, panel, points)
        figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=2)
        for form, metadata in METADATA.items():
            with files.whole(output.with_suffix(f".{form}")) as temporary:
                figure.savefig(temporary, format=form, metadata=metadata)


def _lines(ax: Any, job: BoundFigure, points: pl.DataFrame) -> dict[str, Any]:
    """Draw each series, thick where docs are reranked; return what the legend shows."""
    handles: dict[str, Any] = {}
    for line, series in zip(itertools.cycle(LINES), job.series()):
        own = points.filter(pl.col("series") == series.id).sort("depth")
        handles[series.label] = _line(ax, line, own.filter(pl.col("depth") > 0))
        for mean in own.filter(pl.col("depth") == 0)["mean"]:
            thin = {"color": line["color"], "linestyle": line["linestyle"], "linewidth": 0.6}
            handles[f"{series.label}, first stage alone"] = ax.axhline(mean, **thin)
    return handles


def _line(ax: Any, line: dict[str, Any], own: pl.DataFrame) -> Any:
    mean = own["mean"].to_numpy()
    spread = np.maximum([mean - own["lowest"].to_numpy(), own["highest"].to_numpy() - mean], 0.0)
    bars = spread if own["seeds"].max() > 1 else None
    return ax.errorbar(own["depth"], mean, yerr=bars, capsize=2, **SIZES, **line)


def _marks(ax: Any, job: BoundFigure, points: pl.DataFrame) -> dict[str, Any]:
    """Put a row of marks above the frame for each other series, where it differs from the first."""
    first, *others = job.series()
    handles: dict[str, Any] = {}
    for row, (sign, series) in enumerate(zip(itertools.cycle(DIFFERS), others)):
        found = points.filter((pl.col("series") == series.id) & pl.col("significant"))["depth"]
        if found.is_empty():
            continue  # a line without points would collapse the axes
        (handles[f"{first.label} and {series.label} differ significantly"],) = ax.plot(
            found,
            [1.03 + 0.05 * row] * len(found),
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            linestyle="none",
            marker=sign,
            color="black",
        )
    return handles


def _label(ax: Any, panel: schema.Panel, points: pl.DataFrame) -> None:
    depths = points.filter(pl.col("depth") > 0)["depth"].unique().sort().to_list()
    if depths[-1] >= LOG_FROM * depths[0]:
        ax.set_xscale("log")
    ax.set_xticks(depths, labels=[f"{depth:,}" for depth in depths])
    ax.minorticks_off()
    ax.set_xlabel("Rerank depth K")
    ax.set_ylabel(f"{textwrap.fill(panel_name(panel), 36)}\nn = {points['n'].max():,} queries")
    ax.grid(color="0.9", linewidth=0.5)


def panel_name(panel: schema.Panel) -> str:
    """Write what a panel shows in full."""
    return pages.measure_name(panel.measure) if panel.measure else "Recall of candidates"

"""Measures over the rerank depth, drawn: a line per first stage, tests at every depth.

Command: `python -m residuum.figures draw ...`. What is drawn lies beside the drawing, unrounded.
Must not know how docs were reranked, nor how p-values are computed.
"""

import itertools
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from residuum import significance
from residuum.core import cells, command, files, manifest, pages, schema
from residuum.core.errors import ResiduumError
from residuum.core.seeds import derive

app = command.app(__doc__)
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


class FigureJob(schema.Strict):
    """A figure cast for one scale: where it is measured and which runs make each series."""

    id: str
    figure: schema.Figure
    place: str
    runs: dict[str, list[str]]
    scale: str
    reason: str

    def series(self) -> list[schema.Series]:
        """Return the series that have runs, in the figure's order; none at all is an error."""
        if drawn := [series for series in self.figure.series if self.runs.get(series.id)]:
            return drawn
        raise ResiduumError(f"{self.id}: no series has runs at scale {self.scale}")


Curves = dict[tuple[str, str], cells.Curve]  # (panel id, series id)


@app.command()
def draw(
    spec: Annotated[str, typer.Option(help="FigureJob as JSON")],
    sweep: Annotated[list[Path], typer.Option(help="TSV of run, depth, query_id, measure, value")],
    scored: Annotated[list[Path], typer.Option(help="manifest of the scored pairs behind a sweep")],
    output: Annotated[Path, typer.Option(help="TSV to write; .pdf, .png and .md go beside it")],
) -> None:
    """Write the drawn data as .tsv, the drawing as .pdf and .png and its caption as .md."""
    job = command.parse_spec(FigureJob, spec)
    drawn = data(job, pl.concat([cells.read_sweep(path) for path in sweep]))
    files.write_text(output, drawn.write_csv(separator="\t"))
    _save(job, drawn, output)
    page = caption(job, drawn, [cost(path) for path in scored])
    files.write_text(output.with_suffix(".md"), pages.markdown(page, f"{output.stem}.png"))
    manifest.write(
        manifest.beside(output),
        artefact={"points": drawn.height},
        spec=job.model_dump(mode="json"),
        inputs=[*sweep, *scored],
        module="residuum.figures",
    )


def data(job: FigureJob, sweep: pl.DataFrame) -> pl.DataFrame:
    """Return a row per panel, series and depth: means over queries and seeds, spread and tests.

    `difference`, its 95% t interval and p compare the series with the first one drawn, per
    query, seeds averaged; depth 0, where nothing is reranked, is shown but not tested.
    """
    curves: Curves = {
        (panel.id, s.id): cells.curve(sweep, job.runs[s.id], panel.measure or cells.RECALL)
        for panel in job.figure.panels
        for s in job.series()
    }
    _same_queries(job, curves)
    tests = [test for panel in job.figure.panels for test in compare(job, panel.id, curves)]
    significance.adjust(tests, job.figure.tests.correction)
    by_point = {(t["panel"], t["series"], t["depth"]): t for t in tests}
    rows = [
        {**row, **_tested(by_point.get((row["panel"], row["series"], row["depth"])), job)}
        for row in _points(job, curves)
    ]
    form = {"significant": pl.Boolean}
    return pl.DataFrame(rows, schema_overrides=form, infer_schema_length=None)


def _same_queries(job: FigureJob, curves: Curves) -> None:
    (first, base), *others = curves.items()
    for key, curve in others:
        odd = sorted(set(curve.query_ids) ^ set(base.query_ids))
        if odd:
            raise ResiduumError(
                f"{job.id}: {'/'.join(first)} and {'/'.join(key)} hold different queries "
                f"({len(odd)} of them, such as {odd[0]})"
            )


def compare(job: FigureJob, panel: str, curves: Curves) -> list[dict[str, Any]]:
    """Test each other series against the first at every depth that both have."""
    first, *others = [series.id for series in job.series()]
    base = curves[panel, first].values
    points = [(s, d) for s in others for d in curves[panel, s].values if d > 0 and d in base]
    if not points:
        return []
    tests = job.figure.tests
    means = [curves[panel, s].values[d].mean(axis=1) - base[d].mean(axis=1) for s, d in points]
    differences = np.stack(means, axis=1)
    seed = derive(tests.seed, job.id, panel)
    p = significance.TESTS[tests.test](differences, tests.resamples, seed)
    error = significance.monte_carlo_error(p, tests.resamples)
    return [
        {
            "panel": panel,
            "series": series,
            "depth": depth,
            "difference": float(differences[:, i].mean()),
            **dict(zip(("ci_low", "ci_high"), significance.t_interval(means[i]), strict=True)),
            "p": float(p[i]),
            "p_error": float(error[i]) if tests.test == "permutation" else 0.0,
            "family": job.id if tests.family == "table" else f"{job.id}/{panel}",
        }
        for i, (series, depth) in enumerate(points)
    ]


def _tested(test: dict[str, Any] | None, job: FigureJob) -> dict[str, Any]:
    names = ["difference", "ci_low", "ci_high", "p", "p_error", "p_adjusted"]
    if test is None:
        return dict.fromkeys([*names, "significant"])
    significant = test["p_adjusted"] < job.figure.tests.alpha
    return {**{name: test[name] for name in names}, "significant": significant}


def _points(job: FigureJob, curves: Curves) -> Iterator[dict[str, Any]]:
    for panel in job.figure.panels:
        for series in job.series():
            curve = curves[panel.id, series.id]
            for depth, values in curve.values.items():
                means = values.mean(axis=0)
                yield {
                    "panel": panel.id,
                    "series": series.id,
                    "depth": depth,
                    "measure": panel.measure or cells.RECALL,
                    "n": len(values),
                    "seeds": len(means),
                    "mean": float(means.mean()),
                    "lowest": float(means.min()),
                    "highest": float(means.max()),
                    "per_seed": " ".join(str(float(mean)) for mean in means),
                    "pairs": curve.pairs.get(depth),
                }


def _save(job: FigureJob, drawn: pl.DataFrame, output: Path) -> None:
    """Write the drawing twice, free of clock and versions, so that equal data is equal bytes."""
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


def _lines(ax: Any, job: FigureJob, points: pl.DataFrame) -> dict[str, Any]:
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


def _marks(ax: Any, job: FigureJob, points: pl.DataFrame) -> dict[str, Any]:
    """Put a row of marks above the frame for each other series, where it differs from the first."""
    first, *others = job.series()
    handles: dict[str, Any] = {}
    for row, (sign, series) in enumerate(zip(itertools.cycle(DIFFERS), others)):
        found = points.filter((pl.col("series") == series.id) & pl.col("significant"))["depth"]
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
    ax.set_ylabel(f"{textwrap.fill(_name(panel), 36)}\nn = {points['n'].max():,} queries")
    ax.grid(color="0.9", linewidth=0.5)


def _name(panel: schema.Panel) -> str:
    return pages.measure_name(panel.measure) if panel.measure else "Recall of candidates"


def cost(scored: Path) -> str:
    """Say how many pairs a reranker scored, and how many without sharing them between runs."""
    facts = json.loads(files.read_bytes(scored))["artefact"]
    pairs, alone = facts["pairs"], facts["pairs_without_sharing"]
    runs = len(facts["pairs_per_run"])
    return (
        f"Pairs scored by {scored.name.partition('.')[0]}: {pairs:,}, each once for all depths of "
        f"{runs} first-stage runs; {alone:,} if every run were scored alone at its largest depth "
        f"({1 - pairs / max(alone, 1):.0%} saved)."
    )


def caption(job: FigureJob, drawn: pl.DataFrame, costs: list[str]) -> pages.Page:
    """Return what stands under the drawing: what it shows, how it is tested, cost, the values."""
    series = job.series()
    columns = [(panel, s) for panel in job.figure.panels for s in series]
    at = {(p["panel"], p["series"], p["depth"]): p for p in drawn.iter_rows(named=True)}
    names = {panel.id: panel.measure or "recall" for panel in job.figure.panels}
    return pages.Page(
        title=job.figure.title,
        place=job.figure.place,
        header=["K", *(f"{names[panel.id]} {s.label}" for panel, s in columns)],
        rows=[
            [pages.Cell(str(k)), *(_shown(at.get((p.id, s.id, k))) for p, s in columns)]
            for k in drawn["depth"].unique().sort()
        ],
        notes=_notes(job, drawn, costs),
        align=["r", *"c" * len(columns)],
    )


def _shown(point: dict[str, Any] | None) -> pages.Cell:
    if point is None:
        return pages.Cell(pages.DASH)
    low, high = point["lowest"], point["highest"]
    spread = f" ({low:.3f}{pages.DASH}{high:.3f})" if low < high else ""
    return pages.Cell(f"{point['mean']:.3f}{spread}{'*' if point['significant'] else ''}")


def _notes(job: FigureJob, drawn: pl.DataFrame, costs: list[str]) -> list[str]:
    figure, (first, *others) = job.figure, job.series()
    absent = [series.label for series in figure.series if series not in job.series()]
    tests = pages.tests_note(figure.tests, "panel", "figure")
    lines = [
        f"{_name(panel)} (the paper's {panel.header}): {job.place} in the role of {figure.role}, "
        f"{drawn.filter(pl.col('panel') == panel.id)['n'].max()} queries."
        for panel in figure.panels
    ]
    lines += [f"{s.label}: {s.system}, runs {', '.join(job.runs[s.id])}." for s in job.series()]
    if drawn["seeds"].max() > 1:
        spread = "bars and brackets: lowest to highest seed"
        lines.append(f"Means over training seeds, per query where tested; {spread}.")
    if others:
        lines.append(
            f"Marks and *: differs significantly from {first.label} at that depth. {tests}"
        )
    lines.append("K = 0 is the first stage alone, drawn as a thin line and not tested.")
    lines += costs
    if absent:
        lines.append(f"Not drawn, without runs at this scale: {', '.join(absent)}.")
    return [*lines, f"Scale {job.scale}: {job.reason}"]


if __name__ == "__main__":
    command.main(app)

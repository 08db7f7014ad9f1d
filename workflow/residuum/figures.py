"""Measures over the rerank depth, drawn: a line per first stage, tests at every depth.

Command: `python -m residuum.figures draw ...`. What is drawn lies beside the drawing, unrounded.
Must not know how docs were reranked, nor how p-values are computed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import polars as pl
import typer

from residuum import drawing, paired
from residuum.core import cells, command, files, manifest, pages
from residuum.core.errors import ResiduumError
from residuum.paired import notes
from residuum.wiring.bound import BoundFigure

app = command.app(__doc__)
Curves = dict[tuple[str, str], cells.Curve]  # (panel id, series id)
TESTED = (
    *("difference", "ci_low", "ci_high", "boot_low", "boot_high", "effect", "detectable"),
    *("p", "p_error", "p_adjusted", "p_seeds"),
)
FORM = {"seeds_holding": pl.String, "method": pl.String, "significant": pl.Boolean}


class Point(NamedTuple):
    """A series at one depth in one panel."""

    panel: str
    series: str
    depth: int


@app.command()
def draw(
    spec: Annotated[str, typer.Option(help="BoundFigure as JSON")],
    sweep: Annotated[list[Path], typer.Option(help="TSV of run, depth, query_id, measure, value")],
    scored: Annotated[list[Path], typer.Option(help="manifest of the scored pairs behind a sweep")],
    output: Annotated[Path, typer.Option(help="TSV to write; .pdf, .png and .md go beside it")],
) -> None:
    """Write the drawn data as .tsv, the drawing as .pdf and .png and its caption as .md."""
    job = command.parse_spec(BoundFigure, spec)
    drawn = data(job, pl.concat([cells.read_sweep(path) for path in sweep]))
    files.write_text(output, drawn.write_csv(separator="\t"))
    drawing.save(job, drawn, output)
    page = caption(job, drawn, [cost(path) for path in scored])
    files.write_text(output.with_suffix(".md"), pages.markdown(page, f"{output.stem}.png"))
    manifest.write(
        manifest.beside(output),
        artefact={"points": drawn.height},
        spec=job.model_dump(mode="json"),
        inputs=[*sweep, *scored],
        module="residuum.figures",
    )


def data(job: BoundFigure, sweep: pl.DataFrame) -> pl.DataFrame:
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
    tests = compare(job, curves)
    rows = [
        {**row, **_tested(tests.get(Point(row["panel"], row["series"], row["depth"])), job)}
        for row in _points(job, curves)
    ]
    form = {name: pl.Float64 for name in TESTED} | FORM
    return pl.DataFrame(rows, schema_overrides=form, infer_schema_length=None)


def _same_queries(job: BoundFigure, curves: Curves) -> None:
    (first, base), *others = curves.items()
    for key, curve in others:
        odd = sorted(set(curve.query_ids) ^ set(base.query_ids))
        if odd:
            raise ResiduumError(
                f"{job.id}: {'/'.join(first)} and {'/'.join(key)} hold different queries "
                f"({len(odd)} of them, such as {odd[0]})"
            )


def compare(job: BoundFigure, curves: Curves) -> dict[Point, dict[str, Any]]:
    """Test each other series against the first, per panel, at every depth that both have."""
    first, *others = (series.id for series in job.series())
    points = [
        Point(panel.id, series, depth)
        for panel in job.figure.panels
        for series in others
        for depth in curves[panel.id, series].values
        if depth > 0 and depth in curves[panel.id, first].values
    ]
    loaded = {
        (series, f"{panel}/{depth}"): cells.Cell(curve.query_ids, job.runs[series], values)
        for (panel, series), curve in curves.items()
        for depth, values in curve.values.items()
    }
    wanted = [paired.Wanted(f"{p.panel}/{p.depth}", p.series, first) for p in points]
    found = paired.compare_all(loaded, wanted, job.tests, job.tests.seed)
    for point, row in zip(points, found, strict=True):
        row["family"] = job.id if job.tests.family == "table" else f"{job.id}/{point.panel}"
    paired.adjust(found, job.tests.correction)
    return dict(zip(points, found, strict=True))


def _tested(test: dict[str, Any] | None, job: BoundFigure) -> dict[str, Any]:
    if test is None:
        return dict.fromkeys([*TESTED, *FORM])
    found = {name: test.get(name) for name in (*TESTED, *FORM)}
    found["seeds_holding"] = test["seeds_holding"] or None
    return {**found, "significant": test["p_adjusted"] < job.tests.alpha}


def _points(job: BoundFigure, curves: Curves) -> Iterator[dict[str, Any]]:
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


def caption(job: BoundFigure, drawn: pl.DataFrame, costs: list[str]) -> pages.Page:
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


def _point(test: dict[str, Any]) -> str:
    return f"{test['panel']}, {test['series']} at {test['depth']}"


def _notes(job: BoundFigure, drawn: pl.DataFrame, costs: list[str]) -> list[str]:
    figure, (first, *others) = job.figure, job.series()
    absent = [series.label for series in figure.series if series not in job.series()]
    tests = pages.tests_note(job.tests, "panel", "figure")
    lines = [
        f"{drawing.panel_name(panel)} (the paper's {panel.header}): {job.place} in the role of "
        f"{figure.role}, {drawn.filter(pl.col('panel') == panel.id)['n'].max()} queries."
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
        lines += notes.remarks(drawn.iter_rows(named=True), job.tests.alpha, _point)
    lines.append("K = 0 is the first stage alone, drawn as a thin line and not tested.")
    lines += costs
    if absent:
        lines.append(f"Not drawn, without runs at this scale: {', '.join(absent)}.")
    return [*lines, f"Scale {job.scale}: {job.reason}"]


if __name__ == "__main__":
    command.main(app)

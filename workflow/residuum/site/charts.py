"""Data of a page's drawing, from which the report's script draws the chart.

Usage: `charts(folder, sheet)` returns charts of series of points, or of circles.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from residuum.artefacts import fidelities, times
from residuum.config.schema.fidelities import nth
from residuum.inspect.addressing import PATHS, Cell
from residuum.inspect.footprints import AXIS, MB
from residuum.pages import drawing
from residuum.pages.dimensions.entry import Projection
from residuum.pages.dimensions.job import BoundDimensions
from residuum.pages.figure import queries
from residuum.pages.figure.entry import COSTS, EFFORT, QUERY, Panel, Series
from residuum.pages.figure.job import BoundFigure
from residuum.pages.kinds import JOBS
from residuum.pages.lines.job import BoundLines
from residuum.pages.table.job import BoundTable
from residuum.pages.venn import circles
from residuum.pages.venn.job import BoundVenn
from residuum.site.folder import Folder, Sheet
from residuum.site.tested import Test, read, rounded, tests_of
from residuum.site.text import shown
from residuum.vectors import bounds

Chart = dict[str, Any]
LEAST = "least dimensions k"
SIZE = (
    "The size is that of what a search reads of the collection: Lucene's files, or the vectors of "
    "docs."
)
EQUAL = "="  # no series has such an id


def charts(folder: Folder, sheet: Sheet) -> list[Chart]:
    """Return the charts of a page; [] for cases and claims."""
    if sheet.entry.kind not in CHARTS:
        return []
    job = JOBS[sheet.entry.kind].model_validate(folder.graph.manifest(sheet.path).spec)
    made = CHARTS[sheet.entry.kind](folder, job, sheet)
    return named_apart([chart for chart in map(drawn, made) if chart])


def drawn(chart: Chart) -> Chart | None:
    """Return a chart without its empty series, or None if no series has a number."""
    if "circles" in chart:
        return chart if chart["circles"] else None
    kept = [one for one in chart["series"] if "level" in one or _has_number(one)]
    return chart | {"series": kept} if kept else None


def _has_number(series: Chart) -> bool:
    return any(point["y"] is not None for point in series["points"])


def named_apart(charts: list[Chart]) -> list[Chart]:
    """Return the charts, with axis names added to titles that several charts share."""
    titles = Counter(chart["title"] for chart in charts)
    for chart in charts:
        if titles[chart["title"]] > 1:
            chart["title"] += f", {chart['y']['label']} by {chart['x']['label']}"
    return charts


def _axis(label: str, scale: str) -> Chart:
    return {"label": shown(label), "scale": scale}  # scale: linear, log or point


def _timed(folder: Folder, job: BoundFigure) -> Iterator[Chart]:
    """Yield the charts of a figure over efforts by search time, if its times were measured."""
    pictures = PATHS.page_timing.fill(page=job.id)
    if (path := folder.results / pictures).is_file():
        table = pl.read_csv(path, separator="\t", infer_schema_length=None)
        axis = "Milliseconds per query, of one run"
        for chart in curves(job, table, "ms_per_query", axis):
            yield chart | {"pictures": pictures}


def curves(
    job: BoundFigure, table: pl.DataFrame, along: str = "", axis: str = ""
) -> Iterator[Chart]:
    """Yield a chart per panel over depths, efforts, snapshots or cutoffs; one at 0 is a level.

    Points over efforts are placed by their cost, or by the column `along`, which `axis` names.
    """
    over = job.entry.over
    along = along or (COSTS[EFFORT] if over == EFFORT else over)
    for panel in job.entry.panels:
        series, of_panel = [], table.filter(panel=panel.id)
        ticks = sorted({x for x in of_panel[over] if x > 0}) if over in table.columns else []
        scale = "log" if over == EFFORT or drawing.logarithmic(job, ticks) else "linear"
        for one in _series(job, panel):
            rows = list(of_panel.filter(series=one.id).iter_rows(named=True))
            points = [
                _point(row, row["mean"], x=row[along], at=f"{over} {row[over]:g}") | _tested(row)
                for row in rows
                if row[over] > 0 and row[along]
            ]
            line: Chart = {"id": one.id, "label": shown(one.label), "points": points}
            for row in (row for row in rows if row[over] == 0):
                line |= {"level": row["mean"], "level_label": drawing.FROM_ZERO[over]}
            series.append(line)
        x_axis = _axis(axis or drawing.AXES[over], scale)
        if ticks and over != EFFORT:  # over efforts x is a cost, without ticks of its own
            x_axis["ticks"] = ticks
        yield _of_panel(job, panel, x_axis, series)


def of_queries(job: BoundFigure, table: pl.DataFrame) -> Iterator[Chart]:
    """Yield a chart per panel and series but the first: their values, and how many queries."""
    labels = job.entry.labels()
    for panel in job.entry.panels:
        pairs = table.filter(panel=panel.id).select("series", "against").unique(maintain_order=True)
        for series, against in pairs.iter_rows():
            one, first = labels[series], labels[against]
            spots = queries.spots(table, panel, series)
            points = spots.select(x="first", y="value", n="queries").to_dicts()
            equal = [{"x": end, "y": end} for end in (0.0, queries.largest(spots))]
            yield {
                "title": shown(f"{drawing.panel_name(job, panel)}: {one} beside {first}"),
                "x": _axis(f"{panel.header} of {first}", "linear"),
                "y": _axis(f"{panel.header} of {one}", "linear"),
                "series": [
                    {"id": series, "label": shown(one), "points": points, "mark": "sizes"},
                    {"id": EQUAL, "label": "equal", "points": equal, "mark": "rule"},
                ],
                "against": shown(first),
            }


def _series(job: BoundFigure, panel: Panel) -> list[Series]:
    return [series for at, series in job.plotted() if at == panel]


def _of_panel(job: BoundFigure, panel: Panel, x_axis: Chart, series: list[Chart]) -> Chart:
    first = next((one["label"] for one in series if _has_number(one)), "")  # it learned
    return {
        "title": shown(drawing.panel_name(job, panel)),
        "x": x_axis,
        "y": _axis(panel.header, "linear"),
        "series": series,
        "against": first,
    }


def _point(values: Mapping[str, Any], y: float | None, **more: object) -> Chart:
    """Return a point: its mean, its queries, and the range over seeds if there are several."""
    point = {"y": y, "n": values["n"], **more}
    if (values["seeds"] or 0) > 1:
        point |= {"low": values["lowest"], "high": values["highest"], "seeds": values["seeds"]}
    reported = values.get("reported")
    return point if reported is None else point | {"reported": reported}


def _tested(row: Mapping[str, Any]) -> Chart:
    """Return a point's test against the first series, or {} without a test."""
    if row.get("p") is None:
        return {}
    ends = {"from": rounded(row["ci_low"]), "to": rounded(row["ci_high"])}
    test = {"difference": rounded(row["difference"]), **ends, "p": rounded(row["p_adjusted"])}
    return {"test": test | {"significant": row["significant"]}}


def _groups(job: BoundFigure, sheet: Sheet, tests: Sequence[Test]) -> Iterator[Chart]:
    by_place = {cell.place: cell for cell in sheet.cells}
    by_test = {f"{test.a}/{test.column}": test for test in tests}
    groups = list(dict.fromkeys(cell.line.column.partition("/")[2] for cell in sheet.cells))
    for panel in job.entry.panels:
        series = []
        for one in _series(job, panel):
            places = ((group, f"{one.id}/{panel.id}/{group}") for group in groups)
            points = [
                _of_cell(by_place[place], group) | _of_test(by_test.get(place))
                for group, place in places
                if place in by_place
            ]
            series.append({"id": one.id, "label": shown(one.label), "points": points})
        yield _of_panel(job, panel, _axis(f"group of {job.entry.over}", "point"), series)


def _of_test(test: Test | None) -> Chart:
    if test is None:
        return {}
    return _tested({**test._asdict(), "ci_low": test.low, "ci_high": test.high})


def _of_cell(cell: Cell, x: object) -> Chart:
    return _point(asdict(cell.line), cell.line.measured, x=x)


def _lines(job: BoundLines, table: pl.DataFrame) -> Iterator[Chart]:
    for panel in job.entry.panels:
        series = []
        for row, label in job.labels:
            rows = table.filter(panel=panel.id, row=row).iter_rows(named=True)
            by_point = {
                str(values["at"]): _point(values, values["mean"], x=str(values["at"]))
                for values in rows
            }
            points = [by_point.get(point.at, {"x": point.at, "y": None}) for point in panel.points]
            series.append({"id": row, "label": shown(label), "points": points})
        yield {
            "title": shown(panel.header),
            "x": _axis(job.entry.axis, "point") | {"order": [point.at for point in panel.points]},
            "y": _axis(job.entry.measure, "linear"),
            "series": series,
        }


def _circles(job: BoundVenn, cells: Sequence[Cell]) -> Iterator[Chart]:
    """Yield a chart of all diagrams at one scale: the circles of S and D, and their shares."""
    made = []
    for row in job.entry.rows:
        lines = [cell.line for cell in cells if cell.line.row == row.id]
        shares = {line.column: line.measured for line in lines}
        dense, lexical, overlap = (shares.get(name) for name in ("dense", "lexical", "overlap"))
        if dense is None or lexical is None or overlap is None:
            continue
        radii = circles.radius(dense), circles.radius(lexical)
        apart = circles.distance(*radii, overlap)
        made.append(
            {
                "id": row.id,
                "label": shown(row.label),
                "radii": radii,
                "apart": apart,
                "shares": [lexical - overlap, overlap, shares["residual"], shares["failure"]],
            }
        )
    title = f"Shares of the queries by {job.entry.measure}: S lexical, D dense"
    yield {"title": shown(title), "circles": made}


def _dimensions(folder: Folder, job: BoundDimensions, cells: Sequence[Cell]) -> Iterator[Chart]:
    for row in job.entry.rows:
        if row.id in job.absent:
            continue
        by_column = {cell.line.column: cell for cell in cells if cell.line.row == row.id}
        place = PATHS.fidelity_root, job.folders()[row.id]
        chart = {"title": shown(row.label), "x": _axis("terms of docs", "point")}
        chart["y"] = _axis(LEAST, "linear")
        if row.shows in ("recall", "bounds"):
            yield chart | _of_cells(row, job, by_column)
        else:
            measured = fidelities.read(folder.results.joinpath(*place))
            yield chart | (_pairs if row.shows == "pairs" else _margins)(measured)


def _of_cells(row: Projection, job: BoundDimensions, cells: Mapping[str, Cell]) -> Chart:
    """Return a line per share over doc lengths, or a point per bound, of the least dimensions."""
    if row.shows == "bounds":
        points = [_of_cell(cell, name) for name, cell in cells.items() if "/" in name]
        series = [{"id": row.id, "label": LEAST, "points": points, "mark": "dots"}]
        return {"x": _axis("bound", "point"), "y": _axis("dimensions k", "log"), "series": series}
    series = []
    for share in job.entry.recalls:
        named = f"{share:g}/"
        points = [
            _of_cell(cell, name.removeprefix(named))
            for name, cell in cells.items()
            if name.startswith(named) and not name.endswith("/all")
        ]
        series.append({"id": named[:-1], "label": f"{share:.0%} of queries", "points": points})
    return {"series": series}


def _pairs(measured: fidelities.Measured) -> Chart:
    """Return series over x: measured and exact (Gaussian) least dimensions, and Lemma 1's line."""
    error = measured.facts["error"]
    bins = fidelities.least(measured.pairs, ["x", "exact"], pl.col("error") <= error)
    tried = [{"x": x, "y": k} for x, k in bins.select("x", "dimensions").rows() if k]
    exact = [{"x": x, "y": k} for x, k in bins.select("x", "exact").rows() if k]
    slope = bounds.constant(error)
    most = max((point["y"] for point in [*tried, *exact]), default=0)
    lemma = [{"x": x, "y": slope * x} for x in (0.0, most / slope)]
    series = [
        {"id": "measured", "label": "measured", "points": tried, "mark": "dots"},
        {"id": "exact", "label": "exact, Gaussian", "points": exact},
        {"id": "lemma", "label": "Lemma 1", "points": lemma},
    ]
    return {"x": _axis("1 / (eps²/2 - eps³/3)", "linear"), "series": series}


def _margins(measured: fidelities.Measured) -> Chart:
    """Return the median margin over queries by doc length, with the middle half of the queries."""
    groups = measured.margins.filter(pl.col("length") != fidelities.ALL)
    quartiles = (
        pl.col("margin").quantile(share, "linear").alias(name)
        for name, share in (("low", 0.25), ("y", 0.5), ("high", 0.75))
    )
    rows = groups.group_by("nearest", "length", maintain_order=True).agg(*quartiles, n=pl.len())
    series = []
    for nearest in rows["nearest"].unique().sort():
        lines = rows.filter(nearest=nearest).rename({"length": "x"}).drop("nearest")
        label = f"{nth(nearest)} smallest, middle half of queries"
        points = list(lines.iter_rows(named=True))
        series.append({"id": str(nearest), "label": label, "points": points, "mark": "dots"})
    return {"y": _axis("normalised margin", "log"), "series": series}


def _table(folder: Folder, job: BoundTable, sheet: Sheet) -> Iterator[Chart]:
    """Yield the charts of a table: its numbers by bytes of indexes, and by time if it was timed.

    No chart of bytes where all systems search the same indexes.
    """
    made = [one for cell in sheet.cells if (one := folder.sizes.of(cell))]
    columns = (column.id for column in job.shown())
    first = next((name for name in columns if name in {one.column for one in made}), None)
    points = [
        (one.row, one.label, one.index_bytes / MB, one.value) for one in made if one.column == first
    ]
    if len({size for _, _, size, _ in points}) > 1:
        header = next(one.header for one in made if one.column == first)
        title = f"{header} by the size of the index"
        yield _scattered(title, AXIS, header, points) | {"note": SIZE}
    if lines := _timed_lines(folder, sheet):
        header, how = lines[0]["header"], lines[0]
        points = [(one["row"], one["label"], one["ms"], one["value"]) for one in lines]
        note = f"The time is that of a query, of {how['at_once']} at once. Threads: "
        yield _scattered(f"{header} by time", times.AXIS, header, points) | {
            "note": f"{note}{how['threads']}. Measured on {how['machine']}.",
            "pictures": PATHS.times.fill(page=sheet.name),
        }


def _timed_lines(folder: Folder, sheet: Sheet) -> list[dict[str, Any]]:
    """Return the lines of a table's times; [] where none were measured, or of other numbers."""
    path = folder.results / PATHS.times.fill(page=sheet.name)
    lines = times.read(path).rows(named=True) if path.is_file() else []
    values = {(one.line.row, one.line.column): one.line.measured for one in sheet.cells}
    same = all(values.get((one["row"], one["column"])) == one["value"] for one in lines)
    return lines if same else []


def _scattered(
    title: str, xlabel: str, ylabel: str, points: Sequence[tuple[str, str, float, float]]
) -> Chart:
    """Return a chart of single points: row, label, x and y of each."""
    spread = drawing.spread([x for _, _, x, _ in points])
    return {
        "title": shown(title),
        "x": _axis(xlabel, "log" if spread else "linear"),
        "y": _axis(shown(ylabel), "linear"),
        "series": [
            {"id": row, "label": shown(label), "points": [{"x": x, "y": y}], "mark": "dots"}
            for row, label, x, y in points
        ],
    }


def _figure(folder: Folder, job: BoundFigure, sheet: Sheet) -> Iterator[Chart]:
    if job.entry.grouped:
        yield from _groups(job, sheet, tests_of(folder, sheet))
    elif job.entry.over == QUERY:
        yield from of_queries(job, read(folder, sheet))
    else:
        yield from curves(job, read(folder, sheet))
        yield from _timed(folder, job)


CHARTS: dict[str, Callable[..., Iterable[Chart]]] = {  # (folder, job, sheet)
    "table": _table,
    "figure": _figure,
    "venn": lambda _, job, sheet: _circles(job, sheet.cells),
    "dimensions": lambda folder, job, sheet: _dimensions(folder, job, sheet.cells),
    "lines": lambda folder, job, sheet: _lines(job, read(folder, sheet)),
}

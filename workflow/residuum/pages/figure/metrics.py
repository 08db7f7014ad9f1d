"""The values of a figure's series that come from runs' metrics: over groups, queries and so on.

Usage: `job = without_unlearned(bound, verdicts)`, then `of_runs(job, metrics, groups)`, and
`cells(job, points)` for the data beside a figure over groups. A new axis needs a line in `of_runs`.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from residuum.artefacts import trec
from residuum.artefacts.groupings import Groups
from residuum.cli.errors import ResiduumError, unknown
from residuum.pages import derived, grids
from residuum.pages.figure.entry import CUTOFF, SNAPSHOT, Panel, Series
from residuum.pages.figure.job import BoundFigure
from residuum.pages.figure.points import Point
from residuum.pages.grids import GridCell, Parted
from residuum.paired import ScoreMatrix, same_queries
from residuum.tuning.learned import Learned


def without_unlearned(job: BoundFigure, verdicts: Mapping[str, Learned]) -> BoundFigure:
    """Return a figure without the series that have a model behind them that did not learn."""
    drawn = (series for series in job.splits if series in job.runs)
    unlearned = {series: why for series in drawn if (why := _why(job, series, verdicts))}
    kept = {part: runs for part, runs in job.runs.items() if part not in unlearned}
    return job.model_copy(update={"runs": kept, "unlearned": unlearned})


def _why(job: BoundFigure, series: str, verdicts: Mapping[str, Learned]) -> str | None:
    return grids.why_not_learned(job, job.runs.get(series, []), job.splits[series], verdicts)


def labelled(job: BoundFigure, verdicts: Mapping[str, Learned]) -> tuple[BoundFigure, list[str]]:
    """Return the figure with `(not learned)` in labels, and the series that learned, for tests."""
    shown, tested = list[Series](), list[str]()
    for series in job.entry.series:
        if _why(job, series.id, verdicts):
            series = series.model_copy(update={"label": f"{series.label} (not learned)"})
        else:
            tested.append(series.id)
        shown.append(series)
    figure = job.entry.model_copy(update={"series": shown})
    return job.model_copy(update={"entry": figure}), tested


def of_runs(job: BoundFigure, metrics: Path, groups: Parted) -> list[Point]:
    """Return the points of a figure over anything but curves. `groups` are by split."""
    if job.entry.grouped:
        return over_groups(job, metrics, groups)
    return _along(job, metrics)


def _along(job: BoundFigure, metrics: Path) -> list[Point]:
    """Return a point per panel, series and x: a snapshot's number, from 1, or a cutoff.

    Over queries a series has one point, at 1, with the values of all queries.
    """
    read, points = cache(trec.read_metrics), list[Point]()
    for panel, series in job.plotted():
        if job.entry.over == SNAPSHOT:
            made = job.at_snapshots(series.id)
        else:
            along = job.entry.cutoffs(panel) if job.entry.over == CUTOFF else [1]
            made = {str(at): job.runs[series.id] for at in along}
        for at, runs in made.items():
            where = f"{job.id}, {series.id} at {job.entry.over} {at}: "
            measure = job.entry.measure_at(panel, at)
            split_ref = str(job.splits[series.id])
            scores = grids.read_matrix(metrics, split_ref, runs, measure, where, read)
            points.append(Point(panel, series, int(at), at, scores))
    return points


def over_groups(job: BoundFigure, metrics: Path, groups: Parted) -> list[Point]:
    """Return a point per panel, series and group; each query of the metrics is in one group."""
    read = cache(trec.read_metrics)
    points: list[Point] = []
    for panel, series in job.plotted():
        if panel.change_from and panel.change_from not in job.runs:
            continue
        parts = groups[str(job.splits[series.id]), job.entry.over]
        for group in job.entry.groups:
            if group not in parts.members:
                raise ResiduumError(f"{job.id}: {unknown('group', group, parts.members)}")
        scores = _shown(job, metrics, read, panel, series)
        members = [query for queries in parts.members.values() for query in queries]
        sides = {series.id: scores.query_ids, job.entry.over: sorted(members)}
        same_queries(sides, f"{job.id}: ")
        points += _in_groups(job, panel, series, scores, parts)
    return points


def _shown(
    job: BoundFigure, metrics: Path, read: grids.Read, panel: Panel, series: Series
) -> ScoreMatrix:
    """Return the values per query that a panel shows: a measure, a win over `than`, or a change.

    Seeds are paired. A system without seeds is paired with each seed.
    """

    def values(part: str) -> ScoreMatrix:
        where = f"{job.id}, {part}: "
        split_ref, measure = str(job.splits[series.id]), str(panel.measure)
        return grids.read_matrix(metrics, split_ref, job.runs[part], measure, where, read)

    def shown(part: str) -> ScoreMatrix:
        scores = values(part)
        if panel.than is None:
            return scores
        other = values(f"{panel.id}/than")
        same_queries({panel.id: scores.query_ids, panel.than: other.query_ids}, f"{job.id}: ")
        return derived.better(scores, other)

    scores = shown(series.id)
    if panel.change_from is None:
        return scores
    other = shown(panel.change_from)
    same_queries({series.id: scores.query_ids, panel.change_from: other.query_ids}, f"{job.id}: ")
    return ScoreMatrix(scores.query_ids, scores.values - other.values)


def _in_groups(
    job: BoundFigure, panel: Panel, series: Series, scores: ScoreMatrix, groups: Groups
) -> Iterator[Point]:
    """Yield a series' points for the groups that the figure shows, in the grouping's order."""
    place = {query: row for row, query in enumerate(scores.query_ids)}
    for number, (group, queries) in enumerate(groups.members.items(), start=1):
        if group in (job.entry.groups or groups.members):
            ids = sorted(queries)
            values = scores.values[[place[query] for query in ids]]
            yield Point(panel, series, number, group, ScoreMatrix(ids, values))


def cells(job: BoundFigure, points: Iterable[Point]) -> list[GridCell]:
    """Return a cell per point, then a cell with a reason per reported number without a point."""
    made = {(point.series.id, point.column): _cell(job, point) for point in points}
    for row, column, _ in job.entry.cells():
        if (row, column) not in made:
            made[row, column] = _blank(job, row, column, _why_not(job, row, column))
    return list(made.values())


def _cell(job: BoundFigure, point: Point) -> GridCell:
    blank = _blank(job, point.series.id, point.column)
    return blank.measured_as([float(mean) for mean in point.means], len(point.scores.query_ids))


def _blank(job: BoundFigure, row: str, column: str, why: str | None = None) -> GridCell:
    what = f"{job.entry.panel(column).value} in {job.entry.over} {column.partition('/')[2]}"
    unlearned = why is not None and row in job.unlearned
    cell = GridCell(job.id, row, column, what, job.splits[row], not_run=why, not_learned=unlearned)
    return grids.with_reported(cell, job.entry)


def _why_not(job: BoundFigure, row: str, column: str) -> str:
    """Return why a reported number has no point: its series, its `change_from`, or its group."""
    for series in filter(None, (row, job.entry.panel(column).change_from)):
        if why := job.unlearned.get(series) or job.absent.get(series):
            return why if series == row else f"{series}: {why}"
    return f"no query is in the group {column.partition('/')[2]} of {job.entry.over}"

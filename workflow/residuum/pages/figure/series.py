"""The values of a figure's series that come from runs' metrics: over groups or snapshots.

Usage: `job = without_unlearned(bound, verdicts)`, then `of_runs(job, metrics, groups)`. To add an
axis, write a module beside `grouped` and `snapshots`, and a line here.
"""

from collections.abc import Mapping
from pathlib import Path

from residuum.pages import grids
from residuum.pages.figure import grouped, snapshots
from residuum.pages.figure.job import BoundFigure
from residuum.pages.figure.points import Point
from residuum.pages.parted import Parted
from residuum.tuning.learned import Learned


def without_unlearned(job: BoundFigure, verdicts: Mapping[str, Learned]) -> BoundFigure:
    """Return a figure without the series that have a model behind them that did not learn."""
    runs = {series: job.runs[series] for series in job.splits if series in job.runs}
    reasons = {
        series: grids.why_not_learned(job, own, job.splits[series], verdicts)
        for series, own in runs.items()
    }
    unlearned = {series: why for series, why in reasons.items() if why}
    kept = {part: own for part, own in job.runs.items() if part not in unlearned}
    return job.model_copy(update={"runs": kept, "unlearned": unlearned})


def of_runs(job: BoundFigure, metrics: Path, groups: Parted) -> list[Point]:
    """Return the points of a figure over groups or snapshots. `groups` are by split."""
    if job.entry.grouped:
        return grouped.measured(job, metrics, groups)
    return snapshots.measured(job, metrics)

"""A figure bound to one scale: where each series is measured, and which runs make it."""

import itertools
from collections.abc import Iterator

from pydantic import Field

from residuum.config.schema.sweeps import Sweep
from residuum.config.schema.tests import Tests
from residuum.config.specs import RunId
from residuum.pages.figure.entry import Figure, Panel, Series
from residuum.pages.jobs import First, Gap, Judged, RunName, SplitRef
from residuum.wiring.paths import below_metrics


class BoundFigure(Judged):
    """A figure: where each series is measured, which runs make it, and why others have none."""

    entry: Figure
    tests: Tests
    splits: dict[str, SplitRef | None]
    runs: dict[str, list[RunName]]  # of series, and as <panel>/than of what they are better than
    absent: dict[str, str] = Field(default={})  # series: why it has no runs
    unlearned: dict[str, str] = Field(default={})  # the same, once models are trained
    sweep: Sweep | None = None
    snapshots: dict[str, int] = Field(default={})  # series: how many, the finished model the last
    comparable: bool = False

    has_intervals = False

    def drawn(self) -> list[Series]:
        """Return the series that have runs, in the figure's order."""
        return [series for series in self.entry.series if self.runs.get(series.id)]

    def plotted(self) -> list[tuple[Panel, Series]]:
        """Return the lines that are drawn: each panel with those of its series that have runs."""
        pairs = itertools.product(self.entry.panels, self.drawn())
        return [(panel, one) for panel, one in pairs if one.id in (panel.series or [one.id])]

    def at_snapshots(self, series: str) -> dict[str, list[str]]:
        """Return the runs of a series at each snapshot, by its number; the last are finished."""
        runs, last = self.runs[series], self.snapshots[series]
        kept = {str(n): [str(RunId.parse(run).kept(n)) for run in runs] for n in range(1, last)}
        return {**kept, str(last): runs}

    def runs_of(self, row: str, column: str) -> list[str] | None:
        return self.runs.get(row)

    def runs_behind(self, row: str, column: str) -> tuple[list[str], list[str]]:
        panel = self.entry.panel(column)
        parts = [row, *filter(None, [panel.change_from, panel.than and f"{panel.id}/than"])]
        return [run for part in parts for run in self.runs.get(part, [])], self.runs.get(row, [])

    def grouping(self, column: str) -> str | None:
        return self.entry.over if self.entry.grouped else None

    def header(self, column: str) -> str:
        group = column.partition("/")[2]
        return f"{self.entry.panel(column).header} in {self.entry.over} {group}"

    def first(self) -> First | None:
        drawn = (First(series.id, series.label, self.tests) for series in self.drawn())
        return next(drawn, None)

    def gaps(self) -> Iterator[Gap]:
        for series, why in self.absent.items() if self.runs else ():
            yield Gap(why, series, self.splits[series] is None)

    def parts(self) -> Iterator[tuple[str, str]]:
        """Yield what metrics are read of: a series, or what a panel compares it with, where."""
        for panel, series in () if self.entry.of_curves else self.plotted():
            than = [f"{panel.id}/than"] if panel.than else []
            yield from ((part, str(self.splits[series.id])) for part in (series.id, *than))

    def metrics(self) -> list[str]:
        """Return the metrics files of a figure over groups or snapshots, each once, sorted."""
        return sorted({below_metrics(at, r) for part, at in self.parts() for r in self._read(part)})

    def _read(self, part: str) -> list[str]:
        """Return the runs of a part whose metrics are read, at all snapshots if it has some."""
        if part not in self.snapshots:
            return self.runs[part]
        return [run for runs in self.at_snapshots(part).values() for run in runs]

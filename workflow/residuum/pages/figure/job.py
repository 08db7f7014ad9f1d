"""A figure bound to one scale: the split and the runs of each series."""

import itertools
from collections.abc import Collection, Iterator

from pydantic import Field

from residuum.config.schema.sweeps import Sweep
from residuum.config.schema.tests import Tests
from residuum.config.specs import RunId
from residuum.pages.figure.entry import CUTOFF, QUERY, Figure, Panel, Series
from residuum.pages.jobs import Basis, First, Gap, Judged, RunName, SplitRef
from residuum.wiring.paths import below_metrics


class BoundFigure(Judged):
    """A bound figure: the split and the runs of each series, and why other series have no runs."""

    entry: Figure
    tests: Tests
    splits: dict[str, SplitRef | None]
    runs: dict[str, list[RunName]]  # by series, and by <panel>/than for a panel's `than`
    absent: dict[str, str] = Field(default={})  # series: why it has no runs
    unlearned: dict[str, str] = Field(default={})  # series: why its models did not learn
    sweep: Sweep | None = None
    snapshots: dict[str, int] = Field(default={})  # series: how many, with the finished model
    comparable: bool = False

    has_intervals = False

    def drawn(self) -> list[Series]:
        """Return the series that have runs, in the figure's order."""
        return [series for series in self.entry.series if self.runs.get(series.id)]

    def plotted(self) -> list[tuple[Panel, Series]]:
        """Return the lines to draw: each panel with each of its series that has runs."""
        pairs = itertools.product(self.entry.panels, self.drawn())
        return [(panel, one) for panel, one in pairs if one.id in (panel.series or [one.id])]

    def at_snapshots(self, series: str) -> dict[str, list[str]]:
        """Return the runs of a series by snapshot number; the last are of finished models."""
        runs, last = self.runs[series], self.snapshots[series]
        kept = {str(n): [str(RunId.parse(run).kept(n)) for run in runs] for n in range(1, last)}
        return {**kept, str(last): runs}

    def basis(self, series: str, column: str) -> Basis | None:
        """Return where values come from; recall asks dense parts by another panel's measure.

        No run's metrics hold the recall of a curve.
        """
        if (split_ref := self.splits[series]) is None:
            return None
        panels, at = [self.entry.panel(column), *self.entry.panels], column.partition("/")[2]
        shown = (self.entry.measure_at(panel, at) for panel in panels if panel.measure)
        # A rerank depth or a group has another ceiling than the measure.
        whole = self.entry.over in (CUTOFF, QUERY)
        runs = self.runs.get(series, [])
        return self.basis_of(runs, split_ref, next(shown, None), over=None, whole=whole)

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

    def first(self, measured: Collection[str]) -> First | None:
        kept = (series for series in self.drawn() if series.id in measured)
        return next((First(series.id, series.label, self.tests) for series in kept), None)

    def gaps(self) -> Iterator[Gap]:
        for series, why in self.absent.items() if self.runs else ():
            yield Gap(why, series, self.splits[series] is None)

    def parts(self) -> Iterator[tuple[str, str]]:
        """Yield the parts whose metrics are read (series, panels' `than`), each with its split."""
        for panel, series in () if self.entry.of_curves else self.plotted():
            than = [f"{panel.id}/than"] if panel.than else []
            yield from ((part, str(self.splits[series.id])) for part in (series.id, *than))

    def metrics(self) -> list[str]:
        """Return the metrics files that a figure without curves reads, sorted, no duplicates."""
        return sorted({below_metrics(at, r) for part, at in self.parts() for r in self._read(part)})

    def _read(self, part: str) -> list[str]:
        """Return the runs of a part whose metrics are read, at all snapshots of the part."""
        if part not in self.snapshots:
            return self.runs[part]
        return [run for runs in self.at_snapshots(part).values() for run in runs]

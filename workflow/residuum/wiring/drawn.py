"""Drawn pages bound to one scale: figures, circles, dimensions; the `--spec` of their stages.

Made by `residuum.wiring.figures` and `residuum.wiring.fidelities`. Must not know the registry, nor
files but metrics and measurements.
"""

import itertools
from collections.abc import Iterator

from pydantic import Field

from residuum.config.schema.figures import Dimensions, Figure, Lines, Panel, Series, Venn
from residuum.config.schema.papers import Tests
from residuum.config.schema.sweeps import Sweep
from residuum.config.specs import RunId
from residuum.wiring.bound import Bound, RunName, SplitRef
from residuum.wiring.paths import below_metrics


class BoundFigure(Bound):
    """A figure: where each series is measured, which runs make it, and why others have none."""

    figure: Figure
    tests: Tests
    places: dict[str, SplitRef | None]
    runs: dict[str, list[RunName]]  # of series, and as <panel>/than of what they are better than
    absent: dict[str, str] = Field(default={})  # series: why it has no runs
    unlearned: dict[str, str] = Field(default={})  # the same, once models are trained
    sweep: Sweep | None = None
    snapshots: dict[str, int] = Field(default={})  # series: how many, the finished model the last
    comparable: bool = False

    @property
    def table(self) -> Figure:
        """Return what the ledger judges."""
        return self.figure

    def drawn(self) -> list[Series]:
        """Return the series that have runs, in the figure's order."""
        return [series for series in self.figure.series if self.runs.get(series.id)]

    def plotted(self) -> list[tuple[Panel, Series]]:
        """Return the lines that are drawn: each panel with those of its series that have runs."""
        pairs = itertools.product(self.figure.panels, self.drawn())
        return [(panel, one) for panel, one in pairs if one.id in (panel.series or [one.id])]

    def at_snapshots(self, series: str) -> dict[str, list[str]]:
        """Return the runs of a series at each snapshot, by its number; the last are finished."""
        runs, last = self.runs[series], self.snapshots[series]
        kept = {str(n): [str(RunId.parse(run).kept(n)) for run in runs] for n in range(1, last)}
        return {**kept, str(last): runs}

    def runs_of(self, row: str, column: str) -> list[str] | None:
        return self.runs.get(row)

    def parts(self) -> Iterator[tuple[str, str]]:
        """Yield what metrics are read of: a series, or what a panel compares it with, where."""
        for panel, series in () if self.figure.of_curves else self.plotted():
            than = [f"{panel.id}/than"] if panel.than else []
            yield from ((part, str(self.places[series.id])) for part in (series.id, *than))

    def metrics(self) -> list[str]:
        """Return the metrics files of a figure over groups or snapshots, each once, sorted."""
        return sorted({below_metrics(at, r) for part, at in self.parts() for r in self._read(part)})

    def _read(self, part: str) -> list[str]:
        """Return the runs of a part whose metrics are read, at all snapshots if it has some."""
        if part not in self.snapshots:
            return self.runs[part]
        return [run for runs in self.at_snapshots(part).values() for run in runs]


class BoundVenn(Bound):
    """Circles: where hits are measured, which runs make both sides, and why others have none."""

    table: Venn
    place: SplitRef | None
    runs: dict[str, list[RunName]]  # <diagram>/dense, <diagram>/lexical
    absent: dict[str, str] = Field(default={})  # diagram: why it has no runs
    comparable: bool

    def runs_of(self, row: str, column: str) -> list[str] | None:
        sides = [self.runs.get(f"{row}/{side}") for side in ("dense", "lexical")]
        return [run for side in sides if side for run in side] if all(sides) else None

    def metrics(self) -> list[str]:
        """Return the metrics files of all sides, each once, sorted."""
        named = (run for runs in self.runs.values() for run in runs)
        return sorted({below_metrics(str(self.place), run) for run in named})


class BoundLines(Bound):
    """A table's numbers as lines, and the labels of its rows."""

    lines: Lines
    labels: list[tuple[str, str]]  # rows that are drawn, in their order, with their labels


class BoundDimensions(Bound):
    """Measurements of fidelity on one split, and why others are not made."""

    table: Dimensions
    place: SplitRef | None
    absent: dict[str, str] = Field(default={})  # row: why it is not measured
    comparable: bool

    def folders(self) -> dict[str, str]:
        """Return the folder of each row's measurement, below that of all of them."""
        rows = (row for row in self.table.rows if row.id not in self.absent)
        return {row.id: f"{self.place}/{row.fidelity}" for row in rows}

"""Figures of config/papers: a measure over depths, efforts, cutoffs, queries, groups, snapshots."""

import itertools
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from residuum.config import measures
from residuum.config.schema.base import Id, JudgedMeasure, Name, Ref, Role, Strict
from residuum.config.schema.tests import TestsId
from residuum.pages.cells import PrintedCell, PrintedText
from residuum.pages.entries import Delta, Reported

DEPTH, EFFORT, SNAPSHOT, CUTOFF, QUERY = "depth", "effort", "snapshot", "cutoff", "query"
SHOWS = {
    DEPTH: ("recall", "reranked"),
    EFFORT: ("recall", "measure"),
    SNAPSHOT: ("measure",),
    CUTOFF: ("measure",),
    QUERY: ("measure",),
}
COSTS = {DEPTH: "docs_reranked", EFFORT: "vectors_compared"}  # per query: columns of the data
SeriesId = Annotated[Id, Ref("series")]


class Series(Strict):
    """A line of a figure: a system, measured at each point of the axis."""

    id: Annotated[Id, Name("series")]
    label: str
    system: Annotated[Id, Ref("system")] = Field(
        description="over depth: a rerank system; over effort: a dense one that searches exactly"
    )
    role: Role | None = Field(None, description="where it is measured, if not where the figure is")


class Panel(Strict):
    """A plot of a figure.

    Over depths it shows the candidates' recall, or a measure after reranking. Over the efforts of
    an approximate search it shows the recall of the exact search's hits, or a measure. Over groups
    it shows a measure's mean, or the share of queries for which a series is better than a system.
    Over the snapshots of a training it shows a measure's mean. Over cutoffs it shows the measure at
    1, 2, 5, 10, 20, 50, ... docs, up to its own cutoff, such as that of `R@1000`. Over queries
    it shows each series against the first, with a point for each pair of values.
    """

    id: Annotated[Id, Name("panel")]
    shows: Literal["recall", "reranked", "measure", "better"]
    measure: JudgedMeasure | None = Field(None, description="ir_measures name; none for recall")
    than: Annotated[Id, Ref("system")] | None = Field(None, description="of better: the system")
    change_from: SeriesId | None = Field(None, description="shown is the change from this series")
    header: str = Field(description="the axis as the paper prints it")
    series: list[SeriesId] = Field([], description="series that are shown; none: all")

    def check(self) -> None:
        if (self.measure is None) != (self.shows == "recall"):
            raise ValueError("give measure for reranked, measure or better, and none for recall")
        if (self.than is None) == (self.shows == "better"):
            raise ValueError("give than for better, and only for it")

    @property
    def value(self) -> str:
        """Name the value that it shows of a series over groups."""
        text = f"{self.measure} above that of {self.than}" if self.than else str(self.measure)
        return f"change from {self.change_from} of {text}" if self.change_from else text


class Figure(Reported):
    """Series over rerank depths, efforts, snapshots of a training, cutoffs, queries or groups.

    A paired test compares the first series (the baseline) with each other series, at every point.
    Over queries there is one test of each.
    """

    kind: Literal["figure"]
    over: Annotated[Id, Ref("grouping", besides=(*SHOWS,))] = Field(
        DEPTH,
        description="depth, effort, snapshot, cutoff, query, or an entry of config/groupings",
    )
    sweep: Annotated[Id, Ref("sweep")] | None = Field(
        None, description="over effort: the search, an entry of config/sweeps"
    )
    groups: list[str] = Field([], description="groups that are shown; none: all")
    role: Role
    series: list[Series] = Field(min_length=1)
    panels: list[Panel] = Field(min_length=1)
    tests: TestsId = Field(description="an entry of config/tests that compares with_baselines")
    tolerance: dict[str, Delta] = Field({}, description="panel, or default: largest |delta|")
    reported: dict[SeriesId, dict[str, PrintedText]] = Field(
        {}, description="series id: <panel>/<group>: the number that the paper prints"
    )

    def check(self) -> None:
        shown = SHOWS.get(self.over, ("measure", "better"))
        if any(panel.shows not in shown for panel in self.panels):
            raise ValueError(f"over {self.over} panels show {' or '.join(shown)}")
        if (self.over == EFFORT) != (self.sweep is not None):
            raise ValueError("give sweep over effort, and over nothing else")
        if (self.of_curves or self.over == QUERY) and any(one.role for one in self.series):
            raise ValueError(f"over {self.over} a series has no role of its own")
        if self.over == QUERY and (len(self.series) < 2 or any(one.series for one in self.panels)):
            raise ValueError(f"over {self.over} there are two series or more; each panel shows all")
        if not self.grouped and (self.groups or self.reported):
            raise ValueError(f"over {self.over} there are no groups and no reported numbers")
        if not self.grouped and any(panel.change_from for panel in self.panels):
            raise ValueError(f"over {self.over} no change is shown: leave out change_from")
        uncut = [one for one in self.panels if self.over == CUTOFF and not self.cutoffs(one)]
        if uncut:
            text = f"panel {uncut[0].id}: {uncut[0].measure} has no cutoff; write such as R@1000"
            raise ValueError(f"over {self.over} a measure ends with the largest cutoff; {text}")
        known = [panel.id for panel in self.panels]
        for _, column, cell in self.cells():
            panel, _, group = column.partition("/")
            if panel not in known or not group or cell.beats or cell.below:
                text = f"reported: write <panel>/<group> with a panel of {', '.join(known)}"
                raise ValueError(f"{text}, and a number alone; found {column}")

    @property
    def of_curves(self) -> bool:
        """Say whether its values come from curves over depths or efforts, not from runs' metrics.

        Curves begin at 0: the first stage alone, or the exact search.
        """
        return self.over in (DEPTH, EFFORT)

    def panel(self, column: str) -> Panel:
        """Return the panel of a column, <panel>/<group or depth>."""
        return next(panel for panel in self.panels if panel.id == column.partition("/")[0])

    @staticmethod
    def cutoffs(panel: Panel) -> list[int]:
        """Return 1, 2, 5, 10, ... up to the cutoff of a panel's measure, or [] without a cutoff."""
        digits = str(panel.measure).rpartition("@")[2]
        if not digits.isdecimal():
            return []
        steps = (step * 10**power for power in range(len(digits)) for step in (1, 2, 5))
        return [*(step for step in steps if step < int(digits)), int(digits)]

    def measure_at(self, panel: Panel, at: str) -> str:
        """Return the measure that a panel shows at a point."""
        measure = str(panel.measure)
        return measures.at(measure, at) if self.over == CUTOFF else measure

    @property
    def judged(self) -> bool:
        return bool(self.reported)

    @property
    def grouped(self) -> bool:
        """Say whether it is over groups of queries."""
        return self.over not in SHOWS

    def labels(self) -> dict[str, str]:
        return {series.id: series.label for series in self.series}

    def tolerated(self, column: str, printed: PrintedCell) -> float:
        return super().tolerated(column.partition("/")[0], printed)

    def systems(self) -> dict[str, str]:
        than = {f"{panel.id}/than": panel.than for panel in self.panels if panel.than}
        return {series.id: series.system for series in self.series} | than

    def roles(self) -> list[str]:
        """Return the roles of the splits that its series are measured on."""
        return list(dict.fromkeys(series.role or self.role for series in self.series))

    def grouped_by(self) -> Iterator[tuple[str, str]]:
        return ((self.over, role) for role in self.roles() if self.grouped)

    def measured(self) -> Iterator[tuple[str, str]]:
        for panel in [] if self.of_curves else self.panels:
            cutoffs = self.cutoffs(panel) if self.over == CUTOFF else []
            shown = [measures.at(str(panel.measure), at) for at in cutoffs]
            yield from itertools.product(self.roles(), shown or [str(panel.measure)])

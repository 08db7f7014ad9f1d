"""Circles bound to one scale: the split, and the runs of both parts of each diagram."""

from collections.abc import Iterator

from pydantic import Field

from residuum.pages.jobs import Gap, Judged, RunName, SplitRef
from residuum.pages.venn.entry import Venn
from residuum.wiring.paths import below_metrics


class BoundVenn(Judged):
    """Bound circles: the split, the runs of both parts of each diagram, and missing runs."""

    entry: Venn
    split: SplitRef | None
    runs: dict[str, list[RunName]]  # <diagram>/dense, <diagram>/lexical
    absent: dict[str, str] = Field(default={})  # diagram: why it has no runs

    def runs_of(self, row: str, column: str) -> list[str] | None:
        sides = [self.runs.get(f"{row}/{side}") for side in ("dense", "lexical")]
        return [run for side in sides if side for run in side] if all(sides) else None

    def runs_behind(self, row: str, column: str) -> tuple[list[str], list[str]]:
        sides = self.runs_of(row, column) or []
        return sides, sides

    def gaps(self) -> Iterator[Gap]:
        for diagram, why in self.absent.items():
            yield Gap(why, diagram, self.split is None)

    def metrics(self) -> list[str]:
        """Return the metrics files of all parts, sorted and without duplicates."""
        named = (run for runs in self.runs.values() for run in runs)
        return sorted({below_metrics(str(self.split), run) for run in named})

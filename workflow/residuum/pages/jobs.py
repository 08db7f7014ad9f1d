"""What every page bound to one scale says: the `--spec` of the stage that makes it."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from residuum.config.schema.analyses import IndexStatistics
from residuum.config.schema.base import Id, Strict, dangling, repeated
from residuum.config.schema.tests import Tests
from residuum.config.specs import OrderId
from residuum.pages.cells import PrintedCell
from residuum.pages.entries import Printed, Reported

# Parts of paths, so that a foreign manifest's lead nowhere else.
SplitRef = Annotated[str, Field(pattern=r"^[a-z0-9_-]+/[a-z0-9_-]+$")]
RunName = Annotated[str, Field(pattern=r"^[a-z0-9@_-]+(\.[a-z0-9@_-]+)*$")]


def kind_of(spec: Mapping[str, Any]) -> str:
    """Return the kind of a bound page, given its JSON; nothing of what is none."""
    entry = spec.get("entry")
    return str(entry.get("kind", "")) if isinstance(entry, Mapping) else ""


class Gap(NamedTuple):
    """A part of a page that has no value at this scale: why, and which row, column or series.

    `unbound` says that the scale leaves the role empty, so that nothing is amiss.
    """

    why: str
    part: str
    unbound: bool


class First(NamedTuple):
    """The series of a page with which all others are compared, and how they are tested."""

    id: str
    label: str
    tests: Tests


class Bound(Strict):
    """What every bound page says: its id, the scale, why its numbers compare, residual splits."""

    entry: Printed
    id: str
    scale: Id
    reason: str
    residual: dict[SplitRef, list[SplitRef]] = Field(default={})  # split: what was judged before
    by_folds: dict[str, list[str]] = Field(
        default={}, description="model: folds, for each of which it is trained on the others"
    )
    models: dict[str, dict[str, list[str]]] = Field(
        default={},
        description="dataset: run: models behind it that are judged, whether they learned",
    )

    def check(self) -> None:
        """Refuse a page that names a part twice, or one that is not there, as config/ does.

        A foreign manifest may.
        """
        for key, fault in chain(repeated(self.entry), dangling(self.entry)):
            raise ValueError(f"{key}: {fault}")

    def models_of(self, runs: Iterable[str], place: str | None) -> list[str]:
        """Return the models behind runs on a split, each once, as `<model>/seed<n>`."""
        of = self.models.get(str(place).partition("/")[0], {})
        return list(
            dict.fromkeys(name for run in runs for name in of.get(OrderId.parse(run).run, []))
        )

    def gaps(self) -> Iterator[Gap]:
        """Yield the parts of the page that have no value at this scale."""
        yield from ()


class Judged(Bound):
    """A bound page with numbers that the paper printed, which the ledger judges."""

    entry: Reported
    comparable: bool

    has_intervals: ClassVar[bool] = True  # of its numbers, not of differences

    def runs_of(self, row: str, column: str) -> list[str] | None:
        """Return the runs that a cell's number is of, none where they are counted of a split.

        None of a row that has no runs at this scale.
        """
        return []

    def runs_behind(self, row: str, column: str) -> tuple[list[str], list[str]]:
        """Return the runs that a number was read from, and those whose models must have learned."""
        return [], []

    def measured_in(self, row: str, column: str, quantity: str) -> str | None:
        """Return how the path ends of what a number is counted of; None of one of runs."""
        return None

    def grouping(self, column: str) -> str | None:
        """Return the grouping of queries that a number is of, if it is of a group."""
        return None

    def header(self, column: str) -> str:
        """Return what a column is called on its page."""
        return column

    def change_from(self, row: str, column: str) -> str | None:
        """Return the row that a number is a change from."""
        return None

    def first(self) -> First | None:
        """Return the series with which all others are compared, if there is one."""
        return None

    def between_rows(self) -> Tests | None:
        """Return how rows are compared with one another in each column; None if they are not."""
        return None

    def stated_index(self) -> IndexStatistics | None:
        """Return what the paper says that its index counts."""
        return None

    def marked(self, row: str, column: str, printed: PrintedCell) -> Iterator[tuple[str, str]]:
        """Yield (other row, claim) for each marker or tick of a printed cell."""
        yield from ()

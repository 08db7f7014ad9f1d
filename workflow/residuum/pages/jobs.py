"""The base of pages bound to one scale: the `--spec` of the stages that make pages."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field

from residuum.cli.errors import unknown
from residuum.config.schema.analyses import IndexStatistics
from residuum.config.schema.base import Id, Strict, dangling, repeated, walk
from residuum.config.schema.tests import Tests
from residuum.config.specs import OrderId
from residuum.pages.cells import PrintedCell
from residuum.pages.entries import Printed, Reported

# They become parts of paths. The patterns keep a foreign manifest's paths in the results folder.
SplitRef = Annotated[str, Field(pattern=r"^[a-z0-9_-]+/[a-z0-9_-]+$")]
RunName = Annotated[str, Field(pattern=r"^[a-z0-9@_-]+(\.[a-z0-9@_-]+)*$")]


def kind_of(spec: Mapping[str, object]) -> str:
    """Return the kind of a bound page from its JSON; "" for other specs."""
    entry = spec.get("entry")
    return str(entry.get("kind", "")) if isinstance(entry, Mapping) else ""


class Gap(NamedTuple):
    """A row, column or series of a page without a value at this scale, and the reason.

    `unbound` says that the scale binds no split to the role. This is no fault.
    """

    why: str
    part: str
    unbound: bool


class Basis(NamedTuple):
    """Where the values of a row in a column come from, to say what the data could have shown.

    `alone` holds the runs of each dense part behind it, whose values of `measure` are compared with
    chance. Without a measure nothing is asked of chance.
    `over` names candidates in place of the corpus. `models` are the trained models behind it, as
    `<model>/seed<n>`. `whole` says that the values are the measure's own, of all queries, so that
    the ceiling of the measure is theirs.
    """

    split_ref: str
    measure: str | None
    over: str | None
    alone: tuple[tuple[str, ...], ...]
    models: tuple[str, ...]
    whole: bool


class Trained(Strict):
    """What is trained behind a run: the runs of its dense parts, and models as <model>/seed<n>."""

    dense: list[RunName] = Field(default=[])
    models: list[str]


class First(NamedTuple):
    """The series of a page that all other series are compared with, and the tests."""

    id: str
    label: str
    tests: Tests


class Bound(Strict):
    """The keys of every bound page: its id, its scale, why its numbers compare, residual splits."""

    entry: Printed
    id: str
    scale: Id
    reason: str
    residual: dict[SplitRef, list[SplitRef]] = Field(default={})  # split: rounds, or itself
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
        names = list(walk(self.entry))
        for key, fault in repeated(names):
            raise ValueError(f"{key}: {fault}")
        for lost in dangling(names):
            raise ValueError(f"{lost.key}: {unknown(lost.kind, lost.name, lost.known)}")

    def models_of(self, runs: Iterable[str], split_ref: str | None) -> list[str]:
        """Return the models behind runs on a split as `<model>/seed<n>`, without duplicates."""
        models = self.models.get(str(split_ref).partition("/")[0], {})
        named = (name for run in runs for name in models.get(OrderId.parse(run).run, []))
        return list(dict.fromkeys(named))

    def gaps(self) -> Iterator[Gap]:
        """Yield the parts of the page that have no value at this scale."""
        yield from ()


class Search(NamedTuple):
    """What a number of one search is called: its system, unlike all others, and its measure."""

    label: str
    header: str


class Judged(Bound):
    """A bound page with numbers that the paper prints and the ledger judges."""

    entry: Reported
    comparable: bool
    but: dict[str, str] = Field(
        default={}, description="row, column or panel whose numbers do not compare: why"
    )

    trained_runs: dict[SplitRef, dict[str, Trained]] = Field(
        default={}, description="split: run with a trained model behind it: what is trained"
    )

    has_intervals: ClassVar[bool] = True  # whether its numbers, not differences, have intervals

    def not_comparable(self, row: str, column: str) -> str | None:
        """Return why a number does not compare with the paper's, or None if it does."""
        if not self.comparable:
            return self.reason
        parts = (row, column, column.partition("/")[0])
        return next((self.but[part] for part in parts if part in self.but), None)

    def runs_of(self, row: str, column: str) -> list[str] | None:
        """Return the runs behind a cell's number; [] if the number is counted from a split.

        None for a row without runs at this scale.
        """
        return []

    def runs_behind(self, row: str, column: str) -> tuple[list[str], list[str]]:
        """Return the runs that a number is read from, and those whose models must have learned."""
        return [], []

    def measured_in(self, row: str, column: str, quantity: str) -> str | None:
        """Return the end of the path of a counted artefact; None for numbers measured on runs."""
        return None

    def basis(self, row: str, column: str) -> Basis | None:
        """Return where the values of a row in a column come from; None if nothing is measured."""
        return None

    def basis_of(
        self,
        runs: Sequence[str],
        split_ref: str,
        measure: str | None,
        over: str | None,
        whole: bool,
    ) -> Basis:
        """Return where the values of runs on a split come from."""
        known = self.trained_runs.get(split_ref, {})
        trained = [known[name] for run in runs if (name := OrderId.parse(run).run) in known]
        parts = zip(*(one.dense for one in trained), strict=True)
        alone = tuple(tuple(dict.fromkeys(part)) for part in parts)
        if over is not None:
            alone = (tuple(runs),) if trained else ()
        models = dict.fromkeys(model for one in trained for model in one.models)
        return Basis(split_ref, measure, over, alone, tuple(models), whole)

    def grouping(self, column: str) -> str | None:
        """Return the grouping of a column that shows a group of queries, or None."""
        return None

    def header(self, column: str) -> str:
        """Return the header of a column on its page."""
        return column

    def of_one_search(self, row: str, column: str) -> Search | None:
        """Return what a number is called that is measured on one search alone, else None."""
        return None

    def change_from(self, row: str, column: str) -> str | None:
        """Return the row that a number is a change from, or None."""
        return None

    def first(self, measured: Collection[str]) -> First | None:
        """Return the series that all other series are compared with, or None.

        `measured` names the rows or series with numbers: one whose model did not learn has none.
        """
        return None

    def between_rows(self) -> Tests | None:
        """Return the tests between rows of a column, or None if rows are not compared."""
        return None

    def stated_index(self) -> IndexStatistics | None:
        """Return the counts that the paper states of its index, or None."""
        return None

    def marked(self, row: str, column: str, printed: PrintedCell) -> Iterator[tuple[str, str]]:
        """Yield (other row, claim) for each marker or tick of a printed cell."""
        yield from ()

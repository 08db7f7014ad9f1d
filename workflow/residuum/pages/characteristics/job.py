"""A table of characteristics bound to one scale: the `--spec` of the stage that counts."""

from collections.abc import Iterator

from pydantic import Field

from residuum.cli.errors import not_bound
from residuum.pages.characteristics.entry import Characteristics
from residuum.pages.entries import QuerySet
from residuum.pages.jobs import Gap, Judged, SplitRef

OF_CORPUS = ("docs", "doc_words")
TRAINED, PAIRS = "train_queries", "train_pairs"
NOT_TRAINED = "its collection names no training split (own.train)"
BY_FOLDS = "models are trained on it by folds, whose pairs are not counted"


class BoundCharacteristics(Judged):
    """A bound table of dataset characteristics, and the splits that it counts."""

    entry: Characteristics
    splits: dict[str, SplitRef | None]
    absent: dict[str, str] = Field(default={})  # column id: why
    trained: dict[str, SplitRef] = Field(default={})  # column id: its collection's training split
    folds: dict[str, int] = Field(default={})  # column id: the number of folds of its split

    def not_counted(self, column: QuerySet, quantity: str = "") -> str | None:
        """Return why a split, or a quantity of it, is not counted at this scale; or None."""
        if self.splits[column.id] is None:
            return not_bound(self.scale, column.role)
        of_folds = self.folds if quantity == TRAINED else {}
        if quantity in (TRAINED, PAIRS) and column.id not in {**self.trained, **of_folds}:
            why = BY_FOLDS if column.id in self.folds else NOT_TRAINED
            return self.absent.get(column.id, f"{self.splits[column.id]}: {why}")
        return self.absent.get(column.id)

    def header(self, column: str) -> str:
        return next(shown.header for shown in self.entry.columns if shown.id == column)

    def gaps(self) -> Iterator[Gap]:
        for column in self.entry.columns:
            if why := self.not_counted(column):
                yield Gap(why, column.id, self.splits[column.id] is None)

    def measured_in(self, row: str, column: str, quantity: str) -> str | None:
        """Return where a quantity is counted: `<dataset>/<split>` or `<dataset>/corpus`."""
        split_ref = self.splits[column]
        if quantity in OF_CORPUS:
            return f"{str(split_ref).partition('/')[0]}/corpus"
        of_training = quantity in (TRAINED, PAIRS)
        return self.trained.get(column, split_ref) if of_training else split_ref

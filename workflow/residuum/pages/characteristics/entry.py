"""Tables of dataset characteristics of config/papers."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Id, Name, Strict
from residuum.pages.entries import QuerySet, Reported


class Characteristic(Strict):
    """A row of dataset characteristics.

    `queries`, `relevant_per_query` and `grades` (2 if binary) count judged queries. `test_queries`
    and `query_words` count all queries. `train_queries` and `train_pairs` (of a query and a
    relevant doc) count the collection's training split. With folds, one fold is for testing and the
    others are for training, and pairs are not counted. Words are separated by white space.
    """

    id: Annotated[Id, Name("row")]
    label: str
    quantity: Literal[
        "queries",
        "relevant_per_query",
        "grades",
        "train_queries",
        "train_pairs",
        "test_queries",
        "query_words",
        "docs",
        "doc_words",
    ]


class Characteristics(Reported):
    """A table of dataset characteristics: counts of query sets and collections."""

    kind: Literal["characteristics"]
    columns: list[QuerySet] = Field(min_length=1)
    rows: list[Characteristic] = Field(min_length=1)

    def labels(self) -> dict[str, str]:
        return {row.id: row.label for row in self.rows}

    def asks(self, *quantities: str) -> bool:
        """Say whether a row shows one of these quantities."""
        return any(row.quantity in quantities for row in self.rows)

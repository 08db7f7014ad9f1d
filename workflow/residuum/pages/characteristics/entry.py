"""A table of config/papers that counts query sets and collections."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Id, Name, Strict
from residuum.pages.entries import QuerySet, Reported


class Characteristic(Strict):
    """A row of dataset characteristics.

    queries, relevant_per_query and grades (2 if binary) are of judged queries, test_queries and
    query_words of all; train_queries, and train_pairs of a query and a relevant doc, are of the
    collection's training split. Of folds one is for testing and all others are for training; pairs
    are not counted. Words lie between white space.
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
    """What query sets and collections are like."""

    kind: Literal["characteristics"]
    columns: list[QuerySet] = Field(min_length=1)
    rows: list[Characteristic] = Field(min_length=1)

    def asks(self, *quantities: str) -> bool:
        """Say whether a row shows one of some quantities."""
        return any(row.quantity in quantities for row in self.rows)

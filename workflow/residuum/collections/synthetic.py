"""The generated collections by the kind of their source.

Usage: `docs(collection)`, `split(collection, name)`. Must not know how they are made.
"""

from collections.abc import Callable, Iterator

from residuum.cli.errors import ResiduumError
from residuum.code.tables import OpenTable
from residuum.collections.irds import Qrels, Queries
from residuum.collections.worlds import Collection as Generated
from residuum.config.schema.datasets import Collection

MAKERS: OpenTable[Callable[..., Generated]] = OpenTable(
    {
        "generated": "residuum.collections.places:generate",
        "generated-articles": "residuum.collections.articles:generate",
    },
    "source",
)


def generate(collection: Collection) -> Generated:
    """Return docs, queries and qrels by split; docs/generated-collection.md describes them."""
    try:
        return MAKERS[collection.source.kind](collection.source)
    except ValueError as error:
        raise ResiduumError(f"source: {error}") from None


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Stream (doc_id, fields)."""
    return iter(generate(collection).docs)


def split(collection: Collection, name: str) -> tuple[Queries, Qrels]:
    """Return the queries and qrels of a split."""
    generated = generate(collection)
    return generated.queries[name], generated.qrels[name]

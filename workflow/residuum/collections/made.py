"""The generated collections by the kind of their source.

Usage: `made.generate(collection).docs`. Must not know how they are made.
"""

from typing import Any

from residuum.core.errors import ResiduumError
from residuum.core.schema import Collection, GeneratedArticles, GeneratedSource


def generate(collection: Collection) -> Any:
    """Return docs, queries and qrels, by split; docs/generated-collection.md tells of them."""
    from residuum.collections import articles, generated

    source = collection.source
    assert isinstance(source, GeneratedSource | GeneratedArticles)
    make: Any = generated if isinstance(source, GeneratedSource) else articles
    try:
        return make.generate(source)
    except ValueError as error:
        raise ResiduumError(f"source: {error}") from None

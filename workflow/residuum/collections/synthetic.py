"""The generated collections by the kind of their source.

Usage: `generate(collection).docs`. Must not know how they are made.
"""

from residuum.collections.worlds import Collection as Generated
from residuum.core.errors import ResiduumError
from residuum.core.schema import Collection, GeneratedArticles, GeneratedSource


def generate(collection: Collection) -> Generated:
    """Return docs, queries and qrels by split; docs/generated-collection.md describes them."""
    source = collection.source
    assert isinstance(source, GeneratedSource | GeneratedArticles)
    try:
        if isinstance(source, GeneratedSource):
            from residuum.collections import places

            return places.generate(source)
        from residuum.collections import articles

        return articles.generate(source)
    except ValueError as error:
        raise ResiduumError(f"source: {error}") from None

"""The key `search` of a dense system: the approximate search for a query's nearest vectors.

Kinds are an open table: `Kinds` names the table, and the classes are beside their code.
"""

from typing import ClassVar

from residuum.config.schema.base import Strict


class Search(Strict):
    """Base of approximate searches; an entry of residuum.vectors.approximate.SEARCHES."""

    effort: ClassVar[str] = ""  # the setting that may change without a new index
    kind: str

    @property
    def centres(self) -> int:
        """The vectors that an index compares with a query at every effort: centres of lists."""
        return 0

    @property
    def named(self) -> str:
        """The name of the search in paths of hits: its kind and all its settings."""
        settings = self.model_dump(mode="json", exclude={"kind"}).values()
        return "-".join([self.kind, *(str(value) for value in settings if value is not None)])

"""The key `search` of a dense system: how the vectors nearest to a query are looked for.

Kinds are open: their classes stand in the table that `Kinds` names, beside their code. Must not
know how any of them searches.
"""

from typing import ClassVar

from residuum.config.schema.base import Strict


class Search(Strict):
    """Base of approximate searches; an entry of residuum.vectors.approximate.SEARCHES."""

    effort: ClassVar[str] = ""  # the setting that may change without building anew
    kind: str

    @property
    def named(self) -> str:
        """What tells its hits from those of other searches, in a path: all its settings."""
        settings = self.model_dump(mode="json", exclude={"kind"}).values()
        return "-".join([self.kind, *(str(value) for value in settings if value is not None)])

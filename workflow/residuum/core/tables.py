"""Open tables: kinds as entries, each imported when it is used and not before.

Usage: `LOSSES: OpenTable[Loss] = OpenTable({"nll": "residuum.neural.losses:nll"}, "loss")`, then
`LOSSES[form.kind]`. A new kind is a new entry. The keys are the `kind` of specs and nothing else:
residuum.core.code counts an entry for the jobs whose specs name it. Must not know any table.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TypeVar, cast

from residuum.core.errors import ResiduumError, unknown

T = TypeVar("T")


class OpenTable(Mapping[str, T]):
    """A mapping from kinds to what stands at `module:name`; `what` is the word for an entry."""

    def __init__(self, entries: Mapping[str, str], what: str = "kind") -> None:
        self.entries, self.what = dict(entries), what

    def __getitem__(self, kind: str) -> T:
        """Import and return an entry; a kind without one is an error with the closest known."""
        if kind not in self.entries:
            raise ResiduumError(unknown(self.what, kind, self.entries))
        module, _, name = self.entries[kind].partition(":")
        return cast(T, getattr(import_module(module), name))

    def __contains__(self, kind: object) -> bool:
        """Say whether a kind has an entry, without importing it."""
        return kind in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

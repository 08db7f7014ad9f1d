"""Wildcard constraints: regular expressions of the ids that a scale has.

Usage: `Constraints(registry).runs("dense")`. Must not know rules or paths.
"""

from collections.abc import Iterable

from residuum.config.registry import Registry
from residuum.config.schema.systems import LexicalSystem
from residuum.config.specs import SEED


def either(names: Iterable[str]) -> str:
    """Return the expression that matches one of the names, and nothing if there is none."""
    return "|".join(names) or "(?!)"


class Constraints:
    """What the wildcards of rules may be."""

    run = rf"[a-z0-9_-]+({SEED})?"  # of any system, seeded or not

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.dataset, self.model = either(registry.datasets), either(registry.models)
        self.system, self.page = either(registry.systems), either(registry.pages)

    def models(self, kind: str) -> str:
        """Return the expression of the models of a kind."""
        return either(self._registry.of_kind(kind))

    def pages(self, kind: str) -> str:
        """Return the expression of the chosen papers' pages of a kind."""
        return either(self._registry.chosen(kind))

    def runs(self, kind: str, tunes_rm3: bool | None = None) -> str:
        """Return that of the runs of a kind of system: all, or those that tune RM3, or not."""
        registry = self._registry
        names = registry.of_kind(kind)
        if tunes_rm3 is not None:
            systems = {name: registry.system(name, LexicalSystem) for name in names}
            names = [n for n, s in systems.items() if s.tunes_rm3 == tunes_rm3]
        return either(name + SEED * registry.seeded(name) for name in names)

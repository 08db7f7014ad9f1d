"""Wildcard constraints: regular expressions of the ids that a scale has.

Usage: `Constraints(registry).runs("dense")`. Must not know rules or paths.
"""

from collections.abc import Iterable

from residuum.core.registry import Registry
from residuum.core.schema.systems import LexicalSystem
from residuum.wiring.run_ids import SEED

RUN = rf"[a-z0-9_-]+({SEED})?"  # of any system, seeded or not


def either(names: Iterable[str]) -> str:
    """Return the expression that matches one of the names, and nothing if there is none."""
    return "|".join(names) or "(?!)"


class Constraints:
    """What the wildcards of rules may be."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.dataset = either(registry.datasets)
        self.model = either(registry.models)
        self.system = either(registry.systems)
        self.page = either(registry.pages)
        self.run = RUN

    def models(self, kind: str) -> str:
        """Return the expression of the models of a kind."""
        return either(self._registry.models_of(kind))

    def pages(self, kind: str) -> str:
        """Return the expression of the chosen papers' pages of a kind."""
        return either(self._registry.chosen(kind))

    def runs(self, kind: str, swept: bool | None = None) -> str:
        """Return the expression of the runs of all systems of a kind.

        `swept` keeps those with, or without, an RM3 sweep.
        """
        names = self._registry.of_kind(kind)
        if swept is not None:
            systems = {name: self._registry.system(name, LexicalSystem) for name in names}
            names = [n for n, s in systems.items() if (s.rm3_sweep is not None) == swept]
        return either(name + SEED * self._registry.seeded(name) for name in names)

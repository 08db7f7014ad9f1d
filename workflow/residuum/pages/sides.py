"""Runs that are read together: the parts of a fusion, and the runs of systems for common seeds."""

from collections.abc import Sequence

from residuum.cli.errors import not_bound
from residuum.config.registry import Registry
from residuum.config.schema.models import LexicalVectors
from residuum.config.schema.systems import DenseSystem, ExternalSystem, LexicalSystem, Side
from residuum.wiring.availability import Hub, why_unavailable

OTHER: dict[Side, Side] = {"dense": "lexical", "lexical": "dense"}


def dense_and_lexical(registry: Registry, system: str) -> tuple[str, str] | None:
    """Return the dense part D and the lexical part S of a sum of two; None for other systems.

    An external run that does not say what it plays is what the other part is not.
    """
    parts = registry.parts(system)
    if len(parts) != 2:
        return None
    one, two = (_side(registry, part) for part in parts)
    sides = one or _left(registry, parts[0], two), two or _left(registry, parts[1], one)
    played = dict(zip(sides, parts, strict=True))
    return (played["dense"], played["lexical"]) if played.keys() == {*OTHER} else None


def _left(registry: Registry, system: str, beside: Side | None) -> Side | None:
    """Return what is left for an external run beside another part; None for other systems."""
    external = isinstance(registry.systems[system], ExternalSystem)
    return OTHER[beside] if external and beside else None


def _side(registry: Registry, system: str) -> Side | None:
    """Return what a system is in a sum; BM25 as vectors is lexical."""
    entry = registry.systems[system]
    if isinstance(entry, DenseSystem):
        lexical = isinstance(registry.models.get(entry.model), LexicalVectors)
        return "lexical" if lexical else "dense"
    if isinstance(entry, LexicalSystem):
        return "lexical"
    return entry.plays if isinstance(entry, ExternalSystem) else None


def paired_runs(registry: Registry, systems: Sequence[str]) -> list[list[str]]:
    """Return the runs of each system, for the seeds that all systems share."""
    seeds = _common_seeds(registry, systems)
    return [list(dict.fromkeys(registry.run(system, seed) for seed in seeds)) for system in systems]


def apart(registry: Registry, systems: Sequence[str]) -> str | None:
    """Return why systems cannot be paired seed by seed, or None."""
    names = ", ".join(dict.fromkeys(systems))
    return None if _common_seeds(registry, systems) else f"no seed in common: {names}"


def _common_seeds(registry: Registry, systems: Sequence[str]) -> list[int]:
    """Return the seeds that all seeded systems share; without any, the first system's seeds."""
    trained = [name for name in systems if registry.seeded(name)] or [systems[0]]
    first, *others = map(registry.seeds_of, trained)
    return [seed for seed in first if all(seed in seeds for seeds in others)]


def why_no_run(registry: Registry, role: str, systems: list[str], hub: Hub) -> str | None:
    """Return why a system has no run for a role, or None if all systems have runs."""
    if (split_id := registry.binding(role)) is None:
        return not_bound(registry.config.scale, role)
    reasons = (why_unavailable(registry, system, split_id, hub) for system in systems)
    return next(filter(None, reasons), None)

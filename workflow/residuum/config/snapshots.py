"""How many models the training behind a system keeps, and faults of figures over such snapshots.

Usage: `snapshots_of(registry, "dpr-ei")`; `snapshot_faults(registry, figure)` yields key and fault.
Must not know how a model is trained.
"""

from collections.abc import Iterator

from residuum.config.registry import Registry
from residuum.config.schema.figures import SNAPSHOT, Figure
from residuum.config.schema.models import DualEncoder

Fault = tuple[str, str]  # key, what is wrong


def snapshots_of(registry: Registry, system: str) -> int | None:
    """Return how many snapshots a system has: as many as all trainings behind it keep.

    None of one without: where a training keeps none, or others keep other numbers, and of what is
    no dense system and no fusion, since term weights and rerankers have finished models alone.
    """
    if any(registry.systems[name].kind == "rerank" for name in registry.made_from(system)):
        return None
    models = [registry.models.get(name) for name in registry.trained_behind(system)]
    counts = {m.training.snapshots if isinstance(m, DualEncoder) else None for m in models}
    return counts.pop() if len(counts) == 1 else None


def snapshot_faults(registry: Registry, figure: Figure) -> Iterator[Fault]:
    """Yield the series over snapshots whose systems have none."""
    players = registry.players(figure) if figure.over == SNAPSHOT else {}
    for series, system in players.items():
        if system in registry.systems and snapshots_of(registry, system) is None:
            behind = ", ".join(registry.trained_behind(system)) or "no model"
            have = "dense systems and fusions have some whose trainings keep them"
            text = f"'{system}' has no snapshots (behind it: {behind}); {have} (training.snapshots)"
            yield f"series.{series}.system", text

"""How many models the training behind a system keeps. Usage: `snapshots_of(registry, "dpr-ei")`."""

from residuum.config.registry import Registry
from residuum.config.schema.models import DualEncoder


def snapshots_of(registry: Registry, system: str) -> int | None:
    """Return the number of snapshots that all trainings behind a system keep.

    None if a training keeps no snapshots, or trainings keep different numbers. None also for
    rerankers and term weights, which use finished models only.
    """
    if any(registry.systems[name].kind == "rerank" for name in registry.made_from(system)):
        return None
    models = [registry.models.get(name) for name in registry.trained_behind(system)]
    counts = {m.training.snapshots if isinstance(m, DualEncoder) else None for m in models}
    return counts.pop() if len(counts) == 1 else None

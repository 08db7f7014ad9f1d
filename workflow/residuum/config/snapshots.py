"""How many models the training behind a system keeps. Usage: `snapshots_of(registry, "dpr-ei")`."""

from residuum.config.registry import Registry
from residuum.config.schema.models import DualEncoder


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

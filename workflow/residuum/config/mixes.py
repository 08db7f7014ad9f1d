"""Faults of models that are trained on a mix: the splits that a scale has play its roles."""

from collections.abc import Iterator

from residuum.config.registry import Registry
from residuum.config.schema.pairs import Pairs


def mix_faults(registry: Registry, model: Pairs) -> Iterator[tuple[str, str]]:
    """Yield the key and the fault of roles that are of two collections, or of one split.

    Docs of a batch are all negatives of its queries, so that they are of one corpus. A role that
    the scale leaves unbound is no fault.
    """
    bound = {role: split_id for role in model.shares if (split_id := registry.binding(role))}
    named = ", ".join(f"{role} is {'/'.join(split_id)}" for role, split_id in bound.items())
    cure = f"bind them to splits of one, each to its own: {registry.scale_file}: roles"
    if len({split_id.dataset for split_id in bound.values()}) > 1:
        yield "train_on", f"a mix is of one collection, but {named}; {cure}"
    elif len({*bound.values()}) < len(bound):
        yield "train_on", f"a mix has a split once, but {named}; {cure}"

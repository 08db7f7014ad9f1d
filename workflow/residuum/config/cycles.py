"""Datasets, models and systems that, at the chosen scale, would be made from themselves.

Usage: `cycles(registry)` yields a fault for each.
"""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from residuum.config.bindings import SplitId
from residuum.config.registry import Registry
from residuum.config.schema.base import OWN, named_for, references
from residuum.config.schema.models import OnPairs
from residuum.config.schema.scales import FromModel


def cycles(registry: Registry) -> Iterator[str]:
    """Yield datasets, models and systems that, at this scale, would be made from themselves."""
    behind = {name: registry.mined_models(name) for name in registry.models}
    for name, model in registry.models.items():
        roles = [role for _, role in references(model, "backbone")]
        starts = [start for role in roles for start in registry.scale.starts(role)]
        behind[name] += [start.model for start in starts if isinstance(start, FromModel)]
        behind[name] += filter(None, [named_for(model, "gate")])
        behind[name] += _writers(registry, name)
    parts = {name: registry.parts(name) for name in registry.systems}
    sources = {name: _sources(registry, name) for name in registry.datasets}
    for kind, graph in (("dataset", sources), ("model", behind), ("system", parts)):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            name, *others = error.args[1]
            text = f"at scale {registry.config.scale} the {kind} would be made from itself"
            yield f"{registry.at(kind, name)}: {text}: {' -> '.join([name, *others])}"


def _writers(registry: Registry, model: str) -> list[str]:
    """Return the generators that write what a model is trained on: those of its split."""
    entry = registry.models[model]
    roles = entry.shares if isinstance(entry, OnPairs) else {}
    own = [SplitId(name, entry.own.train or "") for name, entry in registry.datasets.items()]
    split_ids = own if OWN in roles else filter(None, map(registry.binding, roles))
    splits = {name: entry.splits for name, entry in registry.datasets.items()}
    known = (
        split_id for split_id in split_ids if split_id.split in splits.get(split_id.dataset, ())
    )
    return [one.model for one in map(registry.generator, known) if isinstance(one, FromModel)]


def _sources(registry: Registry, name: str) -> list[str]:
    """Return the datasets that one is cut from, by a tokenizer made of some, or asks of."""
    dataset = registry.datasets[name]
    tokenizers = (role for _, role in references(dataset.source, "backbone"))
    starts = (start for role in tokenizers for start in registry.scale.starts(role))
    models = [registry.models.get(s.model) for s in starts if isinstance(s, FromModel)]
    entries = [dataset, *(model for model in models if model is not None)]
    roles = (role for entry in entries for _, role in references(entry, "role"))
    return [split_id.dataset for role in roles if (split_id := registry.binding(role))]

"""Which splits a system or a model needs, and what decides there: searched, tuned on, measured.

Usage: `searched(registry, "nfcorpus")`. Must not know paths or rules.
"""

from residuum.config.measures import reads
from residuum.config.registry import Place, Registry
from residuum.config.schema.scales import FromModel
from residuum.config.schema.systems import LexicalSystem


def is_tuned(registry: Registry, system: str) -> bool:
    """Say whether a tuning file has what was chosen for a system: lambda, depth, RM3's setting."""
    entry = registry.systems[system]
    written = entry.kind == "rerank" or (entry.kind == "lexical" and entry.tunes_rm3)
    return written or registry.tuned_on(system) is not None


def tuning_place(registry: Registry, system: str, place: Place) -> Place:
    """Return the split whose tuning file holds what was chosen for a run on a split."""
    fusion = registry.systems[system].kind == "fusion"
    return (registry.tune_place(system, place.dataset) if fusion else None) or place


def rm3_measure(registry: Registry, system: str, place: Place) -> str | None:
    """Return the measure by which RM3 is tuned on a split; None if the system names none."""
    rm3 = registry.system(system, LexicalSystem).rm3
    measures = rm3.measures if rm3 else {}
    return next((measures[role] for role in measures if registry.binding(role) == place), None)


def searched(registry: Registry, dataset: str) -> list[str]:
    """Return the splits of a dataset that runs are made for: measured, tuned on, sent in."""
    roles = filter(None, map(registry.tuned_on, registry.systems))
    bindings = {registry.binding(role) for role in roles}
    splits = registry.datasets[dataset].splits
    return [
        name
        for name, split in splits.items()
        if split.unjudged
        or Place(dataset, name) in bindings
        or registry.measures(Place(dataset, name))
    ]


def mined(registry: Registry, dataset: str, dense_model: str, seed: int) -> list[str]:
    """Return the training splits that a dense model is searched on for others' negatives.

    Only models that play a role at this scale ask for it.
    """
    bindings = [*registry.scale.backbones.values(), *registry.scale.rerankers.values()]
    playing = {bound.model for bound in bindings if isinstance(bound, FromModel)}
    found: dict[str, None] = {}
    for name in sorted(playing):
        sources = registry.negatives(name).runs
        if (dense_model, seed) in [(registry.trained_for(s.system), s.seed) for s in sources]:
            place = registry.train_place(name)
            found |= {place.split: None} if place.dataset == dataset else {}
    return list(found)


def needs_answers(registry: Registry, place: Place) -> bool:
    """Say whether a measure of a split reads answers and texts in place of judgements."""
    return any(reads(name) == "answers" for name in registry.measures(place))

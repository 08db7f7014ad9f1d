"""Why a system makes no run at this scale: an unbound role, data or a hub model not available.

Usage: `why_unavailable(registry, "clear-bert-large", place, hub)`, with `hub` a `Hub`. The rows of
such systems are not run; everything else is. Must not use the network itself.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from residuum.cli.errors import not_bound
from residuum.config import roots
from residuum.config.registry import Place, Registry, Start
from residuum.config.schema.base import references
from residuum.config.schema.scales import FromModel, FromPath
from residuum.config.schema.systems import ExternalSystem
from residuum.wiring.splits import rm3_measure

Hub = Callable[[str, str], str | None]  # (model, revision): why it cannot be downloaded, or None


def all_available(model: str, revision: str) -> str | None:
    """Suppose, as a dry run does, that every hub model can be downloaded."""
    return None


def why_unavailable(registry: Registry, system: str, place: Place | None, hub: Hub) -> str | None:
    """Return why a system has no run on a split, or None if nothing stands in its way.

    `hub(model, revision)` says why a hub model cannot be had, or None.
    """
    entry = registry.systems[system]
    if entry.kind == "external":
        return _why_no_file(registry, system, place) or why_no_data(registry, place)
    role = registry.tuned_on(system)
    places = [place, *([registry.binding(role)] if role else [])]
    reasons = [why_no_data(registry, place), _why_no_role(registry, role)]
    for part in registry.parts(system):
        reasons += [why_unavailable(registry, part, at, hub) for at in places]
    if trained := registry.trained_for(system):
        reasons.append(_why_no_model(registry, trained, hub))
    if entry.kind == "lexical" and entry.tunes_rm3 and place:
        reasons.append(_why_no_measure(registry, system, place))
    if entry.kind == "rerank":
        name = registry.reranker(system)
        reasons.append(_why_no_start(registry, registry.reranker_binding(name), name, hub))
    return _first(reasons)


def why_no_data(registry: Registry, place: Place | None) -> str | None:
    """Return which files behind a split and its corpus are not there, and how to get them."""
    return place and _missing(registry, place.dataset, (None, place.split))


def why_no_export(registry: Registry, dataset: str, split: str | None) -> str | None:
    """Return the same of a corpus alone (split None), or of a split's queries and qrels alone."""
    return _missing(registry, dataset, (split,))


def _missing(registry: Registry, name: str, parts: Iterable[str | None]) -> str | None:
    dataset, folders = registry.datasets[name], (roots.data(), roots.irds())
    absent = [path for part in parts for path in dataset.missing(part, *folders)]
    if not absent:
        return None
    listed = ", ".join(dict.fromkeys(map(str, absent)))
    return f"no such file: {listed}. Access to {name}: {dataset.access}"


def _why_no_measure(registry: Registry, system: str, place: Place) -> str | None:
    if rm3_measure(registry, system, place):
        return None
    return f"{system}: rm3.measures names no role that {'/'.join(place)} plays"


def external_file(registry: Registry, system: str, place: Place | None) -> Path | None:
    """Return the file of an external run for a split, whether it is there or not."""
    runs = registry.system(system, ExternalSystem).runs
    names = [runs[role] for role in runs if place and registry.binding(role) == place]
    return roots.data() / names[0] if names else None


def _why_no_file(registry: Registry, system: str, place: Place | None) -> str | None:
    path = external_file(registry, system, place)
    entry = registry.system(system, ExternalSystem)
    if path is None:
        return f"{system} is an external run of {', '.join(entry.runs)} only"
    return None if path.is_file() else f"no such file: {path}. {entry.source}"


def _why_no_model(registry: Registry, name: str, hub: Hub) -> str | None:
    """Follow a model to what it starts from and what it is trained on."""
    model = registry.models[name]
    reasons = [_why_no_role(registry, role) for _, role in references(model, "role")]
    reasons += [_why_no_model(registry, other, hub) for other in registry.mined_models(name)]
    for _, role in references(model, "backbone"):
        reasons.append(_why_no_start(registry, registry.backbone(role), role, hub))
    return _first(reasons)


def _why_no_start(registry: Registry, bound: Start | None, role: str, hub: Hub) -> str | None:
    if bound is None:
        return not_bound(registry.config.scale, role)
    if isinstance(bound, FromModel):
        return _why_no_model(registry, bound.model, hub)
    return None if isinstance(bound, FromPath) else hub(bound.hub, bound.revision)


def _why_no_role(registry: Registry, role: str | None) -> str | None:
    if role is None:
        return None
    place = registry.binding(role)
    return why_no_data(registry, place) if place else not_bound(registry.config.scale, role)


def _first(reasons: Iterable[str | None]) -> str | None:
    return next((why for why in reasons if why), None)

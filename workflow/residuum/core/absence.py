"""Why a system makes no run at this scale: a role not cast, data or a hub model not there.

Usage: `reason(registry, "clear-bert-large", place, hub)`, with `hub` from residuum.neural.hub. The
rows of such systems are not run; everything else is. Must not use the network itself.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residuum.core import roots, schema
from residuum.core.errors import not_cast

if TYPE_CHECKING:
    from residuum.core.registry import Place, Registry

Hub = Callable[[str, str], str | None]


def reason(registry: "Registry", system: str, place: "Place | None", hub: Hub) -> str | None:
    """Return why a system has no run on a split, or None if nothing stands in its way.

    `hub(model, revision)` says why a hub model cannot be had, or None.
    """
    entry = registry.systems[system]
    if entry.kind == "external":
        return _no_file(registry, system, place) or no_data(registry, place)
    tuned_on = _tuned_on(entry)
    places = [place, *([registry.cast(tuned_on)] if tuned_on else [])]
    reasons = [no_data(registry, place), _no_role(registry, tuned_on)]
    reasons += [reason(registry, part, at, hub) for part in registry.parts(system) for at in places]
    if trained := registry.trained_for(system):
        reasons.append(_no_model(registry, trained, hub))
    if entry.kind == "lexical" and entry.rm3_sweep and place:
        reasons.append(_not_swept(registry, system, place))
    if entry.kind == "rerank":
        name = registry.reranker(system)
        reasons.append(_no_cast(registry, registry.reranker_cast(name), name, hub))
    return _first(reasons)


def no_data(registry: "Registry", place: "Place | None") -> str | None:
    """Return which files behind a split and its corpus are not there, and how to get them."""
    return place and _missing(registry, place.dataset, (None, place.split))


def no_export(registry: "Registry", dataset: str, split: str | None) -> str | None:
    """Return the same of a corpus alone (split None), or of a split's queries and qrels alone."""
    return _missing(registry, dataset, (split,))


def _missing(registry: "Registry", name: str, parts: Iterable[str | None]) -> str | None:
    dataset, folders = registry.datasets[name], (roots.data(), roots.irds())
    absent = [path for part in parts for path in dataset.missing(part, *folders)]
    if not absent:
        return None
    listed = ", ".join(dict.fromkeys(map(str, absent)))
    return f"no such file: {listed}. Access to {name}: {dataset.access}"


def _tuned_on(entry: Any) -> str | None:
    if entry.kind == "rerank":
        return str(entry.depth.tune_on)
    return entry.weight.tune_on if entry.kind == "fusion" else None


def _not_swept(registry: "Registry", system: str, place: "Place") -> str | None:
    if registry.swept_measure(system, place):
        return None
    return f"{system}: rm3_sweep.measures names no role that {'/'.join(place)} plays"


def external_file(registry: "Registry", system: str, place: "Place | None") -> Path | None:
    """Return the file of an external run for a split, whether it is there or not."""
    runs = registry.systems[system].runs
    names = [runs[role] for role in runs if place and registry.cast(role) == place]
    return roots.data() / names[0] if names else None


def _no_file(registry: "Registry", system: str, place: "Place | None") -> str | None:
    path = external_file(registry, system, place)
    if path is None:
        return f"{system} is an external run of {', '.join(registry.systems[system].runs)} only"
    if path.is_file():
        return None
    return f"no such file: {path}. {registry.systems[system].source}"


def _no_model(registry: "Registry", name: str, hub: Hub) -> str | None:
    """Follow a model to what it starts from and what it is trained on."""
    model = registry.models[name]
    roles = [model.train_on] if hasattr(model, "train_on") else model.corpora
    reasons = [_no_role(registry, role) for role in roles]
    if hasattr(model, "negatives"):
        mined = [registry.trained_for(source.system) for source in registry.mined_from(name)]
        reasons += [_no_model(registry, other, hub) for other in mined if other]
    if model.kind != "backbone":
        cast = registry.backbone(model.backbone)
        reasons.append(_no_cast(registry, cast, model.backbone, hub))
    return _first(reasons)


def _no_cast(registry: "Registry", cast: Any, role: str, hub: Hub) -> str | None:
    if cast is None:
        return not_cast(registry.config.scale, role)
    if isinstance(cast, schema.FromModel):
        return _no_model(registry, cast.model, hub)
    return None if isinstance(cast, schema.FromPath) else hub(cast.hub, cast.revision)


def _no_role(registry: "Registry", role: str | None) -> str | None:
    if role is None:
        return None
    place = registry.cast(role)
    return no_data(registry, place) if place else not_cast(registry.config.scale, role)


def _first(reasons: Iterable[str | None]) -> str | None:
    return next((why for why in reasons if why), None)

"""Which models behind a page's runs are judged: whether they learned.

Usage: `models_behind(registry, [("clear", place)])` for a bound page. Must not know what a verdict
rests on, nor how a page shows it.
"""

from collections.abc import Iterable, Iterator

from residuum.config.bindings import Place
from residuum.config.registry import Registry
from residuum.config.schema.scales import FromModel
from residuum.pages.jobs import Bound
from residuum.wiring.availability import why_no_export


def models_behind(
    registry: Registry, cells: Iterable[tuple[str, Place | None]]
) -> dict[str, dict[str, list[str]]]:
    """Return the models behind some systems that are judged, by dataset and run.

    Each system comes with a split that it is measured on.
    """
    behind: dict[str, dict[str, list[str]]] = {}
    for system, place in cells:
        for seed in registry.seeds_of(system) if place else []:
            run, dataset = registry.run(system, seed), str(place and place.dataset)
            if models := models_judged(registry, system, seed, dataset):
                behind.setdefault(dataset, {})[run] = models
    return behind


def models_judged(registry: Registry, system: str, seed: int, dataset: str) -> list[str]:
    """Return the models behind a run on a dataset that are judged, as `<model>/seed<n>`."""
    ids = _models(registry, system, seed, dataset)
    return list(
        dict.fromkeys(f"{name}/seed{number}" for name, number in ids if is_judged(registry, name))
    )


def _models(
    registry: Registry, system: str, seed: int, dataset: str
) -> Iterator[tuple[str, int | None]]:
    """Yield the id and the seed of each model behind a run on a dataset, rerankers too."""
    for name in registry.trained_behind(system):
        yield registry.model_for(name, dataset), seed
    for name in registry.made_from(system):
        if registry.systems[name].kind == "rerank":
            player = registry.reranker_binding(registry.reranker(name))
            if isinstance(player, FromModel):
                yield registry.model_for(player.model, dataset), player.seed


def trained_by_folds(
    registry: Registry, cells: Iterable[tuple[str, Place | None]]
) -> dict[str, list[str]]:
    """Return the models behind some systems that are trained for each fold, with these folds.

    Each system comes with a split that it is measured on.
    """
    ids = (
        name
        for system, place in cells
        if place
        for name, _ in _models(registry, system, 1, place.dataset)
    )
    return {name: folds for name in ids if (folds := registry.folds(name))}


def is_judged(registry: Registry, model: str) -> bool:
    """Say whether a split tells if a model learned, and is available."""
    place = registry.learned_on(model)
    return place is not None and not why_no_export(registry, place.dataset, None, place.split)


def verdicts(pages: Iterable[Bound]) -> Iterator[dict[str, str]]:
    """Yield the wildcards of the verdicts that pages read."""
    by_run = (of for page in pages for of in page.models.values())
    for name in (name for of in by_run for names in of.values() for name in names):
        model, _, seed = name.partition("/seed")
        yield {"model": model, "seed": seed}

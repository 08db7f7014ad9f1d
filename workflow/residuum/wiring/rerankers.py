"""What rerankers score and who plays them: systems, first stages, shards of pairs, models.

Usage: `candidates(registry, reranker, split_id, hub)`, `pair_files(registry, template, reranker,
split_id)`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from residuum.cli.errors import ResiduumError
from residuum.config.registry import Registry, Reranker, SplitId
from residuum.config.schema.base import OWN
from residuum.config.schema.models import CrossEncoder, ReleasedEncoder
from residuum.config.schema.scales import FromModel, ReleasedReranker
from residuum.config.schema.systems import RerankSystem
from residuum.pages.figure.entry import DEPTH, Figure
from residuum.wiring import sizes
from residuum.wiring.availability import Hub, why_unavailable
from residuum.wiring.memo import memoised
from residuum.wiring.paths import Template


class Reranked(NamedTuple):
    """A run of a rerank system: the system, its first stage's run, and the depths to try."""

    system: RerankSystem
    first: str
    grid: list[int]


def rerank_systems(registry: Registry, reranker: str) -> list[str]:
    """Return the rerank systems with a reranker, without systems that only other papers name."""
    elsewhere = _named(registry, registry.pages) - _named(registry, registry.chosen())
    sharing = (n for n in registry.of_kind("rerank") if registry.reranker(n) == reranker)
    return [name for name in sharing if name not in elsewhere]


def _named(registry: Registry, pages: Iterable[str]) -> set[str]:
    """Return the systems that pages name, and all systems that they are made from."""
    named = {name for page in pages for name in registry.players(registry.pages[page]).values()}
    return {behind for name in named for behind in registry.made_from(name)}


@memoised
def datasets_of(registry: Registry, system: str) -> set[str]:
    """Return the datasets that the chosen pages show a system on, and those of its tuning splits.

    A system that no chosen page names has all datasets.
    """
    pages = [registry.pages[page] for page in registry.chosen()]
    roles = [
        role
        for page, players in ((page, registry.players(page)) for page in pages)
        for part, role in page.shown()
        if players[part] == system
    ]
    if not roles:
        return set(registry.datasets)
    shown = {split_id.dataset for split_id in map(registry.binding, roles) if split_id}
    if (role := registry.tuned_on(system)) not in (None, OWN):
        tune = registry.binding(str(role))
        shown |= {tune.dataset} if tune else set()
    return shown


@memoised
def _drawn(registry: Registry) -> set[str]:
    figures = (registry.entry(page, Figure) for page in registry.chosen("figure"))
    return {n for page in figures if page.over == DEPTH for n in registry.players(page).values()}


def reranked(registry: Registry, reranker: str, split_id: SplitId, hub: Hub) -> dict[str, Reranked]:
    """Return the runs of a reranker on a split that are available and shown on its dataset."""
    runs, drawn = {}, _drawn(registry)
    for name in rerank_systems(registry, reranker):
        if split_id.dataset not in datasets_of(registry, name):
            continue
        if not why_unavailable(registry, name, split_id, hub):
            system = registry.entry(name, RerankSystem)
            for seed in registry.seeds_of(name):
                first = registry.run(system.first_stage, seed)
                runs[registry.run(name, seed)] = Reranked(
                    system, first, system.depth.tried(name in drawn)
                )
    return runs


def candidates(registry: Registry, reranker: str, split_id: SplitId, hub: Hub) -> dict[str, int]:
    """Return the first stages' runs whose docs a reranker scores, each with its largest depth.

    Raises ResiduumError if no such run can be made.
    """
    deepest: dict[str, int] = {}
    for _, first, grid in reranked(registry, reranker, split_id, hub).values():
        deepest[first] = max(*grid, deepest.get(first, 0))
    if deepest:
        return deepest
    names = rerank_systems(registry, reranker)
    elsewhere = f"no page shows it on {split_id.dataset}"
    why = {why_unavailable(registry, name, split_id, hub) or elsewhere for name in names}
    raise ResiduumError(f"{', '.join(names)} cannot be run: {'; '.join(sorted(why))}")


def pair_shards(registry: Registry, reranker: str, split_id: SplitId) -> int:
    """Return the number of shards of a split's queries whose pairs a reranker scores.

    By the pinned counts no shard has more than `shard_pairs` pairs, or it has one query. Systems of
    all papers count, so that another choice of papers keeps the shards and what they hold.
    """
    deepest: dict[str, int] = {}
    for name in registry.of_kind("rerank"):
        if registry.reranker(name) == reranker:
            system = registry.entry(name, RerankSystem)
            depth = max(system.depth.tried(drawn=True))
            for first in registry.runs(system.first_stage):
                deepest[first] = max(depth, deepest.get(first, 0))
    most = max(1, registry.scale.shard_pairs // max(1, sum(deepest.values())))  # queries
    return max(1, -(-sizes.queries(registry, split_id) // most))


def pair_files(
    registry: Registry, template: Template, reranker: str, split_id: SplitId
) -> list[str]:
    """Return the file of each shard of a split's queries whose pairs a reranker scores."""
    shards = registry.numbered(pair_shards(registry, reranker, split_id))
    made = {"dataset": split_id.dataset, "split": split_id.split, "reranker": reranker}
    return [template.fill(shard=f"{n:05d}", **made) for n in shards]


def player_of(registry: Registry, reranker: str) -> Reranker:
    """Return the model that is bound to a reranker; ResiduumError if none is bound."""
    if player := registry.reranker_binding(reranker):
        return player
    raise ResiduumError(f"{registry.scale_file}: rerankers: nothing plays {reranker}")


def encoder_of(registry: Registry, player: Reranker) -> str | None:
    """Return the encoder whose vectors score a reranker's pairs; None of a cross-encoder."""
    if isinstance(player, ReleasedReranker):
        return player.model
    if isinstance(player, FromModel) and not isinstance(
        registry.models[player.model], CrossEncoder
    ):
        return player.model
    return None


def asking_of(registry: Registry, player: Reranker) -> str | None:
    """Return the released encoder that reads a reranker's queries; None if its own model does."""
    entry = registry.models.get(encoder_of(registry, player) or "")
    return entry.queries if isinstance(entry, ReleasedEncoder) else None


def played_rerankers(registry: Registry, systems: Iterable[str]) -> dict[str, str]:
    """Describe the bound rerankers of systems: reranker to description."""
    reranking = [name for name in systems if isinstance(registry.systems[name], RerankSystem)]
    played = {registry.reranker(name): None for name in reranking}
    return {
        name: player.described()
        for name in played
        if (player := registry.reranker_binding(name)) is not None
    }

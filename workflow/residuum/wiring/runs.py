"""What fusion, evaluation and reranking read, and runs that come from outside.

Usage: `Fusion(registry, paths, hub).inputs(wildcards)`. Must not know how runs are combined.
"""

from shlex import quote
from typing import NamedTuple

from residuum.core.errors import ResiduumError
from residuum.core.registry import Place, Registry
from residuum.core.schema.scales import FromModel, HubReranker
from residuum.wiring import specs
from residuum.wiring.availability import Hub, external_file, why_unavailable
from residuum.wiring.models import Models
from residuum.wiring.part import Part, Wildcards, place_of, run_of
from residuum.wiring.splits import needs_answers, tuned_on, tuning_place


class Fusion(Part):
    """Inputs and options of the stage fusion."""

    parts = ("lexical", "dense", "lexical_on_dense", "dense_on_lexical")

    def inputs(self, wildcards: Wildcards) -> dict[str, str]:
        """Return both runs of a fusion on a split, and the scores that each list lacks."""
        name, seed = run_of(wildcards)
        system, place = self.registry.system(name), place_of(wildcards)
        runs = {"lexical": system.lexical, "dense": system.dense}
        inputs = {part: self.run(runs[part], seed, place) for part in runs}
        for part, other in (("lexical", "dense"), ("dense", "lexical")):
            if getattr(system.missing, part) == "true_score":
                run = self.registry.run(runs[part], seed)
                scores = self.fill(self.paths.scores, place, run=run, other=runs[other])
                inputs[f"{part}_on_{other}"] = scores
        return inputs

    def tuning(self, wildcards: Wildcards) -> list[str]:
        """Return the tuning file of a fused run; none where lambda is fixed."""
        system = run_of(wildcards).system
        if tuned_on(self.registry, system) is None:
            return []
        place = tuning_place(self.registry, system, place_of(wildcards))
        return [self.fill(self.paths.tuning, place, run=wildcards.run)]


class Evaluate(Part):
    """Inputs and options of the stage evaluate."""

    def texts(self, wildcards: Wildcards) -> list[str]:
        """Return the answers and the corpus, if a measure reads them."""
        place = place_of(wildcards)
        if not needs_answers(self.registry, place):
            return []
        corpus = self.paths.corpus.fill(dataset=place.dataset)
        return [self.fill(self.paths.answers, place), corpus]

    def measures(self, wildcards: Wildcards) -> str:
        """Return the options that name a split's measures."""
        measures = self.registry.measures(place_of(wildcards))
        return " ".join(f"--measure '{name}'" for name in measures)


class Reranked(NamedTuple):
    """A run of a rerank system: its first stage's run, and the depths that are tried."""

    first: str
    grid: list[int]


def rerank_systems(registry: Registry, reranker: str) -> list[str]:
    """Return the rerank systems that share a reranker."""
    return [n for n in registry.of_kind("rerank") if registry.reranker(n) == reranker]


def pipelines(registry: Registry, reranker: str, place: Place, hub: Hub) -> list[str]:
    """Return those of them that have what they need on a split."""
    names = rerank_systems(registry, reranker)
    return [name for name in names if not why_unavailable(registry, name, place, hub)]


def reranked(registry: Registry, reranker: str, place: Place, hub: Hub) -> dict[str, Reranked]:
    """Return the runs on a split that share a reranker, by their ids."""
    runs = {}
    for name in pipelines(registry, reranker, place, hub):
        system = registry.system(name)
        for seed in registry.seeds:
            first = registry.run(system.first_stage, seed)
            runs[registry.run(name, seed)] = Reranked(first, system.depth.grid)
    return runs


def candidates(registry: Registry, reranker: str, place: Place, hub: Hub) -> dict[str, int]:
    """Return the first stages' runs whose docs a reranker scores, each with its largest depth."""
    deepest: dict[str, int] = {}
    for first, grid in reranked(registry, reranker, place, hub).values():
        deepest[first] = max(*grid, deepest.get(first, 0))
    return deepest


def player_of(registry: Registry, reranker: str) -> HubReranker | FromModel:
    """Return what plays a reranker; nothing at all is an error."""
    player = registry.reranker_cast(reranker)
    if player is None:
        raise ResiduumError(f"{registry.scale_file}: rerankers: nothing plays {reranker}")
    return player


class Rerank(Models):
    """Inputs and options of the stage rerank."""

    def _firsts(self, wildcards: Wildcards) -> dict[str, int]:
        """Return the first stages' runs, each with its largest depth; none is an error."""
        name, place = wildcards.reranker, place_of(wildcards)
        if deepest := candidates(self.registry, name, place, self.hub):
            return {self.fill(self.paths.run, place, run=run): k for run, k in deepest.items()}
        names = rerank_systems(self.registry, name)
        why = {why_unavailable(self.registry, system, place, self.hub) for system in names}
        raise ResiduumError(f"{', '.join(names)} cannot be run: {'; '.join(sorted(map(str, why)))}")

    def firsts(self, wildcards: Wildcards) -> list[str]:
        """Return the first stages' runs whose docs a reranker scores."""
        return list(self._firsts(wildcards))

    def depths(self, wildcards: Wildcards) -> str:
        """Return the options that name those runs and their largest depths."""
        firsts = self._firsts(wildcards).items()
        return " ".join(f"--run {path} --depth {depth}" for path, depth in firsts)

    def _reranked(self, wildcards: Wildcards) -> dict[str, Reranked]:
        return reranked(self.registry, wildcards.reranker, place_of(wildcards), self.hub)

    def curves(self, wildcards: Wildcards) -> str:
        """Return the options that name the first stage's run of each run."""
        place, runs = place_of(wildcards), self._reranked(wildcards)
        firsts = {run: self.fill(self.paths.run, place, run=of.first) for run, of in runs.items()}
        return " ".join(f"--run {run}={first}" for run, first in firsts.items())

    def curve_spec(self, wildcards: Wildcards) -> str:
        """Return the depths of each run and the measures at each depth on a split, as JSON."""
        registry, place = self.registry, place_of(wildcards)
        grids = {name: sorted(run.grid) for name, run in self._reranked(wildcards).items()}
        systems = pipelines(registry, wildcards.reranker, place, self.hub)
        measures = {registry.system(name).depth.measure for name in systems}
        for page in map(registry.pages.__getitem__, registry.chosen("figure")):
            if registry.cast(page.role) == place:
                measures |= {panel.measure for panel in page.panels if panel.measure}
        return specs.canonical_json({"depths": grids, "measures": sorted(measures)})

    def batch_spec(self, wildcards: Wildcards) -> str:
        """Return the spec of the scoring."""
        return specs.canonical_json({"batch_size": self.registry.scale.pair_batch_size})

    def model_files(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the reranker."""
        return self.files(player_of(self.registry, wildcards.reranker))

    def model(self, wildcards: Wildcards) -> str:
        """Return the options that name a reranker and how a released one reads a pair."""
        player = player_of(self.registry, wildcards.reranker)
        reading = getattr(player, "reading", None)
        read = f" --reading {quote(specs.of_entry(reading))}" if reading else ""
        return f"--model {self.argument(player)}{read}"

    def cut(self, wildcards: Wildcards) -> dict[str, str]:
        """Return what a reranked run is cut from: first stage, scores, the tuning depth curve."""
        name, seed = run_of(wildcards)
        system, place = self.registry.system(name), place_of(wildcards)
        reranker, tune = self.registry.reranker(name), self.registry.place(system.depth.tune_on)
        return {
            "first": self.run(system.first_stage, seed, place),
            "scores": self.fill(self.paths.pairs, place, reranker=reranker),
            "tuning": self.fill(self.paths.depth_curve, tune, reranker=reranker),
        }


class External(Part):
    """Inputs of the stage external."""

    def source(self, wildcards: Wildcards) -> str:
        """Return the file of an external run."""
        place = place_of(wildcards)
        path = external_file(self.registry, run_of(wildcards).system, place)
        if path is None:
            raise ResiduumError(f"{wildcards.run} has no file for {'/'.join(place)}")
        return str(path)

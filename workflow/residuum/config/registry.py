"""What a scale makes of the entries of config/: systems with their parts, seeds, runs, measures.

Made by `residuum.config.loading`; imports nothing heavy.
"""

import hashlib
from collections.abc import Iterator
from functools import cached_property

from residuum.config import measures
from residuum.config.bindings import SplitId
from residuum.config.schema.base import OWN, Ref, references
from residuum.config.schema.groupings import Halves
from residuum.config.schema.models import LexicalVectors, ReleasedWeights
from residuum.config.schema.scales import FromModel, HubReranker
from residuum.config.schema.systems import RerankSystem
from residuum.config.specs import FixedId, RunId, Seed, of_entry
from residuum.config.trainings import Trainings
from residuum.pages.entries import parts_of
from residuum.pages.kinds import Page


class Registry(Trainings):
    """Everything that config/ says: entries, bindings, models, systems, runs and measures."""

    @cached_property
    def _named(self) -> dict[str, list[tuple[Ref, str]]]:
        to = ("system", "model", "role")
        return {name: list(references(entry, *to)) for name, entry in self.systems.items()}

    def mined_models(self, name: str) -> list[str]:
        """Return the models whose own hits are among a model's negatives."""
        systems = [system for _, system in references(self.negatives(name), "system")]
        return [model for system in systems for model in self.trained_behind(system)]

    def tune_split(self, system: str, dataset: str) -> SplitId | None:
        """Return the split on which a system is tuned for a collection; None for a fixed one."""
        role = self.tuned_on(system)
        if role == OWN:
            return self.own_split(dataset, "tune")
        return self.bound_split(role) if role else None

    def reranker(self, system: str) -> str:
        """Return the id of a rerank system's reranker: its role, or one made of what it names."""
        reranker = self.entry(system, RerankSystem).reranker
        if isinstance(reranker, str):
            return reranker
        if isinstance(reranker, FromModel):
            return str(FixedId(reranker.model, f"seed{reranker.seed}"))
        digest = hashlib.sha256(of_entry(reranker).encode()).hexdigest()
        return str(FixedId(reranker.hub.replace("/", "_"), digest[:8]))

    def reranker_binding(self, name: str) -> HubReranker | FromModel | None:
        """Return what plays a reranker by its id; None if the scale leaves the role unbound."""
        systems = {n: s for n, s in self.systems.items() if isinstance(s, RerankSystem)}
        named = {self.reranker(n): system.reranker for n, system in systems.items()}.get(name, name)
        return self.scale.rerankers.get(name) if isinstance(named, str) else named

    def players(self, page: Page) -> dict[str, str]:
        """Return the system that makes each part of a page: the one named, or what plays it."""
        return {part: self.scale.systems.get(name, name) for part, name in page.systems().items()}

    def parts(self, system: str) -> list[str]:
        """Return the systems whose runs a system is made from."""
        return [name for ref, name in self._named.get(system, []) if ref.to == "system"]

    def trained_for(self, system: str) -> str | None:
        """Return the model of a system itself, trained once per seed; None without one."""
        models = [(ref, name) for ref, name in self._named.get(system, []) if ref.to == "model"]
        made = (name for ref, name in models if ref.use != "released")
        untrained = ReleasedWeights, LexicalVectors
        return next((n for n in made if not isinstance(self.models.get(n), untrained)), None)

    def tuned_on(self, system: str) -> str | None:
        """Return the role of the split on which something of a system is chosen, or None."""
        return next((name for ref, name in self._named[system] if ref.use == "tuning"), None)

    def trained_behind(self, system: str) -> list[str]:
        """Return the models, trained once per seed, of a system and of all that it is made from."""
        return [model for name in self.made_from(system) if (model := self.trained_for(name))]

    def made_from(self, system: str) -> list[str]:
        """Return a system and all systems that it is made from."""
        systems = [system]
        for name in systems:
            systems += [part for part in self.parts(name) if part not in systems]
        return systems

    def seeds_of(self, system: str) -> list[int]:
        """Return the seeds of a system's runs: those that every model behind it is trained with.

        A model has seeds of its own if its file or a budget says so, unless the command line does.
        """
        if self.config.seeds:
            return self.config.seeds
        trained = [getattr(self.models.get(n), "seeds", None) for n in self.trained_behind(system)]
        first, *others = [seeds or self.scale.seeds for seeds in trained or [None]]
        return [seed for seed in first if all(seed in seeds for seeds in others)]

    def run(self, system: str, seed: Seed | None) -> str:
        """Return the run id of a system for a seed, which unseeded systems ignore."""
        return str(RunId(system, seed if self.trained_behind(system) else None))

    def runs(self, system: str) -> list[str]:
        """Return the run ids of a system: one per seed if a trained model is behind it."""
        return list(dict.fromkeys(self.run(system, seed) for seed in self.seeds_of(system)))

    def chosen(self, *kinds: str) -> list[str]:
        """Return the ids of the chosen papers' pages that are of one of the kinds, or of all."""
        pages = (page for page in self.pages if parts_of(page)[0] in self.config.papers)
        return [page for page in pages if not kinds or self.pages[page].kind in kinds]

    def beside(self, page: Page) -> tuple[str, dict[str, Page]]:
        """Return the paper of a page, and all pages of it by their short names."""
        paper = next(parts_of(name)[0] for name, own in self.pages.items() if own is page)
        named = {parts_of(name): own for name, own in self.pages.items()}
        return paper, {name: own for (of, name), own in named.items() if of == paper}

    def lacks(self, split_id: SplitId, measure: str) -> str | None:
        """Return what a measure reads that a split does not have; None if it has it."""
        dataset = self.datasets[split_id.dataset]
        if measures.reads(measure) == "answers":
            return None if dataset.source_of(split_id.split).answered else "answers"
        return None if dataset.judged(split_id.split) else "public judgements"

    def measures(self, split_id: SplitId) -> list[str]:
        """Return the measures evaluated on a split: its own, and those that pages show of runs."""
        own = self.datasets[split_id.dataset].splits[split_id.split].measures
        return sorted({*own, *self._printed.get(split_id, [])})

    @cached_property
    def _printed(self) -> dict[SplitId, list[str]]:
        """What pages show of runs on each split: a graph asks for it at every job."""
        printed: dict[SplitId, list[str]] = {}
        shown = (named for page in self.pages.values() for named in self._measured(page))
        for role, measure in shown:
            if split_id := self.binding(role):
                printed.setdefault(split_id, []).append(measure)
        return printed

    def _measured(self, page: Page) -> Iterator[tuple[str, str]]:
        """Yield role and measure of what a page shows of runs, or groups its queries by."""
        yield from page.measured()
        for grouping, role in page.grouped_by():
            if isinstance(halves := self.groupings.get(grouping), Halves):
                yield role, halves.measure

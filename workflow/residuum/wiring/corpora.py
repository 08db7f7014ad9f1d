"""What is made of a corpus and searched: exports, Lucene indexes, embeddings and hits by shard.

Usage: `Corpora(registry, paths, hub).index_behind(wildcards)`. Must not know BM25 or encoders.
"""

import sys
from collections.abc import Callable
from functools import cache
from shlex import quote

from residuum.cli.errors import ResiduumError
from residuum.config import roots, specs
from residuum.config.registry import Place, Registry
from residuum.config.schema.base import references
from residuum.config.schema.models import OnPairs
from residuum.config.schema.systems import DenseSystem, LexicalSystem
from residuum.config.specs import FixedId, RunId
from residuum.wiring.availability import rm3_measure, role_of, why_no_export
from residuum.wiring.part import Part, Wildcards, place_of, run_of
from residuum.wiring.paths import Template


def searched(registry: Registry, dataset: str) -> list[str]:
    """Return the splits of a dataset that runs are made for: measured, tuned on, sent in."""
    roles = filter(None, map(registry.tuned_on, registry.systems))
    tuned = {role_of(registry, role, "tune", dataset)[0] for role in dict.fromkeys(roles)}
    return [
        name
        for name, split in registry.datasets[dataset].splits.items()
        if split.unjudged or (at := Place(dataset, name)) in tuned or registry.measures(at)
    ]


@cache
def encoded_splits(registry: Registry, dataset: str, model: str, seed: int) -> list[str]:
    """Return the splits of a dataset whose queries a model searches: for runs, and negatives.

    Negatives of a training split are for models that play a role at this scale, or that a system
    names.
    """
    splits = [s for s in searched(registry, dataset) if not why_no_export(registry, dataset, s)]
    entries = [registry.scale, *registry.systems.values()]
    for name in sorted({name for entry in entries for _, name in references(entry, "model")}):
        mined = [(registry.trained_for(s.system), s.seed) for s in registry.negatives(name).runs]
        if (FixedId.parse(model).name, seed) in mined:
            place, _ = role_of(registry, registry.model(name, OnPairs).train_on, "train", dataset)
            if place and place.dataset == dataset and place.split not in splits:
                splits.append(place.split)
    return splits


class Corpora(Part):
    """Inputs and options of the stages data, lexical, encode and dense."""

    def files(self, wildcards: Wildcards) -> list[str]:
        """Return the user's own files behind a corpus or a split, so that edits export it again.

        The pages leave out what has none; if a target asks for it all the same, the run stops here.
        It exits, because Snakemake takes an exception for a rule that does not fit, and would go on
        with what was made of other files before.
        """
        name, split = wildcards.dataset, getattr(wildcards, "split", None)
        root = roots.data()
        if why := why_no_export(self.registry, name, split):
            where = f"Paths start at {root.resolve()} (set RESIDUUM_DATA to change that)."
            sys.exit(f"error: dataset {name}: {why}\n{where}")
        return [str(root / path) for path in self.registry.datasets[name].source_files(split)]

    def spec(self, wildcards: Wildcards) -> str:
        """Return what decides which corpus is written, or which queries and qrels a split has."""
        dataset, split = (
            self.registry.datasets[wildcards.dataset],
            getattr(wildcards, "split", None),
        )
        return specs.canonical_json(dataset.for_split(split) if split else dataset.for_corpus())

    def index_behind(self, wildcards: Wildcards) -> str:
        """Return the index behind a lexical run."""
        return self.index(wildcards.dataset, run_of(wildcards))

    def index_form(self, wildcards: Wildcards) -> str:
        """Return the form of the index that an index id names, as JSON."""
        names, form = self.registry.of_kind("lexical"), FixedId.parse(wildcards.index).name
        forms = (self.registry.system(name, LexicalSystem).index() for name in names)
        return specs.of_entry(next(index for index in forms if index.index_id() == form))

    def term_weights(self, wildcards: Wildcards) -> list[str]:
        """Return the term weights that an index is made of; none for one of texts."""
        model, seed = RunId.parse(FixedId.parse(wildcards.index).by)
        made = {"dataset": wildcards.dataset, "model": model, "seed": seed}
        return [self.paths.term_weights.fill(**made)] if model else []

    def rm3_measure(self, wildcards: Wildcards) -> str:
        """Return the measure by which RM3 is tuned on a split."""
        system, place = run_of(wildcards).system, place_of(wildcards)
        if measure := rm3_measure(self.registry, system, place):
            return measure
        text = f"rm3.measures names no role that {'/'.join(place)} plays at this scale; add one"
        raise ResiduumError(f"{system}: {text}")

    def queries(self, wildcards: Wildcards) -> list[str]:
        """Return the queries that a dense model searches a dataset for."""
        dataset, seed = wildcards.dataset, int(wildcards.seed)
        splits = encoded_splits(self.registry, dataset, wildcards.model, seed)
        return [self.paths.queries.fill(dataset=dataset, split=split) for split in splits]

    def shard(self, wildcards: Wildcards) -> str:
        """Return the options that name a shard of a corpus."""
        return f"--shard {int(wildcards.shard)} --of {self.registry.shards(wildcards.dataset)}"

    def windows(self, wildcards: Wildcards) -> str:
        """Return the option that has a dataset's docs read in passages, if it says so."""
        windows = self.registry.datasets[wildcards.dataset].windows
        return f"--windows {quote(specs.of_entry(windows))}" if windows else ""

    def shards(self, template: Template) -> Callable[[Wildcards], list[str]]:
        """Return an input function: what the model of a dense run made, each shard of it once."""

        def of(wildcards: Wildcards) -> list[str]:
            dataset, (system, seed) = wildcards.dataset, run_of(wildcards)
            dense = self.registry.system(system, DenseSystem)
            model = self.registry.model_for(dense.model, dataset)
            made = {"dataset": dataset, "model": model, "seed": seed, "k": dense.k}
            shards = range(self.registry.shards(dataset))
            return list(dict.fromkeys(template.fill(shard=f"{n:05d}", **made) for n in shards))

        return of

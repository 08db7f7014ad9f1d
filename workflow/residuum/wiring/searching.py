"""What searches read: Lucene indexes, and the embeddings and hits of dense models, by shard.

Usage: `Searching(registry, paths, hub).index_behind(wildcards)`. Must not know BM25 or encoders.
"""

from collections.abc import Callable
from shlex import quote

from residuum.cli.errors import ResiduumError
from residuum.config import specs
from residuum.config.registry import Registry
from residuum.config.schema.systems import DenseSystem, LexicalSystem
from residuum.config.specs import FixedId, RunId
from residuum.wiring.availability import why_no_export
from residuum.wiring.part import Part, Wildcards, place_of, run_of
from residuum.wiring.paths import Template
from residuum.wiring.splits import mined, rm3_measure, searched


def encoded_splits(registry: Registry, dataset: str, model: str, seed: int) -> list[str]:
    """Return the splits of a dataset whose queries a model searches: for runs, and negatives."""
    splits = [s for s in searched(registry, dataset) if not why_no_export(registry, dataset, s)]
    return splits + mined(registry, dataset, model, seed)


class Searching(Part):
    """Inputs and options of the stages lexical, encode and dense."""

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
        raise ResiduumError(
            f"{system}: rm3.measures names no role that {'/'.join(place)} plays at this "
            "scale; add one there"
        )

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
        return lambda wildcards: self._shards(template, wildcards)

    def _shards(self, template: Template, wildcards: Wildcards) -> list[str]:
        system, seed = run_of(wildcards)
        made = {"model": self.registry.trained_for(system), "seed": seed}
        made |= {"dataset": wildcards.dataset, "k": self.registry.system(system, DenseSystem).k}
        shards = range(self.registry.shards(wildcards.dataset))
        return list(dict.fromkeys(template.fill(shard=f"{n:05d}", **made) for n in shards))

"""What jobs take that make vectors, search them, or project them.

`residuum.wiring.estimates` adds all other jobs. Must not know rules.
"""

from residuum.config.bindings import Place
from residuum.config.registry import Registry
from residuum.config.schema.models import DualEncoder
from residuum.config.schema.systems import DenseSystem, HybridSystem
from residuum.config.specs import RunId, seed_of, trained_with
from residuum.wiring import assumptions as assumed
from residuum.wiring import sizes
from residuum.wiring.amounts import Estimate, of_reading, of_run
from residuum.wiring.corpora import depth_of, encoded_splits
from residuum.wiring.listed import shards_alone
from residuum.wiring.part import Wildcards, place_of, run_of

MB, MICRO = 1e6, 1e-6


class VectorEstimates:
    """The jobs that make, search and project vectors; a method for each sort."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def _queries(self, w: Wildcards) -> int:
        return sizes.queries(self.registry, place_of(w))

    def _scored(self, w: Wildcards) -> int:
        """Return the docs of another system that are scored, of all its seeds."""
        system, snapshot = RunId.parse(w.other)
        seeds = 1 if snapshot else len(self.registry.runs(system))
        return self._queries(w) * seeds * sizes.hits(self.registry, system)

    def _encoded(self, w: Wildcards, texts: float, tokens: float, limit: int) -> Estimate:
        """Estimate the vectors of texts that have `tokens` each."""
        shape = sizes.shape(self.registry, w.model)
        read = of_reading(shape, texts * tokens, self.registry.scale.batch_size * limit)
        return read._replace(disk=4.0 * sizes.stored(self.registry, w.model) * texts)

    def _shard(self, w: Wildcards) -> float:
        """Return the vectors of a shard."""
        vectors = sizes.vectors(self.registry, w.dataset, w.model)
        return vectors / self.registry.shards(w.dataset, w.model)

    def _alike(self, shards: int) -> int:
        """Return how many jobs a shard's stands for, which is one of so many."""
        return max(1, shards) if self.registry.config.docs else 1

    def _of_corpus(self, w: Wildcards) -> int:
        """Return how many jobs that of a shard of a corpus stands for."""
        return self._alike(self.registry.shards(w.dataset, w.model))

    def _searched(self, w: Wildcards, hits: str | None = None) -> int:
        """Return the queries of all splits that a model encodes, or searches for some hits."""
        seed = trained_with(seed_of(w.seed))
        splits = encoded_splits(self.registry, w.dataset, w.model, seed, hits)
        return sum(sizes.queries(self.registry, Place(w.dataset, split)) for split in splits)

    def doc_vectors(self, w: Wildcards) -> Estimate:
        """Estimate the vectors of one shard of a corpus."""
        encoder, vectors = self.registry.entry(w.model, DualEncoder).encoder, self._shard(w)
        texts, limit = vectors / encoder.pooling.most("doc"), encoder.doc_length
        read = self._encoded(w, texts, sizes.doc_tokens(w.dataset, limit), limit)
        disk = 4.0 * sizes.stored(self.registry, w.model) * vectors
        return read._replace(disk=disk, shards=self._of_corpus(w))

    def listed_vectors(self, w: Wildcards) -> Estimate:
        """Estimate the vectors of one shard of candidates; the corpus is read for them."""
        place, encoder = place_of(w), self.registry.entry(w.model, DualEncoder).encoder
        shards = shards_alone(self.registry, place, w.model, w.other)
        docs = sizes.listed(self.registry, place, w.other) / max(1, shards)
        limit, each = encoder.doc_length, self.registry.vectors_each(w.dataset, w.model)
        passages = docs * each / encoder.pooling.most("doc")
        read = self._encoded(w, passages, sizes.doc_tokens(w.dataset, limit), limit)
        seconds = sizes.text_bytes(self.registry, w.dataset) / MB / assumed.EXPORT_MB
        disk = 4.0 * sizes.stored(self.registry, w.model) * docs * each
        core_s = read.core_s + seconds
        return read._replace(disk=disk, core_s=core_s, shards=self._alike(shards))

    def query_vectors(self, w: Wildcards) -> Estimate:
        """Estimate the vectors of all queries that a model searches."""
        limit = self.registry.entry(w.model, DualEncoder).encoder.query_length
        return self._encoded(w, self._searched(w), min(limit, assumed.QUERY_TOKENS), limit)

    def doc_term_vectors(self, w: Wildcards) -> Estimate:
        """Estimate the lexical vectors of one shard: analysed as for an index, then written."""
        share = 1 / self.registry.shards(w.dataset, w.model)
        seconds = sizes.text_bytes(self.registry, w.dataset) / MB / assumed.INDEX_MB
        hidden = sizes.shape(self.registry, w.model).hidden
        disk = 4.0 * hidden * self._shard(w)
        return Estimate(disk, share * seconds, shards=self._of_corpus(w))

    def query_term_vectors(self, w: Wildcards) -> Estimate:
        """Estimate the lexical vectors of all queries that are searched or trained on."""
        queries, hidden = self._searched(w), sizes.shape(self.registry, w.model).hidden
        return Estimate(4.0 * hidden * queries, queries * assumed.QUERY_BYTES / MB)

    def fidelity(self, w: Wildcards) -> Estimate:
        """Estimate projections of all docs and queries, each pair of which is multiplied."""
        how = self.registry.fidelities[w.fidelity]
        pairs = float(sizes.docs(self.registry, w.dataset)) * self._queries(w)
        products = 4.0 * how.dimensions.most * pairs * how.draws  # of all docs, and by length
        return Estimate(core_s=assumed.PAGE_S + products / 1e9 / assumed.PRODUCT_GFLOPS)

    def dense_search(self, w: Wildcards) -> Estimate:
        """Estimate an exact search of one shard for all splits."""
        queries, vectors = self._searched(w, w.k), self._shard(w)
        products = 2.0 * sizes.stored(self.registry, w.model) * vectors * queries
        found = of_run(
            queries * min(depth_of(w.k), vectors), products / 1e9 / assumed.PRODUCT_GFLOPS
        )
        return found._replace(shards=self._of_corpus(w))

    def hybrid(self, w: Wildcards) -> Estimate:
        """Estimate one search of all vectors of several models, by all weights of a grid."""
        (name, _), queries, read, products = run_of(w), self._queries(w), 0.0, 0.0
        system = self.registry.entry(name, HybridSystem)
        for part in system.parts:
            model = self.registry.entry(part, DenseSystem).model
            values = sizes.stored(self.registry, model) * sizes.vectors(
                self.registry, w.dataset, model
            )
            read, products = read + 4.0 * values, products + 2.0 * values * queries
        weights = len(system.weights())
        docs = sizes.docs(self.registry, w.dataset)
        seconds = read / MB / assumed.READ_MB + products / 1e9 / assumed.PRODUCT_GFLOPS
        sums = weights * docs * queries / 1e9 / assumed.PRODUCT_GFLOPS
        return of_run(weights * queries * system.k, seconds + 8 * sums)

    def sweep(self, w: Wildcards) -> Estimate:
        """Estimate searches of all shards: the exact one, and approximate ones of half its cost."""
        how, (system, _) = self.registry.sweeps[w.sweep], run_of(w)
        model = self.registry.entry(system, DenseSystem).model
        vectors, queries = sizes.vectors(self.registry, w.dataset, model), self._queries(w)
        products = 2.0 * sizes.stored(self.registry, model) * vectors * queries * how.repeats
        times = 1 + len(how.efforts()) / 2
        return of_run(queries * how.k, times * products / 1e9 / assumed.PRODUCT_GFLOPS)

    def dense_scores(self, w: Wildcards) -> Estimate:
        """Estimate the inner products of another system's docs: all vectors made are read once."""
        named = self.registry.entry(run_of(w).system, DenseSystem).model
        model, place = self.registry.model_for(named, w.dataset), place_of(w)
        stored, lines = sizes.stored(self.registry, named), self._scored(w)
        vectors = sizes.vectors(self.registry, w.dataset, named)
        if shards_alone(self.registry, place, model, w.other):
            each = self.registry.vectors_each(w.dataset, model)
            vectors = sizes.listed(self.registry, place, w.other) * each
        times = len(self.registry.trainings(model))
        read = 4.0 * stored * times * vectors / MB / assumed.READ_MB
        return of_run(lines, read + lines * MICRO * assumed.LINE_US)

"""Estimate the disk, core time and card use of each job of a scale.

Usage: `Estimates(registry).index(wildcards)`. The assumptions are in `residuum.wiring.sizes`.
"""

from math import ceil
from typing import NamedTuple

from residuum.config.registry import READERS, Registry, SplitId
from residuum.config.schema.backbones import OnTexts
from residuum.config.schema.models import (
    CrossEncoder,
    DualEncoder,
    OnPairs,
    ReleasedEncoder,
    TermWeights,
)
from residuum.config.schema.scales import FromModel, ReleasedReranker
from residuum.config.schema.systems import DenseSystem, FusionSystem, HybridSystem, LexicalSystem
from residuum.config.schema.training import StepRule
from residuum.config.specs import OrderId, RunId, seed_of, trained_with
from residuum.pages.characteristics.entry import Characteristics
from residuum.pages.characteristics.job import OF_CORPUS
from residuum.wiring import sizes
from residuum.wiring.availability import all_available
from residuum.wiring.base import Wildcards, run_of, split_id_of
from residuum.wiring.corpora import depth_of, encoded_splits
from residuum.wiring.models import answers_read, corpora_of
from residuum.wiring.rerankers import candidates, encoder_of, pair_shards, player_of, reranked
from residuum.wiring.runs import needs_answers, shards_alone


class Estimate(NamedTuple):
    """Bytes below results/, seconds of one core, operations, steps and bytes of a card.

    `shards` is the number of equal jobs that this job stands for (`Registry.numbered`).
    """

    disk: float = 0.0
    core_s: float = 0.0
    operations: float = 0.0
    steps: int = 0
    card: float = 0.0
    shards: int = 1


def of_run(lines: float, core_s: float) -> Estimate:
    """Return the estimate of a run of `lines` lines that takes `core_s` seconds of a core."""
    return Estimate(disk=sizes.LINE_BYTES * lines, core_s=core_s)


def of_reading(shape: sizes.Shape, tokens: float, at_once: float) -> Estimate:
    """Estimate a forward pass over `tokens`; a card holds `at_once` tokens of one layer."""
    card = 4 * shape.parameters + sizes.ACTIVATIONS * shape.hidden * at_once
    return Estimate(operations=2.0 * shape.layer_parameters * tokens, card=card)


MB, MICRO = 1e6, 1e-6
LONGEST, TRAINED = 512, 3  # tokens that BERT reads; training's operations over reading's


class Estimates:
    """Estimates of the jobs of a scale. Each method takes the wildcards of its rule."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def _queries(self, w: Wildcards) -> int:
        return sizes.queries(self.registry, split_id_of(w))

    def _scored(self, w: Wildcards) -> int:
        """Return the number of another system's hits that are scored, over all its seeds."""
        system, snapshot = RunId.parse(w.other)
        seeds = 1 if snapshot else len(self.registry.runs(system))
        return self._queries(w) * seeds * sizes.hits(self.registry, system)

    def _encoded(self, w: Wildcards, texts: float, tokens: float, limit: int) -> Estimate:
        """Estimate the vectors of `texts` texts of `tokens` tokens each."""
        shape = sizes.shape(self.registry, w.model)
        read = of_reading(shape, texts * tokens, self.registry.scale.batch_size * limit)
        return read._replace(disk=4.0 * sizes.stored(self.registry, w.model) * texts)

    def _shard(self, w: Wildcards) -> float:
        """Return the number of vectors in a shard."""
        vectors = sizes.vectors(self.registry, w.dataset, w.model)
        return vectors / self.registry.shards(w.dataset, w.model)

    def _alike(self, shards: int) -> int:
        """Return how many jobs one shard's job stands for: all shards in a plan of other sizes."""
        return max(1, shards) if self.registry.config.docs else 1

    def _of_corpus(self, w: Wildcards) -> int:
        """Return how many jobs the job of one shard of a corpus stands for."""
        return self._alike(self.registry.shards(w.dataset, w.model))

    def _searched(self, w: Wildcards, hits: str | None = None) -> int:
        """Return the number of queries that a model encodes, or searches for `hits`."""
        seed = trained_with(seed_of(w.seed))
        splits = encoded_splits(self.registry, w.dataset, w.model, seed, hits)
        return sum(sizes.queries(self.registry, SplitId(w.dataset, split)) for split in splits)

    def _reader(self, w: Wildcards) -> DualEncoder | ReleasedEncoder:
        model = self.registry.model(w.model)
        assert isinstance(model, READERS), "the rule's wildcards are those of such models"
        return model

    def release(self, w: Wildcards) -> Estimate:
        """Estimate a released encoder: its weights are read and written once."""
        disk = 4.0 * sizes.shape(self.registry, w.model).parameters
        return Estimate(disk, disk / MB / sizes.EXPORT_MB)

    def doc_vectors(self, w: Wildcards) -> Estimate:
        """Estimate the vectors of one shard of a corpus."""
        model, vectors = self._reader(w), self._shard(w)
        texts, (_, limit) = vectors / model.most, sizes.longest(model)
        read = self._encoded(w, texts, sizes.doc_tokens(self.registry, w.dataset, limit), limit)
        disk = 4.0 * sizes.stored(self.registry, w.model) * vectors
        return read._replace(disk=disk, shards=self._of_corpus(w))

    def listed_vectors(self, w: Wildcards) -> Estimate:
        """Estimate the vectors of one shard of candidates; the whole corpus is read."""
        split_id, model = split_id_of(w), self._reader(w)
        shards = shards_alone(self.registry, split_id, w.model, w.other)
        docs = sizes.listed(self.registry, split_id, w.other) / max(1, shards)
        limit, each = sizes.longest(model)[1], self.registry.vectors_each(w.dataset, w.model)
        passages = docs * each / model.most
        read = self._encoded(w, passages, sizes.doc_tokens(self.registry, w.dataset, limit), limit)
        seconds = sizes.text_bytes(self.registry, w.dataset) / MB / sizes.EXPORT_MB
        disk = 4.0 * sizes.stored(self.registry, w.model) * docs * each
        core_s = read.core_s + seconds
        return read._replace(disk=disk, core_s=core_s, shards=self._alike(shards))

    def query_vectors(self, w: Wildcards) -> Estimate:
        """Estimate the vectors of all queries that a model encodes."""
        limit, _ = sizes.longest(self._reader(w))
        return self._encoded(w, self._searched(w), min(limit, sizes.QUERY_TOKENS), limit)

    def doc_term_vectors(self, w: Wildcards) -> Estimate:
        """Estimate the lexical vectors of one shard: analysis as for an index, and writing."""
        seconds = sizes.text_bytes(self.registry, w.dataset) / MB / sizes.INDEX_MB
        hidden = sizes.shape(self.registry, w.model).hidden
        disk = 4.0 * hidden * self._shard(w)
        return Estimate(disk, self._share(w) * seconds, shards=self._of_corpus(w))

    def query_term_vectors(self, w: Wildcards) -> Estimate:
        """Estimate the lexical vectors of all queries that are searched or trained on."""
        queries, hidden = self._searched(w), sizes.shape(self.registry, w.model).hidden
        return Estimate(4.0 * hidden * queries, queries * sizes.QUERY_BYTES / MB)

    def taken_docs(self, w: Wildcards) -> Estimate:
        """Estimate one shard of released vectors: its docs' ids and its vectors are read."""
        disk, share = 4.0 * sizes.stored(self.registry, w.model) * self._shard(w), self._share(w)
        seconds = share * self._export_s(w.dataset) + disk / MB / sizes.READ_MB
        return Estimate(disk, seconds, shards=self._of_corpus(w))

    def taken_queries(self, w: Wildcards) -> Estimate:
        """Estimate the released vectors of queries; the files of docs are read for their hash."""
        stored = 4.0 * sizes.stored(self.registry, w.model)
        read = stored * sizes.vectors(self.registry, w.dataset, w.model)
        return Estimate(stored * self._searched(w), read / MB / sizes.READ_MB)

    def asked_docs(self, w: Wildcards) -> Estimate:
        """Estimate a program's vectors of one shard of a corpus."""
        asked = self._asked(w, self._shard(w))
        return asked._replace(shards=self._of_corpus(w))

    def asked_queries(self, w: Wildcards) -> Estimate:
        """Estimate a program's vectors of all queries that are searched."""
        return self._asked(w, self._searched(w))

    def _asked(self, w: Wildcards, texts: float) -> Estimate:
        """Estimate a program's vectors of texts; its kept answers take three times their room."""
        disk = (1 + 3) * 4.0 * sizes.stored(self.registry, w.model) * texts
        return Estimate(disk, texts / sizes.PROGRAM)

    def _share(self, w: Wildcards) -> float:
        """Return a shard's share of a corpus."""
        return 1 / self.registry.shards(w.dataset, w.model)

    def fidelity(self, w: Wildcards) -> Estimate:
        """Estimate a fidelity measurement: inner products of all projected docs and queries."""
        how = self.registry.fidelities[w.fidelity]
        pairs = float(sizes.docs(self.registry, w.dataset)) * self._queries(w)
        products = 4.0 * how.dimensions.most * pairs * how.draws  # of all docs, and by length
        return Estimate(core_s=sizes.PAGE_S + products / 1e9 / sizes.PRODUCT_GFLOPS)

    def dense_search(self, w: Wildcards) -> Estimate:
        """Estimate an exact search of one shard for all splits."""
        queries, vectors = self._searched(w, w.k), self._shard(w)
        products = 2.0 * sizes.stored(self.registry, w.model) * vectors * queries
        products *= sizes.asked(self.registry, w.model)
        found = of_run(queries * min(depth_of(w.k), vectors), products / 1e9 / sizes.PRODUCT_GFLOPS)
        return found._replace(shards=self._of_corpus(w))

    def hybrid(self, w: Wildcards) -> Estimate:
        """Estimate one search over several models' vectors, with all weights of a grid."""
        (name, _), queries, read, products = run_of(w), self._queries(w), 0.0, 0.0
        system = self.registry.entry(name, HybridSystem)
        for part in system.parts:
            model = self.registry.entry(part, DenseSystem).model
            values = sizes.stored(self.registry, model) * sizes.vectors(
                self.registry, w.dataset, model
            )
            products += 2.0 * values * queries * sizes.asked(self.registry, model)
            read += 4.0 * values
        weights = len(system.weights())
        docs = sizes.docs(self.registry, w.dataset)
        seconds = read / MB / sizes.READ_MB + products / 1e9 / sizes.PRODUCT_GFLOPS
        sums = weights * docs * queries / 1e9 / sizes.PRODUCT_GFLOPS
        return of_run(weights * queries * system.k, seconds + 8 * sums)

    def sweep(self, w: Wildcards) -> Estimate:
        """Estimate the searches of a sweep: an exact one, and approximate ones at half its cost."""
        how, (system, _) = self.registry.sweeps[w.sweep], run_of(w)
        model = self.registry.entry(system, DenseSystem).model
        vectors, queries = sizes.vectors(self.registry, w.dataset, model), self._queries(w)
        products = 2.0 * sizes.stored(self.registry, model) * vectors * queries * how.repeats
        times = (1 + len(how.efforts()) / 2) * sizes.asked(self.registry, model)
        return of_run(queries * how.k, times * products / 1e9 / sizes.PRODUCT_GFLOPS)

    def dense_scores(self, w: Wildcards) -> Estimate:
        """Estimate the inner products of another system's docs; all vectors are read once."""
        named = self.registry.entry(run_of(w).system, DenseSystem).model
        model, split_id = self.registry.model_for(named, w.dataset), split_id_of(w)
        stored, lines = sizes.stored(self.registry, named), self._scored(w)
        vectors = sizes.vectors(self.registry, w.dataset, named)
        if shards_alone(self.registry, split_id, model, w.other):
            each = self.registry.vectors_each(w.dataset, model)
            vectors = sizes.listed(self.registry, split_id, w.other) * each
        times = len(self.registry.trainings(model))
        read = 4.0 * stored * times * vectors / MB / sizes.READ_MB
        return of_run(lines, read + lines * MICRO * sizes.LINE_US)

    def _lines(self, w: Wildcards) -> int:
        """Return the largest number of lines of a run, or of scores of candidates."""
        run, over = OrderId.parse(w.run)
        return self._queries(w) * sizes.hits(self.registry, over or RunId.parse(run).system)

    def _pairs(self, w: Wildcards) -> int:
        """Return the largest number of pairs that a reranker scores, if lists share no doc."""
        deepest = candidates(self.registry, w.reranker, split_id_of(w), all_available)
        return self._queries(w) * sum(deepest.values())

    def _shards(self, w: Wildcards) -> int:
        return pair_shards(self.registry, w.reranker, split_id_of(w))

    def _search_s(self, dataset: str, queries: int) -> float:
        """Return the seconds of a BM25 search for `queries` queries."""
        return queries * max(0.003, sizes.docs(self.registry, dataset) / 1e6 * sizes.SEARCH)

    def _export_s(self, dataset: str) -> float:
        return sizes.text_bytes(self.registry, dataset) / MB / sizes.EXPORT_MB

    def _answers_s(self, dataset: str) -> float:
        return sizes.text_bytes(self.registry, dataset) / MB / sizes.ANSWERS_MB

    def corpus(self, w: Wildcards) -> Estimate:
        """Estimate the export of a corpus. A corpus that it is cut from is read twice at most."""
        disk = sizes.ZIP * sizes.text_bytes(self.registry, w.dataset)
        segment_s = 2 * sizes.segmented_bytes(self.registry, w.dataset) / MB / sizes.SEGMENT_MB
        return Estimate(disk, self._export_s(w.dataset) + segment_s)

    def split(self, w: Wildcards) -> Estimate:
        """Estimate the export of a split. An adverse split also reads the corpus."""
        adverse = self.registry.datasets[w.dataset].splits[w.split].adverse
        read = self._export_s(w.dataset) if adverse else 0
        return Estimate(1.5 * sizes.QUERY_BYTES * self._queries(w), read)

    def judged_split(self, w: Wildcards) -> Estimate:
        """Estimate the export of a split. Judgements may be made from answers and the corpus."""
        if not self.registry.datasets[w.dataset].source_of(w.split).relevant_by:
            return self.split(w)
        judgements = sizes.QUERY_BYTES / 2 * sizes.pairs(self.registry, split_id_of(w))
        return Estimate(self.split(w).disk + judgements, self._answers_s(w.dataset))

    def docpairs(self, w: Wildcards) -> Estimate:
        """Estimate the export of training triples: two passes over a line for each triple."""
        lines = sizes.docpairs(self.registry, split_id_of(w))
        return of_run(lines, 2 * lines * MICRO * sizes.LINE_US)

    def index(self, w: Wildcards) -> Estimate:
        """Estimate a Lucene index."""
        text = sizes.text_bytes(self.registry, w.dataset)
        return Estimate(text * sizes.INDEX, text / MB / sizes.INDEX_MB)

    def search(self, w: Wildcards) -> Estimate:
        """Estimate a BM25 run. Tuning RM3 ranks at all settings at once."""
        rm3 = self.registry.entry(run_of(w).system, LexicalSystem).rm3
        queries = self._queries(w)
        core_s = (sizes.RM3 if rm3 else 1.0) * self._search_s(w.dataset, queries)
        if rm3 and rm3.grid:
            millions = sizes.docs(self.registry, w.dataset) / 1e6
            settings = MICRO * sizes.GRID_US * len(rm3.grid.settings())
            core_s += queries * (sizes.GRID + settings + sizes.GRID_DOCS * millions)
        return of_run(self._lines(w), core_s)

    def lexical_scores(self, w: Wildcards) -> Estimate:
        """Estimate the BM25 scores of another system's docs: a search, and a score for each doc."""
        lines, search = self._scored(w), self._search_s(w.dataset, self._queries(w))
        return of_run(lines, search + lines * MICRO * sizes.SCORE_US)

    def questions(self, w: Wildcards) -> Estimate:
        """Estimate the questions that a generator writes. A step writes one token of a batch.

        A card writes all questions of a batch of docs together. It holds the keys and values of
        each doc's tokens once for each question, 2 bytes each.
        """
        split_id, registry = split_id_of(w), self.registry
        form, start = (
            registry.datasets[w.dataset].splits[w.split].synthetic,
            registry.generator(split_id),
        )
        assert form and start, "the rule's wildcards are those of such splits"
        shape, docs = sizes.shape(registry, start), sizes.written_for(registry, w.dataset, form)
        tokens = form.per_doc * min(form.question_length, sizes.QUERY_TOKENS)
        at_once = registry.scale.batch_size
        read = sizes.doc_tokens(registry, w.dataset, form.doc_length)
        made = of_reading(shape, docs * (read + tokens), at_once * form.doc_length)
        kept = 2 * (2 * shape.layers + 1) * shape.hidden  # bytes of a token
        held = at_once * form.per_doc * form.doc_length * kept
        head = 2.0 * shape.vocabulary * shape.hidden * docs * tokens
        return made._replace(
            disk=1.5 * sizes.QUERY_BYTES * docs * form.per_doc,
            core_s=self._export_s(w.dataset),
            operations=made.operations + head,
            card=made.card + held,
            steps=ceil(docs / at_once) * form.question_length,
        )

    def negatives(self, w: Wildcards) -> Estimate:
        """Estimate training tuples: a search for each query, and scores of drawn negatives."""
        split_id = self.registry.train_split(w.model)
        negatives, pairs = self.registry.negatives(w.model), sizes.examples(self.registry, w.model)
        drawn = pairs * (negatives.per_pair or int(negatives.sampled))
        queries = min(pairs, sizes.queries(self.registry, split_id)) if drawn else 0
        seconds = self._search_s(split_id.dataset, queries) + drawn * MICRO * sizes.SCORE_US
        if answers_read(self.registry, w.model):
            seconds += self._answers_s(split_id.dataset)
        return of_run(pairs + drawn, seconds + self._export_s(split_id.dataset))

    def run(self, w: Wildcards) -> Estimate:
        """Estimate a run that is fused, merged from shards, or reranked."""
        name, lines = run_of(w).system, self._lines(w)
        system, lists = self.registry.systems[name], len(self.registry.parts(name))
        if isinstance(system, DenseSystem):
            lists = self.registry.shards(w.dataset, system.model)
        return of_run(lines, max(1, lists) * lines * MICRO * sizes.LINE_US)

    def candidates(self, w: Wildcards) -> Estimate:
        """Estimate lists of candidates; the corpus is read for its doc ids."""
        return of_run(self._lines(w), self._export_s(w.dataset))

    def tuned_fusion(self, w: Wildcards) -> Estimate:
        """Estimate the choice of lambda, which tries every value on the union of the lists."""
        system = self.registry.entry(run_of(w).system, FusionSystem)
        grid = system.interpolation.grid or []
        tried = sizes.EXACT_US if grid == "exact" else len(grid) * sizes.TRIAL_US
        line_us = sizes.LINE_US + tried
        return Estimate(core_s=len(system.parts) * self._lines(w) * MICRO * line_us)

    def depths(self, w: Wildcards) -> Estimate:
        """Estimate the measures of reranked lists at every depth."""
        runs = reranked(self.registry, w.reranker, split_id_of(w), all_available)
        trials = max((len(run.grid) for run in runs.values()), default=0)
        return Estimate(core_s=self._pairs(w) * trials * MICRO * sizes.TRIAL_US)

    def measures(self, w: Wildcards) -> Estimate:
        """Estimate the measures of a run. Measures by answer match also read the corpus."""
        texts = self._answers_s(w.dataset) if needs_answers(self.registry, split_id_of(w)) else 0
        return Estimate(core_s=texts + self._lines(w) * MICRO * sizes.LINE_US)

    def lengths(self, w: Wildcards) -> Estimate:
        """Estimate groups of queries by doc length, which read the corpus once."""
        return Estimate(sizes.LINE_BYTES * self._queries(w), self._export_s(w.dataset))

    def page(self, w: Wildcards) -> Estimate:
        """Estimate a page of any kind, its tests, or the ledger."""
        return Estimate(core_s=sizes.PAGE_S)

    def characteristics(self, w: Wildcards) -> Estimate:
        """Estimate a page of dataset characteristics, which reads corpora if it counts docs."""
        table = self.registry.entry(w.page, Characteristics)
        split_ids = map(self.registry.binding, (column.role for column in table.columns))
        corpora = {
            split_id.dataset for split_id in split_ids if split_id and table.asks(*OF_CORPUS)
        }
        return Estimate(core_s=sizes.PAGE_S + sum(map(self._export_s, corpora)))

    def backbone(self, w: Wildcards) -> Estimate:
        """Estimate a small backbone, made from corpora on the CPU."""
        datasets = corpora_of(self.registry, w.model)
        text = sum(sizes.text_bytes(self.registry, dataset) for dataset in datasets)
        shape = sizes.shape(self.registry, w.model)
        return Estimate(4.0 * shape.parameters, text / MB / sizes.LSA_MB)

    def training(self, w: Wildcards) -> Estimate:
        """Estimate a training on the pairs of a split, or on the docs of corpora."""
        model, shape = self.registry.model(w.model), sizes.shape(self.registry, w.model)
        assert isinstance(model, OnPairs | OnTexts), "others are made, not trained"
        tokens, most = sizes.example(self.registry, model, corpora_of(self.registry, w.model)[0])
        batch = model.training.batch_size
        steps = sizes.steps(model.training, sizes.examples(self.registry, w.model))
        if isinstance(model, OnPairs) and not model.trained:
            steps = 0  # its start is saved as it is
        held = sizes.ACTIVATIONS * shape.hidden * shape.layers * batch * most
        return Estimate(
            disk=4.0 * shape.parameters * (model.training.snapshots or 1),
            operations=2.0 * TRAINED * shape.layer_parameters * steps * batch * tokens,
            steps=steps,
            card=sizes.MEMORY * shape.parameters + held,
        )

    def held_out(self, w: Wildcards) -> Estimate:
        """Estimate the scores, by a model and by its start, that tell whether the model learned.

        Both score a run's first docs and all relevant docs. A cross-encoder reads each pair. The
        training of a learning curve has a model for each point.
        """
        rule = self.registry.trials.get(w.model)
        models = 1 + (rule.most // rule.every if isinstance(rule, StepRule) else 1)
        split_id, how = self.registry.learned_on(w.model), self.registry.scale.learning
        assert split_id and how, "the rule's inputs follow from them"
        pairs = sizes.queries(self.registry, split_id) * how.top + sizes.pairs(
            self.registry, split_id
        )
        tokens = sizes.doc_tokens(self.registry, split_id.dataset, LONGEST)
        read = min(pairs, sizes.docs(self.registry, split_id.dataset)) * tokens
        if isinstance(model := self.registry.model(w.model), CrossEncoder):
            read = pairs * sizes.pair_tokens(self.registry, split_id.dataset, model.reading)
        if windows := self.registry.windows_read(w.model, split_id.dataset):
            read *= windows.expected
        shape, at_once = sizes.shape(self.registry, w.model), self.registry.scale.batch_size
        return of_reading(shape, models * read, at_once * tokens)._replace(
            disk=sizes.LINE_BYTES * pairs
        )

    def term_weights(self, w: Wildcards) -> Estimate:
        """Estimate the term weights of a corpus."""
        limit = self.registry.entry(w.model, TermWeights).length
        docs = sizes.docs(self.registry, w.dataset)
        tokens = sizes.doc_tokens(self.registry, w.dataset, limit)
        disk = sizes.WEIGHTS * sizes.text_bytes(self.registry, w.dataset)
        return self._encoded(w, docs, tokens, limit)._replace(disk=disk)

    def released_weights(self, w: Wildcards) -> Estimate:
        """Estimate the import of released term weights."""
        disk = sizes.WEIGHTS * sizes.text_bytes(self.registry, w.dataset)
        return Estimate(disk, 2 * self._export_s(w.dataset))

    def pair_scores(self, w: Wildcards) -> Estimate:
        """Estimate the scores of a shard's candidates, stored twice: once to resume from."""
        registry, player = self.registry, player_of(self.registry, w.reranker)
        if encoder := encoder_of(registry, player):
            return self._matched(w, encoder)
        assert not isinstance(player, ReleasedReranker), "it is an encoder"
        if not isinstance(player, FromModel):
            reading = player.reading
        else:
            reading = registry.entry(player.model, CrossEncoder).reading
        pairs, at_once = self._pairs(w) / self._shards(w), registry.scale.pair_batch_size
        windows = registry.datasets[w.dataset].windows
        tokens = pairs * sizes.pair_tokens(registry, w.dataset, reading)
        tokens *= windows.expected if windows else 1
        read = of_reading(sizes.shape(registry, player), tokens, at_once * reading.length)
        alike = self._alike(self._shards(w))
        return read._replace(disk=2 * sizes.LINE_BYTES * pairs, shards=alike)

    def _matched(self, w: Wildcards, model: str) -> Estimate:
        """Estimate the scores of candidates by vectors: a shard reads each of its texts once."""
        registry, shards = self.registry, self._shards(w)
        pairs, queries = self._pairs(w) / shards, self._queries(w) / shards
        reader = registry.model(model)
        assert isinstance(reader, READERS), "its vectors score pairs"
        at_once, (of_query, of_doc) = registry.scale.batch_size, sizes.longest(reader)
        docs = min(pairs, sizes.docs(registry, w.dataset))
        windows = registry.datasets[w.dataset].windows
        tokens = docs * sizes.doc_tokens(registry, w.dataset, of_doc)
        tokens *= windows.expected if windows else 1
        tokens += queries * min(of_query, sizes.QUERY_TOKENS)
        read = of_reading(sizes.shape(registry, model), tokens, at_once * of_doc)
        each = registry.vectors_each(w.dataset, model) * sizes.asked(registry, model)
        products = 2.0 * pairs * each * sizes.stored(registry, model)
        seconds = products / 1e9 / sizes.PRODUCT_GFLOPS
        alike, disk = self._alike(shards), 2 * sizes.LINE_BYTES * pairs
        return read._replace(disk=disk, core_s=seconds, shards=alike)

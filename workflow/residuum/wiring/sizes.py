"""Counts of docs, queries, pairs, tokens, steps and parameters, from config/ alone.

Usage: `sizes.queries(registry, SplitId("msmarco-passage", "dev"))`. Counts are the pins of
config/datasets; where nothing is pinned, they are stated assumptions.
"""

import json
import math
import re
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from residuum.config import roots
from residuum.config.registry import Registry, SplitId
from residuum.config.schema.adverse import Adverse
from residuum.config.schema.backbones import Backbone, InverseCloze, MaskedLanguage, NextText
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.models import (
    CrossEncoder,
    DualEncoder,
    LexicalVectors,
    Model,
    OnPairs,
    Program,
    QuestionGenerator,
    ReleasedEncoder,
    ReleasedVectors,
    TermGate,
    TermWeights,
)
from residuum.config.schema.questions import Synthetic
from residuum.config.schema.reading import Reading
from residuum.config.schema.scales import FromHub, FromModel, FromPath, Start
from residuum.config.schema.splits import Listed, SplitCount
from residuum.config.schema.systems import CandidatesSystem, ExternalSystem, RerankSystem
from residuum.config.schema.training import StepRule, Training
from residuum.wiring.memo import memoised
from residuum.wiring.models import corpora_of, start_of, told_by_answers

OTHER_DOC_BYTES = 1000
RELEASED_TOKENS = 512  # that a released encoder reads, where its entry does not say
LATE_DIMENSIONS = 128  # of a token's vector: ColBERT's
LATE_VECTORS = 32  # of a query: ColBERT's
SPECIAL_TOKENS = 2
UNPINNED_QUERIES = 1000
EXTERNAL_HITS = 1000


Example = (
    CrossEncoder
    | DualEncoder
    | InverseCloze
    | MaskedLanguage
    | NextText
    | QuestionGenerator
    | TermGate
    | TermWeights
)


class Shape(NamedTuple):
    """The sizes that determine a transformer's parameters and operations."""

    layers: int
    hidden: int
    intermediate: int
    vocabulary: int = 30522
    scorers: int = 0  # networks whose heads score every term at every token

    @property
    def layer_parameters(self) -> int:
        """Return the number of weights that a token is multiplied by: layers and scorers' heads."""
        attention, forward = 4 * self.hidden**2, 2 * self.hidden * self.intermediate
        head = self.hidden * (self.hidden + self.vocabulary) if self.scorers else 0
        return max(1, self.scorers) * (self.layers * (attention + forward) + head)

    @property
    def parameters(self) -> int:
        """Return the number of weights of layers and embeddings, without biases and norms.

        A head that scores terms shares the embeddings' weights; only one matrix is its own.
        """
        networks = max(1, self.scorers)
        shared = self.scorers * self.vocabulary * self.hidden
        return self.layer_parameters - shared + networks * (self.vocabulary + 514) * self.hidden


BASE = Shape(12, 768, 3072)
LARGE = Shape(24, 1024, 4096)


def shape_of_hub(name: str) -> Shape:
    """Guess a hub model's shape from its name: L6-H384 as written, else BERT-large or BERT-base."""
    if match := re.search(r"\bL-?(\d+)[-_]H-?(\d+)", name):
        layers, hidden = int(match[1]), int(match[2])
        return Shape(layers, hidden, 4 * hidden)
    return LARGE if "large" in name.lower() else BASE


def shape(registry: Registry, start: Start | str) -> Shape:
    """Return the shape of a start, or of a model of config/models given by its id."""
    if isinstance(start, FromPath):
        entry = json.loads(_config(Path(start.path)).read_text(encoding="utf-8"))
        names = ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size")
        return Shape(*(entry.get(name, size) for name, size in zip(names, BASE[:4], strict=True)))
    if isinstance(start, FromHub):
        return shape_of_hub(start.hub)
    name = start.model if isinstance(start, FromModel) else start
    model = registry.model(name)
    if isinstance(model, LexicalVectors):
        return Shape(0, model.dimensions or int(DOC_TERMS), 0, 0)
    if isinstance(model, ReleasedVectors | Program):
        return Shape(0, int(GIVEN), 0, 0)
    if isinstance(model, ReleasedEncoder):
        return shape(registry, registry.released(name))._replace(scorers=int(is_sparse(model)))
    if isinstance(model, Backbone):
        return Shape(model.layers, model.hidden, model.intermediate, model.vocabulary)
    if isinstance(model, QuestionGenerator):  # encoder and decoder share the layers
        return shape(registry, start_of(registry, name))._replace(layers=model.layers)
    networks = [isinstance(model, TermGate), is_sparse(model), registry.gate_of(name) is not None]
    scorers = sum(networks)
    return shape(registry, start_of(registry, name))._replace(scorers=scorers)


def _config(folder: Path) -> Path:
    """Return the configuration of a network in a folder, or in the first folder within."""
    within = (path for path in sorted(folder.glob("*/config.json")) if "Transformer" in str(path))
    beside = folder / "config.json"
    return beside if beside.is_file() else next(within, beside)


def is_sparse(model: Model) -> bool:
    """Say whether a model makes vectors with a dimension for each term."""
    return isinstance(model, DualEncoder | ReleasedEncoder) and model.sparse


def longest(model: DualEncoder | ReleasedEncoder) -> tuple[int, int]:
    """Return the most tokens that a model reads of a query and of a doc; a guess if files say."""
    if isinstance(model, DualEncoder):
        return model.encoder.query_length, model.encoder.doc_length
    return model.query_length or RELEASED_TOKENS, model.doc_length or RELEASED_TOKENS


def stored(registry: Registry, model: str) -> int:
    """Return how many numbers a stored vector has; each takes 4 bytes."""
    entry = registry.model(model)
    size = None
    if isinstance(entry, ReleasedEncoder):
        size = entry.dimensions or (LATE_DIMENSIONS if entry.late else None)
    if isinstance(entry, DualEncoder):
        size = entry.encoder.truncate or entry.encoder.dimensions
    return int(DOC_TERMS) if is_sparse(entry) else size or shape(registry, model).hidden


def asked(registry: Registry, model: str) -> int:
    """Return the number of vectors of a query by a model, given its id."""
    entry = registry.model(model)
    late = isinstance(entry, ReleasedEncoder) and entry.late
    return LATE_VECTORS if late else 1


def docs(registry: Registry, dataset: str) -> int:
    """Return the number of docs of a corpus: of its largest pinned edition, or a guess."""
    pins = [edition.docs for edition in registry.datasets[dataset].editions]
    return max(pins, default=0) or guess(registry, dataset, OTHER_DOC_BYTES)


def text_bytes(registry: Registry, dataset: str) -> int:
    """Return the bytes of a corpus's text."""
    return docs(registry, dataset) * doc_bytes(registry, dataset)


def segmented_bytes(registry: Registry, dataset: str) -> int:
    """Return the bytes of the text that a collection is cut from; 0 if it is not cut."""
    split_id = registry.segmented_from(dataset)
    return text_bytes(registry, split_id.dataset) if split_id else 0


def doc_bytes(registry: Registry, dataset: str) -> int:
    """Return the mean bytes of a doc's text: of the largest edition that has it, or a guess."""
    editions = registry.datasets[dataset].editions
    sized = [(one.docs, one.doc_bytes) for one in editions if one.doc_bytes]
    return max(sized, key=itemgetter(0))[1] if sized else OTHER_DOC_BYTES


def doc_tokens(registry: Registry, dataset: str, limit: int) -> float:
    """Return the mean number of wordpieces that a model reads of a doc, at most `limit`."""
    return min(limit, doc_bytes(registry, dataset) / TOKEN_BYTES + SPECIAL_TOKENS)


def pair_tokens(registry: Registry, dataset: str, reading: Reading) -> float:
    """Return the mean number of wordpieces that a cross-encoder reads of a query and a doc."""
    query = min(reading.query_length, QUERY_TOKENS)
    return min(reading.length, query + doc_tokens(registry, dataset, reading.length))


def example(registry: Registry, model: Example, dataset: str) -> tuple[float, float]:
    """Return the mean wordpieces of a training example, and the most wordpieces of its docs."""
    if isinstance(model, CrossEncoder):
        pairs = 1 + model.group
        return pairs * pair_tokens(registry, dataset, model.reading), pairs * model.reading.length
    if isinstance(model, DualEncoder):
        docs, limit = 1 + model.drawn, model.encoder.doc_length
        query = min(model.encoder.query_length, QUERY_TOKENS)
        return query + docs * doc_tokens(registry, dataset, limit), docs * limit
    if isinstance(model, InverseCloze):
        limit = model.encoder.doc_length
        return model.span[1] + doc_tokens(registry, dataset, limit), limit
    if isinstance(model, QuestionGenerator):
        question, limit = model.question_length, model.doc_length
        return min(question, QUERY_TOKENS) + doc_tokens(registry, dataset, limit), question + limit
    return doc_tokens(registry, dataset, model.length), model.length


def written_for(registry: Registry, dataset: str, synthetic: Synthetic) -> int:
    """Return the number of docs that a generator writes questions for."""
    return min(synthetic.docs or docs(registry, dataset), docs(registry, dataset))


def vectors(registry: Registry, dataset: str, model: str) -> int:
    """Return the number of vectors of a corpus by a model: docs times vectors a doc."""
    return docs(registry, dataset) * registry.vectors_each(dataset, model)


def queries(registry: Registry, split_id: SplitId) -> int:
    """Return the number of queries of a split, without queries that a holdout removes."""
    return _pinned(registry, split_id, lambda pin: pin.queries)


def pairs(registry: Registry, split_id: SplitId) -> int:
    """Return the number of (query, positive) pairs of a training split.

    Each held out query removes one pair. If answers decide relevance, the number is a guess. A
    part has the share of pairs that it has of the queries.
    """
    if part := registry.datasets[split_id.dataset].splits[split_id.split].part:
        whole = SplitId(split_id.dataset, part.of)
        return round(pairs(registry, whole) * len(part.ids) / queries(registry, whole))
    level = registry.datasets[split_id.dataset].splits[split_id.split].positive_level
    if registry.datasets[split_id.dataset].source_of(split_id.split).relevant_by:
        return math.ceil(HELD * docs(registry, split_id.dataset) * queries(registry, split_id))

    if told_by_answers(registry, split_id):
        return round(ANSWERED_HITS * queries(registry, split_id))

    def positive(pin: SplitCount) -> int:
        return sum(n for grade, n in pin.relevance.items() if grade >= level) or pin.qrels

    return _pinned(registry, split_id, positive)


def docpairs(registry: Registry, split_id: SplitId) -> int:
    """Return the number of training triples of a split, including those of held out queries."""
    editions = registry.datasets[split_id.dataset].editions
    pins = [e.splits[split_id.split].docpairs for e in editions if split_id.split in e.splits]
    return max(filter(None, pins), default=pairs(registry, split_id))


def examples(registry: Registry, model: str) -> int:
    """Return the number of training examples of a model: pairs, triples or docs."""
    if not isinstance(registry.model(model), OnPairs):
        return sum(docs(registry, name) for name in corpora_of(registry, model))
    split_id, triples = registry.train_split(model), registry.negatives(model).triples
    if triples:
        every = triples.first or docpairs(registry, split_id)
    else:
        every = sum(pairs(registry, at) for at in registry.train_splits(model).values())
    if fold := registry.fold_of(model):  # a held out fold takes away its share of the queries
        held_out = queries(registry, SplitId(split_id.dataset, fold)) / queries(registry, split_id)
        return max(1, round((1 - held_out) * every))
    return every


def _pinned(registry: Registry, split_id: SplitId, count: Callable[[SplitCount], int]) -> int:
    dataset, name = registry.datasets[split_id.dataset], split_id.split
    if synthetic := dataset.splits[name].synthetic:
        return synthetic.per_doc * written_for(registry, split_id.dataset, synthetic)
    if derived := dataset.splits[name].derived:
        if isinstance(derived, Adverse):
            return _pinned(registry, SplitId(split_id.dataset, derived.of), count)
        return len(derived.ids) if isinstance(derived, Listed) else derived.queries
    drawn = [other.holdout for other in dataset.splits.values() if other.holdout]
    held_out = sum(holdout.queries for holdout in drawn if holdout.of == name)
    if taken := registry.questions_of(split_id):
        return _pinned(registry, taken, count) - held_out
    counts = [count(edition.splits[name]) for edition in dataset.editions if name in edition.splits]
    return max(counts) - held_out if counts else UNPINNED_QUERIES


def steps(training: Training, examples: int) -> int:
    """Return the number of steps of a training on `examples` examples."""
    if isinstance(training.steps, StepRule):
        return training.steps.most
    if training.steps is not None:
        return training.steps
    return max(1, math.ceil((training.epochs or 0) * examples / training.batch_size))


def listed(registry: Registry, split_id: SplitId, candidates: str) -> int:
    """Return the largest number of docs in the candidate lists of all queries together."""
    of_all = queries(registry, split_id) * hits(registry, candidates)
    return min(of_all, docs(registry, split_id.dataset))


def hits(registry: Registry, system: str) -> int:
    """Return the largest number of docs that a run of a system holds for a query."""
    entry = registry.systems[system]
    if isinstance(entry, RerankSystem):
        return hits(registry, entry.first_stage)
    if isinstance(entry, CandidatesSystem):
        return entry.most
    return EXTERNAL_HITS if isinstance(entry, ExternalSystem) else entry.k


class Assumption(float):
    """A number with a sentence for readers: its meaning and its source."""

    text: str

    def __new__(cls, value: float, text: str) -> "Assumption":
        """Make an assumption from a number and a sentence in which {} stands for the number."""
        made = super().__new__(cls, value)
        made.text = text.format(f"{value:.3g}")
        return made


TOKEN_BYTES = Assumption(4.5, "a token is {} bytes of text")
ZIP = Assumption(0.36, "compressed text takes {} of its bytes (MS MARCO's archive; NFCorpus 0.19)")
EXPORT_MB = Assumption(20, "a core exports {} MB of text a second (growth benchmark: 27)")
SEGMENT_MB = Assumption(1.8, "a core cuts {} MB of text a second into wordpieces and segments")
ANSWERS_MB = Assumption(4, "a core looks for answers in {} MB of text a second")
HELD = Assumption(0.002, "a doc holds an answer to {} of a split's questions")
ANSWERED_HITS = Assumption(5, "{} hits of a question hold an answer, each a training pair")
QUERY_BYTES = Assumption(40, "a query takes {} bytes, a judgement half of that")


INDEX_MB = Assumption(
    2.5,
    "a core indexes {} MB of text a second (growth benchmark: 2.8; published: MS MARCO passages in "
    "3 minutes on a laptop)",
)


INDEX = Assumption(0.5, "an index takes {} of the bytes of its text (NFCorpus: 0.32)")


SEARCH = Assumption(
    1 / 13 / 8.84,
    "a BM25 query takes {} s for each million docs of the corpus (published: 13 queries a second "
    "on one thread over the 8.84 million MS MARCO passages), and 0.003 s at least",
)


RM3 = Assumption(2.5, "with RM3 a query takes {} times as long (random words: 2.3 to 2.8)")


GRID = Assumption(0.006, "ranking at all settings of RM3 takes {} s a query (mini: 0.007)")
GRID_US = Assumption(35, "and {} µs for each setting (random words, 900 settings: 0.08 s in all)")
GRID_DOCS = Assumption(0.2, "and {} s for each million docs (random words: 0.2)")


DOC_TERMS = Assumption(80, "a sparse vector takes the room of {} numbers (40 terms, 8 bytes each)")
SCORE_US = Assumption(5, "scoring a given doc takes {} µs (mini: 4), and its query a BM25 search")
LINE_BYTES = Assumption(11, "a line of a run takes {} bytes compressed (NFCorpus: 10.7)")
LINE_US = Assumption(1, "reading, fusing, cutting or measuring a line of a run takes {} µs (mini)")
TRIAL_US = Assumption(1, "trying a lambda or a depth on a line takes {} µs (mini)")
EXACT_US = Assumption(1, "the search for an exact lambda takes {} µs a line (mini)")
WEIGHTS = Assumption(0.1, "term weights take {} of the bytes of the text (NFCorpus: 0.04)")


PRODUCT_GFLOPS = Assumption(
    60,
    "a core multiplies vectors at {} GFLOPS (FAISS on one thread, 768 dimensions: 80); vectors are "
    "float32",
)


GIVEN = Assumption(768, "vectors of others and of a program have {} dimensions")
PROGRAM = Assumption(50, "a program answers {} texts a second")
READ_MB = Assumption(500, "a disk reads {} MB a second")
STEP_S = Assumption(0.02, "a training step takes {} s at least (H100: 0.019, H200: 0.014)")


MEMORY = Assumption(
    16, "training holds {} bytes a parameter (weights, gradients, Adam's moments), reading 4"
)


ACTIVATIONS = Assumption(
    50,
    "a layer holds {} bytes for each token and hidden unit (Korthikanti et al. 2022: 34, and with "
    "texts of 128 tokens 10 for attention); training holds all layers, reading one",
)


QUERY_TOKENS = Assumption(
    10,
    "a query has {} tokens; operations are 2 a weight of the layers and token read, and 3 times "
    "that in training",
)


LSA_MB = Assumption(0.5, "a core makes a backbone from {} MB of text a second (mini)")
PAGE_S = Assumption(
    2,
    "a page takes {} s with its tests and its drawing (mini: 0.1 to 5; 84 comparisons of 6,980 "
    "queries: 2)",
)

START_S = Assumption(1, "a job takes {} s of a core to start (forked 0.02 to 0.5, else up to 4)")
CORE_GFLOPS = Assumption(60, "without a card a core does {} GFLOPS (MiniLM on NFCorpus: 69)")
ALL = [number for number in globals().values() if isinstance(number, Assumption)]
LEAST = 1000  # docs of a corpus whose files are small, missing or on the hub
UNZIPPED = 3  # bytes of text for each byte of gzip data


@memoised
def guess(registry: Registry, dataset: str, doc_bytes: int) -> int:
    """Return `guessed_docs` of a dataset, memoised: a graph asks for it at every job."""
    return guessed_docs(registry.datasets[dataset], doc_bytes)


def guessed_docs(dataset: Dataset, doc_bytes: int) -> int:
    """Return the number of docs of `doc_bytes` bytes that fill a corpus's files, at least LEAST.

    Only estimates of time and disk depend on this number; no result does.
    """
    named = {name: dataset.within(name) for name in dataset.source_files(None)}
    every = (
        path for n, within in named.items() for path in roots.files_of(roots.data() / n, within)
    )
    paths = [path for path in every if path.is_file()]
    sizes = (path.stat().st_size * (UNZIPPED if path.suffix == ".gz" else 1) for path in paths)
    return max(LEAST, sum(sizes) // doc_bytes)

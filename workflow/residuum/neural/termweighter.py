"""Term weighters: a BERT that reads a doc and gives each of its words a weight (DeepCT).

Usage: `tfs = TermWeighter.load(folder, device).predict(texts, batch_size=64)`. It learns the recall
of a doc's words in its queries. Source: Dai and Callan 2019 (arXiv:1910.10687), section 3.
AutoModelForTokenClassification loads a checkpoint too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from residuum.artefacts import contracts
from residuum.artefacts.streams import chunks
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Positive, Strict
from residuum.config.schema.models import TermWeights
from residuum.neural import devices, pretrained
from residuum.neural.batches import rows_of, training_pairs
from residuum.neural.devices import Device
from residuum.neural.learners import BatchLoss, HeldOut, Learner, Outputs, Start, Values
from residuum.neural.losses import squared_errors
from residuum.neural.overlap import ahead
from residuum.neural.termrecall import recall, targets, terms
from residuum.neural.tokens import TEXTS_AT_ONCE, Texts

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


class Weighting(Strict):
    """Settings of a checkpoint: tokens read of a doc, and the factor from a weight to a tf."""

    length: Positive
    scale: Positive


class Doc(NamedTuple):
    """A doc as the model reads it: its words, positions of their first subwords, all token ids."""

    words: list[str]
    places: list[int]
    ids: np.ndarray


class TermWeighter(pretrained.TextModel):
    """A contextual encoder and a linear layer: y = w . T + b of each word's first subword."""

    schema, remedy = Weighting, "length"
    settings: Weighting

    def __init__(self, source: pretrained.Source, settings: Weighting, device: Device) -> None:
        from transformers import AutoModelForTokenClassification as Head

        self.hold(*pretrained.load(Head, source, num_labels=1), settings, device)
        pretrained.check_length(self.model, "length", settings.length)
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None or backend.normalizer is None or backend.pre_tokenizer is None:
            raise ResiduumError(
                f"{source.name}: term weights need a tokenizer that cuts words, as BERT's"
            )

    def exact(self) -> Collection[Module]:
        """Return the layer of the weights, whose results are scaled and rounded."""
        return [self.model.classifier]

    def words(self, text: str) -> list[str]:
        """Return the words of a text as the tokenizer sees them, before it cuts subwords."""
        backend = self.tokenizer.backend_tokenizer
        normal = backend.normalizer.normalize_str(text)
        return [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(normal)]

    def tokenise(self, texts: Sequence[str]) -> list[Doc]:
        """Return each text's words and tokens: [CLS] text [SEP], cut to the length."""
        docs = []
        for some in chunks(texts, TEXTS_AT_ONCE):
            rows = [self.words(text) for text in some]
            cut = {"truncation": True, "max_length": self.settings.length}
            encodings = self.tokenizer(rows, is_split_into_words=True, **cut).encodings
            for words, encoding in zip(rows, encodings, strict=True):
                places = first_subwords(encoding.word_ids)
                ids = np.array(encoding.ids, dtype=np.int32)
                docs.append(Doc([words[i] for i in places], list(places.values()), ids))
        return docs

    def forward(self, docs: Sequence[Doc]) -> Tensor:
        """Return the weight of each word, all docs' words in one row: float32, with gradient."""
        given, _ = self.inputs.arguments([doc.ids for doc in docs])
        with self.computing():
            weights = self.model(**given).logits.squeeze(-1)
        rows = np.repeat(np.arange(len(docs)), [len(doc.places) for doc in docs])
        columns = np.array([place for doc in docs for place in doc.places], dtype=np.int64)
        device = self.device.name
        return weights.float()[devices.put(rows, device), devices.put(columns, device)]

    def predict(self, texts: Sequence[str], batch_size: int) -> list[dict[str, int]]:
        """Return each text's term frequencies, {word: tf of 1 or more}, in batches by length.

        While a GPU weighs a part of the texts, the next part is tokenised, and finished weights
        become frequencies.
        """
        scale, at_once = self.settings.scale, self.at_once
        parts: Iterable[list[Doc]] = [self.tokenise(texts)] if at_once is None else []
        if at_once is not None:
            parts = ahead(map(self.tokenise, chunks(texts, at_once)))
        made: list[dict[str, int]] = []

        def keep(first: int, docs: Sequence[Doc], i: int, weights: np.ndarray) -> None:
            made[first + i] = frequencies(docs[i].words, weights.tolist(), scale)

        with self.keeping() as put:
            for docs in parts:
                first = len(made)
                made.extend({} for _ in docs)
                self._weigh(docs, batch_size, put, partial(keep, first, docs))
        return made

    def weights(self, docs: Sequence[Doc], batch_size: int) -> list[np.ndarray]:
        """Return the weights of each doc's words, in batches by length."""
        made: list[np.ndarray] = [np.empty(0)] * len(docs)
        with self.keeping() as put:
            self._weigh(docs, batch_size, put, made.__setitem__)
        return made

    def _weigh(
        self,
        docs: Sequence[Doc],
        batch_size: int,
        put: pretrained.Put,
        keep: Callable[[int, np.ndarray], None],
    ) -> None:
        """Call `keep(number, weights)` with the weights of each doc's words."""
        import torch

        order = sorted(range(len(docs)), key=lambda i: (len(docs[i].ids), i))

        def keep_all(batch: Sequence[int], weights: np.ndarray) -> None:
            ends = np.cumsum([len(docs[i].places) for i in batch])
            for i, of_doc in zip(batch, np.split(weights, ends[:-1]), strict=True):
                keep(i, of_doc)

        def weigh(batch: Sequence[int], _: int) -> None:
            put(keep_all, batch, devices.arriving(self.forward([docs[i] for i in batch])))

        self.model.eval()
        lengths = [len(doc.ids) for doc in docs]
        with torch.inference_mode():
            for batch, size in self.batches(order, lengths, batch_size, self.settings.length):
                self.sizes.each(batch, size, weigh)


def first_subwords(word_ids: Iterable[int | None]) -> dict[int, int]:
    """Return the position of each word's first subword, from the word number of each token.

    Special tokens have no word number. A word that was cut off entirely has no position.
    """
    places: dict[int, int] = {}
    for place, word in enumerate(word_ids):
        if word is not None:
            places.setdefault(word, place)
    return places


def frequencies(words: Sequence[str], weights: Sequence[float], scale: int) -> dict[str, int]:
    """Return tf = round(scale * weight) of the words whose scaled weight is 1 or more.

    A word that occurs several times takes its largest weight; words come in the doc's order.
    """
    largest: dict[str, float] = {}
    for word, weight in zip(words, weights, strict=True):
        largest[word] = max(weight, largest.get(word, weight))
    scaled = {word: scale * weight for word, weight in largest.items()}
    return {word: round(value) for word, value in scaled.items() if value >= 1}


class TermBatch(NamedTuple):
    """Docs that have a word, with their ids and the target of each word; words are dropped."""

    doc_ids: list[str]
    docs: list[Doc]
    targets: list[np.ndarray]


class TermLearner(Learner[TermBatch]):
    """A term weighter in training on docs in seeded order; its outputs are the words' weights."""

    encoder: TermWeighter

    def __init__(self, spec: TermWeights, start: Start, tuples: Path, texts: Texts) -> None:
        settings = Weighting(length=spec.length, scale=spec.scale)
        self.encoder = TermWeighter(start.source, settings, start.device)
        pairs = training_pairs(tuples, start.held_out)
        queries = dict(texts.read("query", {pair.query_id for pair in pairs}))
        docs = texts.read("doc", {pair.positive for pair in pairs})
        self.all = build_examples(self.encoder, pairs, queries, docs)
        super().__init__(self.encoder.model, spec, start, len(self.all.docs))
        self.mean = float(np.concatenate(self.all.targets).mean())

    def batch(self, step: int) -> TermBatch:
        rows = [visit.number for visit in self.sampler.visits(step)]
        return rows_of(self.all, rows)

    def examples(self, batch: TermBatch) -> int:
        """Return the number of words in a batch."""
        return sum(map(len, batch.targets))

    def forward(self, batch: TermBatch) -> Outputs:
        """Return the weights of a batch's words."""
        return [self.encoder.forward(batch.docs)]

    def indifferent(self, batch: TermBatch) -> Outputs:
        """Return the mean target as the weight of each word."""
        import torch

        return [torch.full([sum(map(len, batch.targets))], self.mean)]

    @classmethod
    def on_held_out(cls, spec: TermWeights, start: Start, trained: Path, held: HeldOut) -> Values:
        """Return each relevant doc's mean squared error, for the model and the best constant.

        The mean over docs of their mean targets is the constant weight with the least mean error.
        """
        weighter = TermWeighter.load(trained, start.device)
        pairs = [contracts.Tuple(query, doc, 0.0, [], []) for query, doc in held.relevant]
        relevant = {pair.positive for pair in pairs}
        docs = (item for item in held.docs.items() if item[0] in relevant)
        examples = build_examples(weighter, pairs, held.queries, docs)
        constant = float(np.mean([target.mean() for target in examples.targets]))
        predicted = weighter.weights(examples.docs, held.batch_size)
        equal = [constant - target for target in examples.targets]
        wrong = [w - target for w, target in zip(predicted, examples.targets, strict=True)]
        errors = {
            name: np.array([float(np.mean(errors**2)) for errors in errors_of_docs])
            for name, errors_of_docs in {"mean target": equal, "trained": wrong}.items()
        }
        return Values({"doc_id": examples.doc_ids}, errors)

    def losses(self, batch: TermBatch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return the squared error of each word."""
        [weights] = outputs
        targets = devices.put(np.concatenate(batch.targets), weights.device.type)
        return BatchLoss(squared_errors(weights, targets), {})


def build_examples(
    weighter: TermWeighter,
    pairs: Iterable[contracts.Tuple],
    queries: Mapping[str, str],
    positives: Iterable[tuple[str, str]],
) -> TermBatch:
    """Return an example for each positive of the pairs that has a word, in the order given."""
    queries_of: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        queries_of[pair.positive].add(pair.query_id)
    known = {query_id: terms(text) for query_id, text in queries.items()}
    examples = TermBatch([], [], [])
    for some in chunks(positives, TEXTS_AT_ONCE):
        docs = weighter.tokenise([text for _, text in some])
        for (doc_id, text), doc in zip(some, docs, strict=True):
            recalls = recall([known[query_id] for query_id in queries_of[doc_id]])
            if doc.words:
                targets_of_words = targets(text, doc.words, recalls)
                examples.doc_ids.append(doc_id)
                examples.docs.append(doc._replace(words=[]))
                examples.targets.append(np.array(targets_of_words, dtype=np.float32))
    return examples

"""A question generator in training, on queries of relevant docs and on spans of docs beside them.

It learns the likelihood of a query's tokens, given a relevant doc. Usage: `QuestionLearner(spec,
start, tuples, texts)`, trained as any learner is; `Spans(...).draw(count, seed)` returns spans to
write. Ma et al. 2020 (CLEF), section 2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from residuum.artefacts import contracts
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import QuestionGenerator
from residuum.config.schema.questions import SpanWriting
from residuum.config.specs import derive
from residuum.neural.backbones import word_starts
from residuum.neural.batches import EpochSampler, training_pairs
from residuum.neural.learners import BatchLoss, HeldOut, Learner, Outputs, Start, Values
from residuum.neural.seq2seq import Lengths, QuestionWriter, shared_model, token_losses
from residuum.neural.tokens import PackedTokens, Texts, TokenStore

COMMON = 0.2  # tokens in a larger share of the docs count as common


class QuestionBatch(NamedTuple):
    """Docs, their questions or spans as token ids, and the start token of each."""

    docs: list[np.ndarray]
    questions: list[np.ndarray]
    starts: list[int]


class QuestionLearner(Learner[QuestionBatch]):
    """A question generator in training on pairs in seeded order; its outputs are logits.

    If it writes spans of docs too, spans begin with the token that ends a text. The model can then
    tell the two tasks apart. The checkpoint writes questions only.
    """

    spec: QuestionGenerator
    encoder: QuestionWriter

    def __init__(self, spec: QuestionGenerator, start: Start, tuples: Path, texts: Texts) -> None:
        self.encoder = begin(spec, start)
        self.pairs = training_pairs(tuples, start.held_out)
        super().__init__(self.encoder.model, spec, start, len(self.pairs))
        queries, docs = {p.query_id for p in self.pairs}, {p.positive for p in self.pairs}
        self.questions = TokenStore(texts.read("query", queries), self.encoder.tokenise_questions)
        self.docs = TokenStore(texts.read("doc", docs), self.encoder.tokenise_docs)
        self.spans = Spans(spec.spans, start.corpora, self.encoder) if spec.spans else None
        size = spec.training.batch_size
        self.of_spans = round(spec.spans.share * size) if spec.spans else 0
        self.sampler = EpochSampler(len(self.pairs), size - self.of_spans, start.seed)

    def batch(self, step: int) -> QuestionBatch:
        pairs = [self.pairs[visit.number] for visit in self.sampler.visits(step)]
        docs = self.docs.tokens([pair.positive for pair in pairs])
        questions = self.questions.tokens([pair.query_id for pair in pairs])
        starts = [self.encoder.marks.start] * len(pairs)
        if self.spans:
            seed = derive(self.start.seed, "spans", str(step))
            read, written = self.spans.draw(self.of_spans, seed)
            docs, questions = docs + read, questions + written
            starts += [self.encoder.marks.end] * len(read)
        return QuestionBatch(docs, questions, starts)

    def examples(self, batch: QuestionBatch) -> int:
        """Return the number of tokens to predict."""
        return sum(map(len, batch.questions))

    def forward(self, batch: QuestionBatch) -> Outputs:
        """Return the logits (tokens of all questions, vocabulary)."""
        return [self.encoder.forward(*batch)]

    def losses(self, batch: QuestionBatch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return -log p of each token of the questions."""
        return BatchLoss(token_losses(outputs[0], batch.questions), {})

    @classmethod
    def on_held_out(
        cls, spec: QuestionGenerator, start: Start, trained: Path, held: HeldOut
    ) -> Values:
        """Return the mean -log p of each query's tokens, given a relevant doc.

        It is computed for the trained model, for its start, and for the trained model given another
        query's doc. A model that ignores docs gives the same in the first and third case.
        """
        query_ids, doc_ids = map(list, zip(*held.relevant, strict=True))
        first = begin(spec, start).freeze()
        last = QuestionWriter.load(trained, start.device)
        errors = {
            "start": _errors(first, held, query_ids, doc_ids),
            "shuffled docs": _errors(last, held, query_ids, others_docs(held.relevant)),
            "trained": _errors(last, held, query_ids, doc_ids),
        }
        return Values({"doc_id": doc_ids}, errors)


def begin(spec: QuestionGenerator, start: Start) -> QuestionWriter:
    """Return the generator at the beginning of a training."""
    made = shared_model(start.source, spec.layers, spec.cross_attention, spec.head_gain)
    lengths = Lengths(doc_length=spec.doc_length, question_length=spec.question_length)
    return QuestionWriter(start.source, lengths, start.device, made)


def _errors(
    writer: QuestionWriter, held: HeldOut, query_ids: Sequence[str], docs: Sequence[str]
) -> np.ndarray:
    """Return the mean -log p of each query's tokens, given one doc per query."""
    rows = writer.tokenise_questions(held.queries[query_id] for query_id in query_ids)
    texts = writer.tokenise_docs(held.docs[doc_id] for doc_id in docs)
    return writer.errors(list(texts), list(rows), held.batch_size)


def others_docs(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return for each pair of a query and a doc another pair's doc, irrelevant to the query.

    The search starts half the pairs further on: neighbouring pairs may share a topic. If all docs
    are relevant to a query, it keeps its own.
    """
    known, count = set(pairs), len(pairs)
    docs = []
    for number, (query_id, relevant) in enumerate(pairs):
        rest = (pairs[(number + count // 2 + step) % count][1] for step in range(count))
        docs.append(next((doc for doc in rest if (query_id, doc) not in known), relevant))
    return docs


class Corpus(NamedTuple):
    """The docs of a corpus as token ids with special tokens, and a mark for common tokens."""

    docs: PackedTokens
    usable: np.ndarray
    common: np.ndarray


class Spans:
    """Docs drawn equally often from each corpus, and a span of each doc.

    Words that occur in no question, such as names of another field, can then still be written.
    """

    def __init__(self, how: SpanWriting, folders: Sequence[Path], writer: QuestionWriter) -> None:
        self.how, self._end = how, np.array([writer.marks.end], dtype=np.int32)
        special = np.array(sorted({*writer.marks.banned, writer.marks.end}), dtype=np.int32)
        self._special = special
        self._begins = word_starts(writer.tokenizer)
        self.corpora = [self._read(folder, writer) for folder in folders]

    def _read(self, folder: Path, writer: QuestionWriter) -> Corpus:
        docs = PackedTokens(writer.tokenise_docs(text for _, text in contracts.read_corpus(folder)))
        counts, number = np.zeros(len(self._begins), np.int64), len(docs.lengths)
        lengths = np.zeros(number, np.int64)  # in tokens that are neither special nor unknown
        for doc in range(number):
            row = docs.row(doc)
            counts[np.unique(row)] += 1
            lengths[doc] = np.count_nonzero(~np.isin(row, self._special))
        usable = np.flatnonzero(lengths > self.how.length[1])
        if not len(usable):
            text = f"no doc has more than the {self.how.length[1]} tokens of a span"
            raise ResiduumError(f"{folder}: {text}. Give smaller numbers in spans.length")
        return Corpus(docs, usable, counts > COMMON * number)

    def draw(self, count: int, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return docs and a span of each with its end, as token ids; the seed determines both."""
        random, docs, spans = np.random.default_rng(seed), list[np.ndarray](), list[np.ndarray]()
        for number in range(count):
            corpus = self.corpora[number % len(self.corpora)]
            doc = corpus.docs.row(int(random.choice(corpus.usable)))
            ordinary = doc[~np.isin(doc, self._special)]
            docs.append(doc)
            spans.append(np.concatenate([self._best(ordinary, corpus.common, random), self._end]))
        return docs, spans

    def _best(self, doc: np.ndarray, common: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Return the drawn span whose tokens recur most often in the rest of the doc.

        Common tokens do not count; of equal spans the first is taken.
        """
        least, most = self.how.length
        starts = np.flatnonzero(self._begins[doc[: len(doc) - least + 1]])
        starts = starts if len(starts) else np.arange(len(doc) - least + 1)
        best, most_recurring = doc[:least], -1.0
        for _ in range(self.how.tries):
            first = int(random.choice(starts))
            span = doc[first : first + int(random.integers(least, most + 1))]
            rest = np.delete(doc, slice(first, first + len(span)))
            recurring = float((np.isin(span, rest) & ~common[span]).mean())
            if recurring > most_recurring:
                best, most_recurring = span, recurring
        return best

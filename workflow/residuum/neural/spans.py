"""Spans of docs that a question generator writes beside its questions, from texts alone.

Usage: `spans = Spans(how, folders, writer); docs, written = spans.draw(count, seed)`. Words that
occur in no question, such as names of another field, can then still be written.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from residuum.artefacts import contracts
from residuum.cli.errors import ResiduumError
from residuum.config.schema.questions import SpanWriting
from residuum.neural.backbones import word_starts
from residuum.neural.seq2seq import QuestionWriter
from residuum.neural.tokens import PackedTokens

COMMON = 0.2  # tokens in a larger share of the docs count as common


class Corpus(NamedTuple):
    """The docs of a corpus as token ids with special tokens, and a mark for common tokens."""

    docs: PackedTokens
    usable: np.ndarray
    common: np.ndarray


class Spans:
    """Docs drawn equally often from each corpus, and a span of each doc."""

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
            text = f"no doc has a span of {self.how.length[1]} tokens, and others beside it"
            raise ResiduumError(f"{folder}: {text}; give smaller numbers in spans.length")
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

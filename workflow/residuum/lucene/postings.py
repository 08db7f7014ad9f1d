"""Read postings out of an index: the docs of each term and how often it stands in them.

Usage: `Postings(reader, bm25).of(terms)`. Lucene's own scores follow from them (`scores`).
"""

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.systems import Bm25
from residuum.lucene import handles
from residuum.lucene.handles import (
    BUFFER,
    LIST,
    STRING,
    bound,
    chain,
    converted,
    ignoring,
    method,
    nested,
    reordered,
    repeated,
    static,
)
from residuum.lucene.indexing import CONTENTS, LUCENE
from residuum.lucene.jvm import JavaObject, cast, java

READER = f"{LUCENE}.index.IndexReader"
ENUM, NORMS = f"{LUCENE}.index.PostingsEnum", f"{LUCENE}.index.NumericDocValues"
REF, MULTI = f"{LUCENE}.util.BytesRef", f"{LUCENE}.index.MultiTerms"
FREQUENCIES = 8  # PostingsEnum.FREQS: docs and tf, no positions
PAIR = np.dtype([("doc", ">i4"), ("tf", ">i4")])  # as Java's buffer holds them
AT_ONCE, MOST_KEPT = 4_000_000, 64_000_000  # postings that one buffer, and memory, holds
LENGTHS = 256  # number of doc lengths that Lucene's byte can hold
ONE = np.float32(1)


class Listed(NamedTuple):
    """The docs of a term in rising order (int32), and of each tf x 1 / norm (float32)."""

    docs: np.ndarray
    parts: np.ndarray


class Statistics(NamedTuple):
    """What BM25 takes of an index: the docs that have a term, and their mean length, float32."""

    docs: int
    mean_length: np.float32

    def idf(self, frequencies: np.ndarray) -> np.ndarray:
        """Return the idf of terms, float64, of their document frequencies.

        Source: BM25Similarity.idf, which rounds it to float32.
        """
        idf: np.ndarray = np.log(1 + (self.docs - frequencies + 0.5) / (frequencies + 0.5))
        return idf


def statistics(reader: JavaObject) -> Statistics:
    """Return the statistics of an index's docs."""
    counted = java(MULTI).getTerms(reader, CONTENTS)  # None if no doc has a term
    docs = int(counted.getDocCount()) if counted else 0
    total = int(counted.getSumTotalTermFreq()) if counted else 0
    return Statistics(docs, np.float32(total / max(1, docs)))


def in_one_segment(reader: JavaObject) -> bool:
    """Say whether an index has one segment at most, without deleted docs."""
    return int(reader.leaves().size()) <= 1 and not reader.hasDeletions()


class Postings:
    """The postings of an index, for BM25. Those read last are kept, some hundred MB of them."""

    def __init__(self, reader: JavaObject, bm25: Bm25) -> None:
        self._reader, self._bm25 = reader, bm25
        self.docs = int(reader.maxDoc())
        if not in_one_segment(reader):
            raise ResiduumError("an index of several segments, or with deleted docs: index again")
        self._statistics = statistics(reader)
        self._frequency = dict[str, int]()
        self._kept, self._size = OrderedDict[str, Listed](), 0

    def idf(self, terms: Sequence[str]) -> np.ndarray:
        """Return Lucene's float32 idf of each term."""
        df = np.array([*map(self._frequencies(terms).__getitem__, terms)], dtype=np.int64)
        return self._statistics.idf(df).astype(np.float32)

    def prepare(self, terms: Sequence[str]) -> None:
        """Read the postings of terms that will be asked for, if they fit into one buffer."""
        frequency = self._frequencies(terms)
        new = [term for term in terms if term not in self._kept and frequency[term]]
        if new and sum(frequency[term] for term in new) <= AT_ONCE:
            self._read(new)

    def of(self, terms: Sequence[str]) -> list[Listed]:
        """Return the postings of each of different terms; a term of no doc has none."""
        frequency, found = self._frequencies(terms), dict[str, Listed]()
        for term in terms:
            if term in self._kept:
                found[term] = self._kept[term]
                self._kept.move_to_end(term)
        new = [term for term in terms if term not in found and frequency[term]]
        while new:
            sizes = np.cumsum([frequency[term] for term in new])
            number = max(1, int(np.searchsorted(sizes, AT_ONCE, "right")))
            found |= self._read(new[:number])
            new = new[number:]
        nothing = Listed(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))
        return [found.get(term, nothing) for term in terms]

    def _frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        if new := [term for term in terms if term not in self._frequency]:
            self._frequency |= zip(new, document_frequencies(self._reader, new), strict=True)
        return self._frequency

    def _read(self, terms: list[str]) -> dict[str, Listed]:
        """Read the postings of terms, and keep them in place of those used longest ago."""
        sizes = [self._frequency[term] for term in terms]
        buffer = java(BUFFER).allocate(sum(sizes) * PAIR.itemsize)
        read = handles.each(bound(self._reading, 0, buffer))
        handles.function(read).apply("\n".join(terms))
        pairs = np.frombuffer(handles.content(buffer), dtype=PAIR)
        docs = pairs["doc"].astype(np.int32)
        parts = pairs["tf"].astype(np.float32) * self._inverse_norms[docs]
        ends = np.cumsum(sizes)[:-1]
        both = zip(np.split(docs, ends), np.split(parts, ends), strict=True)
        # Copies: a part of an array would keep the whole of it in memory.
        found = {t: Listed(d.copy(), p.copy()) for t, (d, p) in zip(terms, both, strict=True)}
        self._kept |= found
        self._size += sum(sizes)
        while self._size > MOST_KEPT:
            self._size -= len(self._kept.popitem(last=False)[1].docs)
        return found

    @cached_property
    def _reading(self) -> JavaObject:
        return _reading(self._reader)

    @cached_property
    def _inverse_norms(self) -> np.ndarray:
        """1 / (k1 (1 - b + b |d| / avgdl)) of each doc, float32. Source: BM25Similarity.scorer."""
        k1, b = np.float32(self._bm25.k1), np.float32(self._bm25.b)
        kept = lengths().astype(np.float32)
        with np.errstate(divide="ignore"):  # k1 may be 0
            inverse = ONE / (k1 * ((ONE - b) + b * kept / self._statistics.mean_length))
        return inverse[_norms(self._reader, self.docs).astype(np.int64) + LENGTHS // 2]


def lengths() -> np.ndarray:
    """Return the doc length of each byte in which Lucene keeps one, from -128 to 127."""
    codes = range(-LENGTHS // 2, LENGTHS // 2)
    small = java(f"{LUCENE}.util.SmallFloat")
    return np.array([int(small.byte4ToInt(code)) for code in codes])


def document_frequencies(reader: JavaObject, terms: Sequence[str]) -> list[int]:
    """Return the number of docs that hold each term."""
    if not terms:
        return []
    made = bound(handles.constructor(f"{LUCENE}.index.Term", STRING, STRING), 0, CONTENTS)
    count = bound(method(READER, "docFreq", "int", f"{LUCENE}.index.Term"), 0, reader)
    written = static("java.lang.Integer", "toString", STRING, "int")
    lines = handles.function(handles.each(chain(made, count, written))).apply("\n".join(terms))
    return [*map(int, handles.texts(cast(LIST, lines)))]


def _reading(reader: JavaObject) -> JavaObject:
    """Return a handle from a buffer and a term to the buffer, after the term's docs and tfs."""
    put = method(BUFFER, "putInt", BUFFER, "int")
    doc = nested(put, 1, method(ENUM, "nextDoc", "int"))
    both = nested(nested(put, 1, method(ENUM, "freq", "int")), 0, doc)  # the doc, then its tf
    one = ignoring(reordered(both, 0, 1, 1), 1, "int")
    times = ignoring(converted(method(ENUM, "cost", "long"), "int"), 0, BUFFER)
    opened = static(MULTI, "getTermPostingsEnum", ENUM, READER, STRING, REF, "int")
    opened = bound(bound(opened, 3, FREQUENCIES), 0, reader, CONTENTS)
    opened = nested(opened, 0, handles.constructor(REF, "java.lang.CharSequence"))
    return nested(repeated(one, times), 1, opened)


def _norms(reader: JavaObject, docs: int) -> np.ndarray:
    """Return the byte in which Lucene keeps the length of each doc, int8; any of an empty doc."""
    put = method(BUFFER, "put", BUFFER, "byte")
    exact = method(NORMS, "advanceExact", "boolean", "int")
    value = converted(method(NORMS, "longValue", "long"), "byte")
    moved = nested(ignoring(value, 0, "boolean"), 0, exact)
    one = reordered(nested(put, 1, moved), 0, 2, 1, 2)
    times = ignoring(handles.constant("int", docs), 0, BUFFER, NORMS)
    values = java(f"{LUCENE}.index.MultiDocValues").getNormValues(reader, CONTENTS)
    buffer = java(BUFFER).allocate(docs)
    handles.function(bound(repeated(one, times), 1, values)).apply(buffer)
    return np.frombuffer(handles.content(buffer), dtype=np.int8)


def scores(weights: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return Lucene's float32 scores, given float32 (..., terms): boost x idf, and `parts`.

    A part of 0 is a term that the doc lacks. Lucene adds float32 terms in double precision.
    Source: BM25Similarity.BM25Scorer.
    """
    total: np.ndarray = term_scores(weights, parts).sum(axis=-1, dtype=np.float64)
    return total.astype(np.float32)


def term_scores(weights: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return what terms add to Lucene's scores, float32, by `weights` and `parts` (`scores`)."""
    each: np.ndarray = weights - weights / (ONE + parts)
    return each

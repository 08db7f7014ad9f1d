"""Cut another collection's docs into segments: whole sentences, packed by wordpieces.

Usage: `docs(collection)` of source `segments`; `encoded` and `segments` are its parts. Source: Lee,
Chang and Toutanova, ACL 2019, section 6 (blocks of whole sentences). Luan et al., TACL 2021,
sections 5 and 6, use several lengths.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from residuum.artefacts import contracts, wordpieces
from residuum.artefacts.streams import chunks
from residuum.cli.errors import ResiduumError, unknown
from residuum.cli.progress import track
from residuum.config.schema.datasets import Collection
from residuum.config.schema.sources import Segmented

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

SENTENCE_END = re.compile(r"""(?<=[.!?])["'\u201d\u2019)\]]*\s+|\s*\n\s*""")
TEXTS_AT_ONCE = 256
Span = tuple[int, int]  # first token, and the token after the last


class Encoded(NamedTuple):
    """A doc's tokens: ids, offsets in the text, and which begin a word or a sentence."""

    doc_id: str
    text: str
    ids: Sequence[int]
    offsets: Sequence[Span]  # in characters
    words: Sequence[bool]
    sentences: Sequence[int]  # each sentence's first token, then the number of tokens

    def slice(self, span: Span) -> str:
        """Return the text of a span of tokens."""
        return self.text[self.offsets[span[0]][0] : self.offsets[span[1] - 1][1]]


def sentences(text: str) -> list[int]:
    """Return where sentences begin: after a full stop and white space, or on a new line."""
    return [0, *(match.end() for match in SENTENCE_END.finditer(text))]


def tokenizer_of(collection: Collection) -> "Tokenizer":
    """Read the tokenizer by which a collection's texts are cut."""
    behind = collection.behind
    if behind.vocabulary is None:
        raise ResiduumError("source.tokenizer: give --vocabulary, the model that has it")
    return wordpieces.load(wordpieces.find(behind.vocabulary, behind.revision))


def encoded(collection: Collection, source: Segmented) -> Iterator[Encoded]:
    """Yield the docs of the source collection in wordpieces, except empty docs.

    A doc without the field raises ResiduumError.
    """
    corpus, tokenizer = collection.behind.cut_from, tokenizer_of(collection)
    if corpus is None:
        raise ResiduumError("source.of: give --of, the corpus that is cut")
    total = contracts.corpus_manifest(corpus)["docs"]
    read = track(contracts.read_docs(corpus), "cut", total, "docs")
    for some in chunks(read, TEXTS_AT_ONCE):
        for record in some:
            if source.field not in record:
                text = unknown("field", source.field, sorted({*record} - {"doc_id"}))
                raise ResiduumError(f"source.field: doc {record['doc_id']} of {corpus}: {text}")
        texts = [record[source.field] for record in some]
        made = tokenizer.encode_batch(texts, add_special_tokens=False)
        for record, text, tokens in zip(some, texts, made, strict=True):
            if tokens.ids:
                yield _encoded(record["doc_id"], text, tokens)


def _encoded(doc_id: str, text: str, tokens: "Encoding") -> Encoded:
    offsets, words = list(tokens.offsets), tokens.word_ids
    begins = [True, *(a != b for a, b in pairwise(words))]
    firsts = np.searchsorted([first for first, _ in offsets], sentences(text)).tolist()
    bounds = sorted({first for first in firsts if first < len(offsets)} | {0, len(offsets)})
    return Encoded(doc_id, text, tokens.ids, offsets, begins, bounds)


def segments(doc: Encoded, length: int) -> list[Span]:
    """Pack sentences into segments of at most `length` tokens, as many as fit.

    A sentence that is too long is cut before a word, and a word that is too long anywhere.
    """
    packed: list[Span] = []
    for first, last in (
        piece for s in pairwise(doc.sentences) for piece in _pieces(doc, s, length)
    ):
        if packed and last - packed[-1][0] <= length:
            packed[-1] = packed[-1][0], last
        else:
            packed.append((first, last))
    return packed


def _pieces(doc: Encoded, sentence: Span, length: int) -> Iterator[Span]:
    first, last = sentence
    while last - first > length:
        cut = next((n for n in range(first + length, first, -1) if doc.words[n]), first + length)
        yield first, cut
        first = cut
    yield first, last


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield all segments: the id `<doc_id>-<number>`, and the text as it stands in the doc."""
    source = collection.source
    assert isinstance(source, Segmented), "the table says so"
    longest = 0
    for doc in encoded(collection, source):
        longest = max(longest, len(doc.ids))
        for number, span in enumerate(segments(doc, source.length)):
            yield f"{doc.doc_id}-{number}", {"text": doc.slice(span)}
    refuse_whole(longest, source.length)


def refuse_whole(longest: int, length: int) -> None:
    """Raise ResiduumError if no doc is longer than a segment, because no doc would be cut."""
    if longest <= length:
        text = f"the longest doc has {longest} wordpieces, so that none would be cut"
        raise ResiduumError(f"source.length: {length}, but {text}; lower it")

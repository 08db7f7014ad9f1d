"""Make the containing-passage task: find the only doc that holds a query word for word.

Usage: `docs(collection)` of source `containing`, which also writes the file of its splits' queries.
Queries are spans of sentences. They are the same at every doc length, and each collection has a
single doc for each query. Distractors are copies of such docs in which one or two words of each
query are replaced. Source: Luan et al., TACL 2021, section 5.
"""

import json
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from random import Random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from residuum.artefacts import files, intact
from residuum.cli.errors import ResiduumError
from residuum.collections import segments
from residuum.collections.records import Rows
from residuum.collections.segments import Encoded, Span
from residuum.config.schema.datasets import Collection
from residuum.config.schema.sources import Containing
from residuum.config.specs import derive

QUERIES = "queries.jsonl"  # beside the docs; a line: split, query_id, text, doc_id
TOKENS_AT_ONCE = 1 << 22
BLOCK = 4096  # least number of spans per search
TRIES = 100
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # multiplier of the spans' hash
Ids = npt.NDArray[np.uint32]


class Tokens(NamedTuple):
    """The tokens of all texts in sequence; positions are those of tokens in it."""

    ids: Ids
    words: npt.NDArray[np.bool_]  # whether a token begins a word
    plain: npt.NDArray[np.bool_]  # whether a token is a word of letters, which may be replaced
    docs: npt.NDArray[np.int64]  # each doc's first token, then the number of tokens
    segments: dict[int, npt.NDArray[np.int64]]  # length: each segment's first token and end
    sentences: npt.NDArray[np.int64]  # each sentence's first token, then the number of tokens


class Query(NamedTuple):
    """A span of a sentence, and the replaced words of each distractor."""

    first: int  # position of its first token
    length: int
    changes: list[dict[int, int]]  # per distractor, {position: id of the new word}


class Finder:
    """A search for the occurrences of spans in a sequence of tokens."""

    def __init__(self, spans: Sequence[Ids]) -> None:
        self._least = min(map(len, spans))
        keys = [int(_hashes(span, self._least)[0]) for span in spans]
        order = np.argsort(np.array(keys, np.uint64), kind="stable")
        self._spans = spans
        self._keys, self._numbers = np.array(keys, np.uint64)[order], order

    def counts(self, ids: Ids) -> npt.NDArray[np.int64]:
        """Return how often each span occurs."""
        counts = np.zeros(len(self._spans), np.int64)
        for start in range(0, len(ids), TOKENS_AT_ONCE):
            part = ids[start : start + TOKENS_AT_ONCE + self._least - 1]
            hashes = _hashes(part, self._least)
            first = np.searchsorted(self._keys, hashes).clip(max=len(self._keys) - 1)
            known = np.flatnonzero(self._keys[first] == hashes)
            for position, key in zip((known + start).tolist(), first[known].tolist(), strict=True):
                for number in self._same(key):
                    span = self._spans[number]
                    counts[number] += np.array_equal(ids[position : position + len(span)], span)
        return counts

    def _same(self, key: int) -> Iterator[int]:
        end = np.searchsorted(self._keys, self._keys[key : key + 1], side="right")[0]
        return iter(self._numbers[key:end].tolist())


def _hashes(ids: Ids, length: int) -> npt.NDArray[np.uint64]:
    """Return a hash of the `length` tokens from each position; the last positions have none."""
    total = np.zeros(max(0, len(ids) - length + 1), np.uint64)
    for step in range(length):
        total = total * FACTOR + ids[step : step + len(total)]
    return total


def read(collection: Collection, source: Containing) -> Tokens:
    """Read all texts as one sequence of tokens, with segments of every length."""
    ids, words, docs = array("I"), bytearray(), array("q", [0])
    sentences = array("q")
    cut = {length: array("q") for length in source.lengths}
    for doc in segments.encoded(collection, source):
        start = docs[-1]
        ids.extend(doc.ids)
        words.extend(doc.words)
        sentences.extend(start + first for first in doc.sentences[:-1])
        for length, bounds in cut.items():
            bounds.extend(start + at for span in segments.segments(doc, length) for at in span)
        docs.append(len(ids))
    segments.refuse_whole(int(np.diff(docs).max(initial=0)), max(source.lengths))
    begins = np.frombuffer(words, np.bool_)
    tokens = np.frombuffer(ids, np.uint32)
    alone = begins & np.append(begins[1:], True)
    return Tokens(
        tokens,
        begins,
        alone & _letters(collection)[tokens],
        np.frombuffer(docs, np.int64),
        {n: np.frombuffer(bounds, np.int64).reshape(-1, 2) for n, bounds in cut.items()},
        np.append(np.frombuffer(sentences, np.int64), len(tokens)),
    )


def _letters(collection: Collection) -> npt.NDArray[np.bool_]:
    """Return, for each token id, whether the token is a whole word of letters."""
    pieces = segments.tokenizer_of(collection).get_vocab()
    letters = np.zeros(max(pieces.values()) + 1, np.bool_)
    # Words of a single letter are excluded: each Chinese character is a word without spaces around
    # it.
    words = (number for piece, number in pieces.items() if piece.isalpha() and len(piece) > 1)
    letters[list(words)] = True
    return letters


def draw(tokens: Tokens, source: Containing) -> list[Query]:
    """Draw the queries of all splits, at most one from each of the shortest segments.

    Each query occurs once in all texts. Too few such spans raise ResiduumError.
    """
    total, cut = sum(source.queries.values()), tokens.segments[min(source.lengths)]
    random = Random(derive(source.seed, "queries"))
    order = map(int, np.random.default_rng(derive(source.seed, "order")).permutation(len(cut)))
    drawn: list[Span] = []
    while block := list(islice(order, max(BLOCK, 2 * (total - len(drawn))))):
        tried = (_span(tokens, source, cut[number].tolist(), random) for number in block)
        spans = [span for span in tried if span]
        if spans:
            counts = Finder([tokens.ids[a:b] for a, b in spans]).counts(tokens.ids)
            drawn += [span for span, count in zip(spans, counts, strict=True) if count == 1]
        if len(drawn) >= total:
            break
    else:
        raise ResiduumError(
            f"source.queries: {total} asked for, but {len(drawn)} spans can be drawn that occur "
            f"once in all texts, one of each segment of {min(source.lengths)} wordpieces. Ask for "
            "fewer, or take more docs (source.of)."
        )
    drawn = drawn[:total]
    finder = Finder([tokens.ids[a:b] for a, b in drawn])
    return [_distracted(tokens, source, span, random, finder) for span in drawn]


def _span(
    tokens: Tokens, source: Containing, segment: Sequence[int], random: Random
) -> Span | None:
    """Draw a span of whole words in a sentence of a segment, one replaceable; None if none fits."""
    first, last = np.searchsorted(tokens.sentences, segment)
    bounds = pairwise(tokens.sentences[first : last + 1].tolist())
    least, most = source.tokens
    whole = [(a, b) for a, b in bounds if least <= b - a and segment[0] <= a and b <= segment[1]]
    if not whole:
        return None
    a, b = random.choice(whole)
    lengths = [*range(least, min(most, b - a) + 1)]
    random.shuffle(lengths)
    begins = np.append(tokens.words[a:b], True)
    for length in lengths:
        fitting = np.flatnonzero(begins[: b - a - length + 1] & begins[length:])
        if len(fitting):
            start = a + int(random.choice(fitting.tolist()))
            return (start, start + length) if tokens.plain[start : start + length].any() else None
    return None


def _distracted(
    tokens: Tokens, source: Containing, span: Span, random: Random, finder: Finder
) -> Query:
    """Draw the replaced words of each distractor of a query, by their frequency in the texts.

    A replacement that makes a span equal to any query is rejected.
    """
    plain = (span[0] + np.flatnonzero(tokens.plain[slice(*span)])).tolist()
    around = slice(max(0, span[0] - source.tokens[1]), span[1] + source.tokens[1])
    before = finder.counts(tokens.ids[around])
    changes: list[dict[int, int]] = []
    for _ in range(TRIES):
        if len(changes) == source.distractors:
            return Query(span[0], span[1] - span[0], changes)
        chosen = sorted(random.sample(plain, min(len(plain), random.randint(*source.changed))))
        words = {position: _word(tokens, random) for position in chosen}
        changed = tokens.ids[around].copy()
        changed[[position - around.start for position in words]] = list(words.values())
        others = all(tokens.ids[position] != word for position, word in words.items())
        if others and not (finder.counts(changed) > before).any():
            changes.append(words)
    words_of = " ".join(map(str, tokens.ids[slice(*span)].tolist()))
    raise ResiduumError(f"source.distractors: no other word fits the span of tokens {words_of}")


def _word(tokens: Tokens, random: Random) -> int:
    """Draw a word of letters by its frequency; every drawn span has such a word, so one exists."""
    while not tokens.plain[position := random.randrange(len(tokens.plain))]:
        pass
    return int(tokens.ids[position])


class Chosen(NamedTuple):
    """The numbers of the segments that are docs, and the queries that each of them holds."""

    docs: set[int]
    holding: dict[int, list[int]]


def choose(tokens: Tokens, source: Containing, queries: Sequence[Query]) -> Chosen:
    """Choose docs: the segments that hold queries, and random others; distractors count as docs."""
    cut = tokens.segments[source.length]
    holding: dict[int, list[int]] = {}
    numbers = np.searchsorted(cut[:, 0], [query.first for query in queries], side="right") - 1
    for query, number in enumerate(numbers.tolist()):
        holding.setdefault(number, []).append(query)
    rest = source.docs - len(holding) * (1 + source.distractors)
    others = len(cut) - len(holding)
    if not 0 <= rest <= others:
        made, needs = source.docs - rest, f"{len(holding)} docs hold queries"
        valid = f"from {made} to {made + others}"
        text = f"{needs}, each with {source.distractors} distractors, and {others} do not"
        raise ResiduumError(
            f"source.docs: {source.docs} asked for at length {source.length}, but {text}: {valid} "
            "can be made. Change docs, or queries."
        )
    order = map(int, np.random.default_rng(derive(source.seed, "docs")).permutation(len(cut)))
    filling = islice((number for number in order if number not in holding), rest)
    return Chosen({*holding, *filling}, holding)


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the docs, each followed by its distractors; at the end, write the file of queries."""
    source, output = collection.source, collection.behind.output
    assert isinstance(source, Containing) and output, "the table says so"
    tokens = read(collection, source)
    queries = draw(tokens, source)
    chosen = choose(tokens, source, queries)
    names = [name for name, count in sorted(source.queries.items()) for _ in range(count)]
    vocabulary = segments.tokenizer_of(collection).get_vocab()
    pieces = {number: piece for piece, number in vocabulary.items()}
    rows: list[dict[str, str]] = [{}] * len(queries)
    number = 0
    starts = tokens.docs[:-1].tolist()
    for doc, start in zip(segments.encoded(collection, source), starts, strict=True):
        for segment, span in enumerate(segments.segments(doc, source.length)):
            doc_id, held = f"{doc.doc_id}-{segment}", chosen.holding.get(number, [])
            if number in chosen.docs:
                yield doc_id, {"text": doc.slice(span)}
            for copy in range(source.distractors if held else 0):
                changes = [queries[query].changes[copy].items() for query in held]
                words = {p - start: pieces[word] for each in changes for p, word in each}
                yield f"{doc_id}-d{copy + 1}", {"text": replaced(doc, span, words)}
            for query in held:
                first = queries[query].first - start
                text = doc.slice((first, first + queries[query].length))
                named = {"split": names[query], "query_id": f"q{query}", "text": text}
                rows[query] = {**named, "doc_id": doc_id}
            number += 1
    files.write_text(output / QUERIES, "".join(f"{json.dumps(row)}\n" for row in rows))


def replaced(doc: Encoded, span: Span, words: dict[int, str]) -> str:
    """Return the text of a span after replacing the words at some of its tokens."""
    parts, at = [], doc.offsets[span[0]][0]
    for token in sorted(words):
        first, last = doc.offsets[token]
        parts += [doc.text[at:first], words[token]]
        at = last
    return "".join([*parts, doc.text[at : doc.offsets[span[1] - 1][1]]])


def split(collection: Collection, name: str) -> Rows:
    """Return the queries of a split, each with the only doc that holds it as relevant doc."""
    corpus = collection.behind.corpus
    if corpus is None:
        raise ResiduumError(f"splits.{name}: give --corpus, beside which its queries lie")
    lines = files.read_lines(intact.checked(corpus / QUERIES))
    rows = [row for row in map(json.loads, lines) if row["split"] == name]
    texts = [(row["query_id"], row["text"]) for row in rows]
    return Rows(texts, [(row["query_id"], row["doc_id"], 1) for row in rows])

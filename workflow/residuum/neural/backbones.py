"""What a backbone takes from text before any training: vocabulary and word embeddings.

Usage: `vocabulary = train_wordpiece(texts, size=4000)` and `vectors = token_vectors(docs,
len(vocabulary), dimensions=64, seed=1, threads=1)`.
"""

from __future__ import annotations

import heapq
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from residuum.cli.errors import ResiduumError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MARKERS = ("[QRY]", "[DOC]")
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *MARKERS)
INSIDE = "##"
ALPHABET_LIMIT = 1000
LONGEST_WORD = 100  # BERT's WordPiece reads a longer word as [UNK]
LEAST_COUNT = 2
DECIMALS = 6  # of embeddings; smaller digits depend on the machine's linear algebra

Pair = tuple[str, str]


def word_starts(tokenizer: PreTrainedTokenizerBase) -> np.ndarray:
    """Return which tokens of a vocabulary start a word by WordPiece's marks: boolean (tokens,)."""
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    return np.array([not token.startswith(INSIDE) for token in tokens])


def train_wordpiece(texts: Iterable[str], size: int) -> list[str]:
    """Return an ordered vocabulary of at most `size` entries: specials, characters, merges.

    The pair with the highest count is merged first; equal counts are ordered by the pair itself. A
    pair seen once is never merged, so that a small corpus gives fewer entries. The same texts give
    the same vocabulary on every machine, unlike the trainer of the tokenizers package. Raises
    ResiduumError if `size` leaves no room for characters.
    """
    if size <= len(SPECIALS):
        raise ResiduumError(
            f"vocabulary: {size} entries leave no room for text beside the {len(SPECIALS)} "
            "special tokens; give a few thousand"
        )
    words = count_words(texts)
    letters: Counter[str] = Counter()
    for word, count in words.items():
        for letter in _letters(word):
            letters[letter] += count
    ordered = sorted(letters, key=lambda letter: (-letters[letter], letter))
    alphabet = ordered[: min(ALPHABET_LIMIT, size - len(SPECIALS))]
    vocabulary = dict.fromkeys([*SPECIALS, *sorted(alphabet)])
    pairs = PairCounts(words, set(alphabet))
    while len(vocabulary) < size and (pair := pairs.best()):
        vocabulary[pairs.merge(pair)] = None  # two merges may spell one token
    return list(vocabulary)


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count words as BERT's uncased tokenizer cuts them: lower case, no accents, punctuation."""
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    normalizer, splitter = BertNormalizer(lowercase=True), BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        words = splitter.pre_tokenize_str(normalizer.normalize_str(text))
        counts.update(word for word, _ in words if len(word) <= LONGEST_WORD)
    return counts


def _letters(word: str) -> list[str]:
    return [word[0], *(INSIDE + letter for letter in word[1:])]


class PairCounts:
    """Counts of neighbouring pieces, kept up to date from merge to merge."""

    def __init__(self, words: Counter[str], alphabet: set[str]) -> None:
        split = ((_letters(word), count) for word, count in sorted(words.items()))
        known = [(pieces, count) for pieces, count in split if alphabet.issuperset(pieces)]
        self.words = [pieces for pieces, _ in known]
        self.word_counts = [count for _, count in known]
        self.counts: Counter[Pair] = Counter()
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for number in range(len(self.words)):
            self._add(number, 1)
        self.heap = [(-count, pair) for pair, count in self.counts.items()]
        heapq.heapify(self.heap)

    def _add(self, number: int, sign: int) -> None:
        for pair in pairwise(self.words[number]):
            self.counts[pair] += sign * self.word_counts[number]
            self.places[pair].add(number)

    def best(self) -> Pair | None:
        """Return the pair to merge next. Skip stale heap entries, whose counts have changed."""
        while self.heap:
            count, pair = heapq.heappop(self.heap)
            if -count == self.counts[pair] and -count >= LEAST_COUNT:
                return pair
        return None

    def merge(self, pair: Pair) -> str:
        """Join a pair wherever it stands, count its new neighbours, and return the new token."""
        token = pair[0] + pair[1].removeprefix(INSIDE)
        changed: set[Pair] = set()
        for number in self.places.pop(pair):
            self._add(number, -1)
            changed.update(pairwise(self.words[number]))
            joined: list[str] = []
            for piece in self.words[number]:
                if joined and (joined[-1], piece) == pair:
                    joined[-1] = token
                else:
                    joined.append(piece)
            self.words[number] = joined
            self._add(number, 1)
            changed.update(pairwise(joined))
        for touched in changed:
            if self.counts[touched] > 0:
                heapq.heappush(self.heap, (-self.counts[touched], touched))
        return token


def token_vectors(
    docs: Iterable[np.ndarray], vocabulary: int, dimensions: int, seed: int, threads: int
) -> np.ndarray:
    """Return unit vectors of the tokens, float32 (vocabulary, at most `dimensions`).

    TF-IDF over the token ids of each doc, and a truncated SVD (Deerwester et al. 1990). A small
    corpus gives fewer dimensions, and a token that no doc holds gets zeros.
    """
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from threadpoolctl import threadpool_limits

    columns, values, starts = bytearray(), bytearray(), array("q", [0])  # all grow in place
    for ids in docs:
        tokens, repeats = np.unique(ids, return_counts=True)
        columns += tokens.astype(np.int32).tobytes()
        values += repeats.astype(np.float64).tobytes()
        starts.append(starts[-1] + len(tokens))
    parts = (np.frombuffer(values), np.frombuffer(columns, np.int32), np.array(starts))
    counts = csr_matrix(parts, shape=(len(starts) - 1, vocabulary))
    possible = min(dimensions, min(counts.shape) - 1)
    if possible < 1:
        return np.zeros((vocabulary, 0), dtype=np.float32)
    with threadpool_limits(threads):
        weights = TfidfTransformer(sublinear_tf=True).fit(counts).transform(counts, copy=False)
        svd = TruncatedSVD(possible, random_state=seed).fit(weights)
    vectors = svd.components_.T * svd.singular_values_
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-9)
    return unit.round(DECIMALS).astype(np.float32)

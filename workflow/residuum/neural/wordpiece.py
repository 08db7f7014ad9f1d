"""A WordPiece vocabulary learned from text, the same for the same text on every machine.

Usage: `vocabulary = wordpiece.train(texts, size=4000)`. The trainer of the tokenizers package
was seen to give different vocabularies on one corpus.
Must not know torch, corpora or models.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from residuum.cli.errors import ResiduumError

MARKERS = ("[QRY]", "[DOC]")
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *MARKERS)
INSIDE = "##"
ALPHABET_LIMIT = 1000
LONGEST_WORD = 100  # BERT's WordPiece reads a longer word as [UNK]
LEAST_COUNT = 2

Pair = tuple[str, str]


def train(texts: Iterable[str], size: int) -> list[str]:
    """Return an ordered vocabulary of at most `size` entries: specials, characters, merges.

    The pair with the highest count is merged first; equal counts are ordered by the pair
    itself. A pair seen once is never merged, so that a small corpus gives fewer entries.
    Raises ResiduumError if `size` leaves no room for characters.
    """
    if size <= len(SPECIALS):
        raise ResiduumError(
            f"vocabulary: {size} entries leave no room for text beside the {len(SPECIALS)} "
            "special tokens; give a few thousand"
        )
    counts = count_words(texts)
    alphabet = _alphabet(counts, min(ALPHABET_LIMIT, size - len(SPECIALS)))
    vocabulary = dict.fromkeys([*SPECIALS, *alphabet])
    for token in _merged(_Pairs(counts, set(alphabet))):
        if len(vocabulary) == size:
            break
        vocabulary[token] = None  # two merges may spell one token
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


def _alphabet(counts: Counter[str], limit: int) -> list[str]:
    letters: Counter[str] = Counter()
    for word, count in counts.items():
        for letter in _letters(word):
            letters[letter] += count
    kept = sorted(letters, key=lambda letter: (-letters[letter], letter))[:limit]
    return sorted(kept)


def _letters(word: str) -> list[str]:
    return [word[0], *(INSIDE + letter for letter in word[1:])]


def _merged(pairs: "_Pairs") -> Iterator[str]:
    while (pair := pairs.best()) is not None:
        yield _joined(pair)
        pairs.merge(pair)


def _joined(pair: Pair) -> str:
    return pair[0] + pair[1].removeprefix(INSIDE)


class _Pairs:
    """Counts of neighbouring pieces, kept up to date from merge to merge."""

    def __init__(self, counts: Counter[str], alphabet: set[str]) -> None:
        split = ((_letters(word), count) for word, count in sorted(counts.items()))
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
        pieces, change = self.words[number], sign * self.word_counts[number]
        for pair in pairwise(pieces):
            self.counts[pair] += change
            self.places[pair].add(number)

    def best(self) -> Pair | None:
        """Return the pair to merge next; entries of the heap whose count changed are stale."""
        while self.heap:
            count, pair = heapq.heappop(self.heap)
            if -count == self.counts[pair] and -count >= LEAST_COUNT:
                return pair
        return None

    def merge(self, pair: Pair) -> None:
        """Join a pair wherever it stands and count its new neighbours."""
        token = _joined(pair)
        changed: set[Pair] = set()
        for number in self.places.pop(pair):
            self._add(number, -1)
            changed.update(pairwise(self.words[number]))
            self.words[number] = _join(self.words[number], pair, token)
            self._add(number, 1)
            changed.update(pairwise(self.words[number]))
        for touched in changed:
            if self.counts[touched] > 0:
                heapq.heappush(self.heap, (-self.counts[touched], touched))


def _join(pieces: list[str], pair: Pair, token: str) -> list[str]:
    joined: list[str] = []
    for piece in pieces:
        if joined and (joined[-1], piece) == pair:
            joined[-1] = token
        else:
            joined.append(piece)
    return joined

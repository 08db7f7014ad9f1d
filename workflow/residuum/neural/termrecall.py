"""DeepCT's targets and frequencies: how often the queries of a doc use each of its words.

Usage: `targets(doc.words, recall(words of each of its queries))` to train, and
`frequencies(doc.words, weights, scale=100)` on what was predicted. Pure functions after
Dai and Callan 2019 (arXiv:1910.10687), section 3. Must not know models or files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from residuum.artefacts.trec import STOP_WORDS


def recall(queries: Iterable[Iterable[str]]) -> dict[str, float]:
    """Return QTR(t, d) = |Q(d, t)| / |Q(d)|: the share of a doc's queries that contain a term.

    A query is given as its words; a term is the stem of a word that is no stop word and holds
    a letter or a digit. Terms that no query contains are left out: their recall is 0.
    """
    terms = [{term_of(word) for word in words} for words in queries]
    counts = Counter(term for own in terms for term in own if term)
    return {term: count / len(terms) for term, count in counts.items()}


def term_of(word: str) -> str | None:
    """Return the Porter stem by which a word is matched; None for stop words and punctuation."""
    known = word not in STOP_WORDS and any(letter.isalnum() for letter in word)
    return _stem(word) if known else None


@cache
def _stem(word: str) -> str:
    return str(_porter().stemWord(word))


@cache
def _porter() -> object:
    import snowballstemmer

    return snowballstemmer.stemmer("porter")


def targets(words: Sequence[str], recalls: Mapping[str, float]) -> list[float]:
    """Return the target of each word of a doc as it stands: the recall of its term, or 0."""
    return [recalls.get(term_of(word) or "", 0.0) for word in words]


def first_subwords(word_ids: Iterable[int | None]) -> dict[int, int]:
    """Return the place of each word's first subword, from the word number of each token.

    Special tokens have no word number; a word that was cut off entirely has no place.
    """
    places: dict[int, int] = {}
    for place, word in enumerate(word_ids):
        if word is not None:
            places.setdefault(word, place)
    return places


def frequencies(words: Sequence[str], weights: Sequence[float], scale: int) -> dict[str, int]:
    """Return tf = round(scale * weight) of the words whose scaled weight is 1 or more.

    A word that stands several times takes its largest weight; words come in the doc's order.
    """
    largest: dict[str, float] = {}
    for word, weight in zip(words, weights, strict=True):
        largest[word] = max(weight, largest.get(word, weight))
    scaled = {word: scale * weight for word, weight in largest.items()}
    return {word: round(value) for word, value in scaled.items() if value >= 1}

"""What the generated collections share: patterns of text, grades and ids.

Usage: a world (places, articles) draws docs and topics, words them with `fill`, grades them with
`Grades` and hands both to `collection`. The same recipe gives the same bytes on any machine.

It must not know what a collection is about, nor torch, a JVM, a network, a scale or a dataset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Generic, NamedTuple, TypeVar

from residuum.collections.draws import pick, sample

T = TypeVar("T")

Concept = tuple[str, ...]  # the surface forms of one thing
Key = tuple[str, int]  # kind and position of something that docs name and topics ask for
Judgement = tuple[int, int]  # position of the doc, grade


class Collection(NamedTuple):
    """Docs as (doc_id, fields); per split, (query_id, text) and (query_id, doc_id, relevance)."""

    docs: list[tuple[str, dict[str, str]]]
    queries: dict[str, list[tuple[str, str]]]
    qrels: dict[str, list[tuple[str, str, int]]]


def collection(
    prefix: str,
    docs: Iterable[dict[str, str]],
    splits: dict[str, list[tuple[str, list[Judgement]]]],
) -> Collection:
    """Name docs, given as their fields, and queries, given per split as text and judgements."""

    def doc_id(position: int) -> str:
        return f"{prefix}{position + 1:06d}"

    named = {
        split: [(f"{split}-{i:05d}", *query) for i, query in enumerate(queries, start=1)]
        for split, queries in splits.items()
    }
    return Collection(
        [(doc_id(position), fields) for position, fields in enumerate(docs)],
        {s: [(query_id, text) for query_id, text, _ in named[s]] for s in named},
        {s: [(q, doc_id(doc), grade) for q, _, js in named[s] for doc, grade in js] for s in named},
    )


def refuse(what: str, faults: Iterator[str]) -> None:
    """Raise ValueError with all faults of a recipe, if it has any."""
    if lines := list(faults):
        raise ValueError("\n  ".join([f"{what} cannot be made", *lines]))


class Grades(Generic[T]):
    """The docs that share a key with a topic, and the grade of each."""

    def __init__(
        self,
        docs: Iterable[Iterable[Key]],
        keys: Callable[[T], Iterable[Key]],
        grade: Callable[[int, T], int],
    ) -> None:
        self.keys, self.grade = keys, grade
        self.naming: defaultdict[Key, list[int]] = defaultdict(list)
        for position, named in enumerate(docs):
            for key in named:
                self.naming[key].append(position)

    def of(self, topic: T) -> dict[int, int]:
        """Position -> grade, in the order of the docs; all others have grade 0."""
        positions = {doc for key in self.keys(topic) for doc in self.naming[key]}
        return {doc: self.grade(doc, topic) for doc in sorted(positions)}

    def judged(self, rng: Random, topic: T, count: int) -> list[Judgement]:
        """All docs of grade 1 and above, and `count` of those that were looked at in vain."""
        grades = self.of(topic)
        useless = set(sample(rng, [doc for doc, grade in grades.items() if grade == 0], count))
        return [(doc, grade) for doc, grade in grades.items() if grade > 0 or doc in useless]


def fill(rng: Random, patterns: Sequence[str], **words: str | Sequence[str]) -> str:
    """One of the patterns with its words; of a word that comes in several forms, one is drawn."""
    pattern = pick(rng, patterns)
    for key, word in words.items():
        if not isinstance(word, str):
            words[key] = pick(rng, word)
    return pattern.format(**words)


def enumerated(items: Sequence[str]) -> str:
    """The items as a list in a sentence: "x, y and z"."""
    return ", ".join(items[:-1]) + " and " + items[-1]

"""What the generated collections share: grades of docs that name what a topic names, and ids.

Usage: a world (places, articles) draws docs and topics, grades them with `Grades(docs, grade)` and
hands texts and judgements to `collection`. The same recipe gives the same bytes on any machine.

It must not know what a collection is about, nor torch, a JVM, a network, a scale or a dataset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Generic, NamedTuple, Protocol, TypeVar

from residuum.collections.draws import sample

Concept = tuple[str, ...]  # the surface forms of one thing
Key = tuple[str, int]  # kind and position of something that docs name and topics ask for
Judgement = tuple[int, int, int]  # position of the query in its split, position of the doc, grade
Doc = TypeVar("Doc", bound="Named")
Topic = TypeVar("Topic", bound="Named")


class Collection(NamedTuple):
    """Docs as (doc_id, fields); per split, (query_id, text) and (query_id, doc_id, relevance)."""

    docs: list[tuple[str, dict[str, str]]]
    queries: dict[str, list[tuple[str, str]]]
    qrels: dict[str, list[tuple[str, str, int]]]


def collection(
    prefix: str,
    docs: Iterable[dict[str, str]],
    splits: dict[str, tuple[list[str], list[Judgement]]],
) -> Collection:
    """Name docs, given as their fields, and queries, given per split as texts and judgements."""

    def query_id(split: str, position: int) -> str:
        return f"{split}-{position + 1:05d}"

    def doc_id(position: int) -> str:
        return f"{prefix}{position + 1:06d}"

    return Collection(
        [(doc_id(i), fields) for i, fields in enumerate(docs)],
        {s: [(query_id(s, i), t) for i, t in enumerate(texts)] for s, (texts, _) in splits.items()},
        {
            s: [(query_id(s, q), doc_id(d), g) for q, d, g in rows]
            for s, (_, rows) in splits.items()
        },
    )


def refuse(what: str, faults: Iterator[str]) -> None:
    """Raise ValueError with all faults of a recipe, if it has any."""
    if lines := list(faults):
        raise ValueError("\n  ".join([f"{what} cannot be made", *lines]))


class Named(Protocol):
    """A doc or a topic."""

    def names(self) -> Iterable[Key]:
        """What it names: the kind and position of each thing."""
        ...


class Grades(Generic[Doc, Topic]):
    """The docs that share a name with a topic, and the grade of each."""

    def __init__(self, docs: Sequence[Doc], grade: Callable[[Doc, Topic], int]) -> None:
        self.docs, self.grade = docs, grade
        self.naming: defaultdict[Key, list[int]] = defaultdict(list)
        for position, doc in enumerate(docs):
            for key in doc.names():
                self.naming[key].append(position)

    def of(self, topic: Topic) -> dict[int, int]:
        """Position -> grade, in the order of the docs; all others have grade 0."""
        positions = set().union(*(self.naming[key] for key in topic.names()))
        docs, grade = self.docs, self.grade
        return {position: grade(docs[position], topic) for position in sorted(positions)}

    def judged(self, rng: Random, topics: Iterable[Topic], count: int) -> Iterator[Judgement]:
        """All docs of grade 1 and above, and `count` of those that were looked at in vain."""
        for query, topic in enumerate(topics):
            grades = self.of(topic)
            useless = set(sample(rng, [doc for doc, grade in grades.items() if grade == 0], count))
            for doc, grade in grades.items():
                if grade > 0 or doc in useless:
                    yield query, doc, grade


def enumerated(items: Sequence[str]) -> str:
    """The items as a list in a sentence: "x, y and z"."""
    return ", ".join(items[:-1]) + " and " + items[-1]

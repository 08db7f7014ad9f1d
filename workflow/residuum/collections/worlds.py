"""Shared parts of the generated collections: seeded draws, grades, ids, and their table.

All randomness comes from random.Random(...).random(), so that a recipe gives the same bytes on
every machine. Usage: `Stream(seed, "docs")`, `Grades(names, grade)`.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple, TypeVar

from residuum.cli.collecting import uncollected
from residuum.cli.errors import ResiduumError
from residuum.code.tables import OpenTable
from residuum.collections.records import Rows
from residuum.config.schema.base import Strict
from residuum.config.schema.datasets import Collection

T = TypeVar("T")
Concept = tuple[str, ...]  # surface forms of a concept
Key = tuple[str, int]  # kind and position of a thing that docs name and topics ask for
Topic = Mapping[str, int]  # what a query asks for, {kind: position}
Judgement = tuple[int, int, int]  # positions of query (in its split) and doc, grade
Drawn = tuple[list[str], list[Judgement]]  # queries and judgements of a split
STREAMS = ("docs", "splits", "tune", "dev", "judged", "train", "judgements")  # closed: see Stream
ZIPF_OFFSET = 2
FEW = 8  # samples below an eighth of the items are drawn without a copy


class Generated(NamedTuple):
    """Docs as (doc_id, fields); per split, (query_id, text) and (query_id, doc_id, relevance).

    `answers` by query_id exist for splits of questions.
    """

    docs: list[tuple[str, dict[str, str]]]
    queries: dict[str, list[tuple[str, str]]]
    qrels: dict[str, list[tuple[str, str, int]]]
    answers: Mapping[str, dict[str, list[str]]] = {}


MAKERS: OpenTable[Callable[..., Generated]] = OpenTable(
    {
        "generated": "residuum.collections.places:generate",
        "generated-articles": "residuum.collections.articles:generate",
        "generated-pages": "residuum.collections.pages:generate",
    },
    "source",
)


def generate(collection: Collection) -> Generated:
    """Return docs, queries and qrels by split; docs/generated-collection.md describes them."""
    try:
        with uncollected():
            return MAKERS[collection.source.kind](collection.source)
    except ValueError as error:
        raise ResiduumError(f"source: {error}") from None


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Stream (doc_id, fields) of a generated collection."""
    return iter(generate(collection).docs)


def split(collection: Collection, name: str) -> Rows:
    """Return the queries and qrels of a generated split."""
    generated = generate(collection)
    if name not in generated.queries:
        made = ", ".join(generated.queries)
        raise ResiduumError(f"source: this recipe makes no split {name}, but {made}")
    answered = collection.splits[name].answers_field is not None
    answers = generated.answers[name] if answered else {}
    return Rows(generated.queries[name], generated.qrels[name], answers)


def named(prefix: str, docs: Iterable[dict[str, str]], splits: Mapping[str, Drawn]) -> Generated:
    """Give ids to docs, which are dicts of fields, and to the queries of each split."""
    made = Generated([(f"{prefix}{i:06d}", fields) for i, fields in enumerate(docs, 1)], {}, {})
    for split, (texts, judgements) in splits.items():
        queries = [(f"{split}-{i:05d}", text) for i, text in enumerate(texts, 1)]
        qrels = [(queries[query][0], made.docs[doc][0], grade) for query, doc, grade in judgements]
        made.queries[split], made.qrels[split] = queries, qrels
    return made


def divide(made: Generated, split: str, queries: Mapping[str, list[tuple[str, str]]]) -> None:
    """Add splits of some queries of a split, with the same ids and judgements."""
    for name, chosen in queries.items():
        ids = {query_id for query_id, _ in chosen}
        made.queries[name] = chosen
        made.qrels[name] = [row for row in made.qrels[split] if row[0] in ids]


def fault(text: str) -> ValueError:
    """Return a fault of a recipe, as an exception for `refuse` to raise."""
    return ValueError(text)


def refuse(what: str, faults: Iterator[ValueError]) -> None:
    """Raise ValueError with all faults of a recipe, if it has any."""
    if lines := list(map(str, faults)):
        raise ValueError("\n  ".join([f"{what} cannot be made", *lines]))


class Stream:
    """Seeded draws with a stream per part, so that more train pairs change no doc or dev query.

    The first parts are seeded by their position in STREAMS, which must not get more names. All
    other parts are seeded by their names.
    """

    def __init__(self, seed: int, part: str) -> None:
        first = part in STREAMS
        self.random = Random(
            seed * len(STREAMS) + STREAMS.index(part) if first else f"{seed}/{part}"
        ).random

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self.random() < probability

    def below(self, size: int) -> int:
        """Return a random integer from 0 to `size` - 1."""
        return int(self.random() * size)

    def another(self, size: int, taken: int) -> int:
        """Return a random integer from 0 to `size` - 1 other than `taken`."""
        return (taken + 1 + self.below(size - 1)) % size

    def pick(self, items: Sequence[T]) -> T:
        """Return a random item."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Return `count` different random items, or all in random order if there are fewer."""
        size = len(items)
        if count < size // FEW:
            return self._few(items, count)
        pool, random = list(items), self.random
        for i in range(min(count, size)):
            j = i + int(random() * (size - i))
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:count]

    def _few(self, items: Sequence[T], count: int) -> list[T]:
        """Return what `sample` returns, without copying `items`; their number costs no time."""
        taken, moved, random = list[T](), dict[int, int](), self.random  # {position: index}
        for i in range(count):
            j = i + int(random() * (len(items) - i))
            taken.append(items[moved.get(j, j)])
            moved[j] = moved.get(i, i)
        return taken

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return all items in random order."""
        return self.sample(items, len(items))


class Zipf:
    """A Zipf law over positions; a random permutation decides which positions are frequent."""

    def __init__(self, rng: Stream, size: int) -> None:
        """Draw the permutation; integer weights have the same sums on every machine."""
        weights = (1_000_000 // (rank + ZIPF_OFFSET) for rank in range(1, size + 1))
        self.order, self.cumulative = rng.shuffled(range(size)), list(accumulate(weights))

    def draw(self, rng: Stream) -> int:
        """Return a position drawn by its frequency."""
        return self.order[bisect_right(self.cumulative, rng.below(self.cumulative[-1]))]

    def draw_distinct(self, rng: Stream, count: int) -> tuple[int, ...]:
        """Return `count` different positions, in the order drawn."""
        drawn: dict[int, None] = {}
        while len(drawn) < count:
            drawn[self.draw(rng)] = None
        return tuple(drawn)


class Attribute(Strict):
    """A thing that a doc can state: its family, its surface forms, and its collocates."""

    family: str
    forms: Concept
    collocates: list[str]


class Grades:
    """The docs that share a name with a topic, and the grade of each such doc."""

    def __init__(
        self, docs: Iterable[tuple[int, Iterable[Key]]], grade: Callable[[int, Topic], int]
    ) -> None:
        """Take (position, names) of docs, and a function that grades a doc by position and topic.

        Passing docs in the order in which they were made is fastest, because they lie so in memory.
        """
        self.grade = grade
        self.naming = defaultdict[str, defaultdict[int, list[int]]](lambda: defaultdict(list))
        for position, names in docs:
            for kind, number in names:
                self.naming[kind][number].append(position)

    def by_doc(self, topic: Topic) -> dict[int, int]:
        """Return {position: grade} in the order of the docs; docs outside it have grade 0."""
        positions = set().union(*(self.naming[kind][number] for kind, number in topic.items()))
        return {position: self.grade(position, topic) for position in sorted(positions)}

    def judged(self, rng: Stream, topics: Iterable[Topic], count: int) -> Iterator[Judgement]:
        """Yield judgements: all docs of grade 1 and above, and `count` docs of grade 0 a topic."""
        for query, topic in enumerate(topics):
            grades = self.by_doc(topic)
            useless = set(rng.sample([doc for doc, grade in grades.items() if grade == 0], count))
            for doc, grade in grades.items():
                if grade > 0 or doc in useless:
                    yield query, doc, grade


def positions_in(order: Sequence[int]) -> list[int]:
    """Return the position of each number in an order of 0 to n - 1."""
    positions = [0] * len(order)
    for position, number in enumerate(order):
        positions[number] = position
    return positions


def enumerated(items: Sequence[str]) -> str:
    """Return the items as a list in a sentence: "x, y and z"."""
    return ", ".join(items[:-1]) + " and " + items[-1]

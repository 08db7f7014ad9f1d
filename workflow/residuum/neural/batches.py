"""The stream of training batches: which pairs and which negatives make up step s.

Usage: `batch = draw_batch(pairs, 1, EpochSampler(len(pairs), 32, seed=1).visits(step))`. The seed
and the step number alone determine a batch, so that a resumed training sees the same batches.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from residuum.artefacts import contracts
from residuum.artefacts.contracts import Tuple
from residuum.cli.errors import ResiduumError
from residuum.config.specs import derive
from residuum.neural.resumable import log

B = TypeVar("B", bound=NamedTuple)  # a batch of any kind


class Batch(NamedTuple):
    """A step's pairs: ids, the negatives of each pair, lexical scores.

    A pair's lexical scores begin with its positive's. `draws` numbers each visit of a pair, and
    seeds all that is drawn at random for the visit.
    """

    query_ids: list[str]
    positives: list[str]
    negatives: list[list[str]]
    lexical: list[list[float]]
    draws: list[int]

    @property
    def docs(self) -> list[str]:
        """All candidates: the positives, then the negatives of each pair."""
        return [*self.positives, *chain.from_iterable(self.negatives)]

    @property
    def docs_by_query(self) -> list[list[str]]:
        """Each query's own docs, the positive first."""
        pairs = zip(self.positives, self.negatives, strict=True)
        return [[positive, *negatives] for positive, negatives in pairs]


def rows_of(batch: B, numbers: Iterable[int]) -> B:
    """Return rows of a batch, a named tuple of columns, by their numbers."""
    return batch._make([column[number] for number in numbers] for column in batch)


def keyed(role: str, query_id: str) -> str:
    """Return a query's key in a mix; a role holds no slash."""
    return f"{role}/{query_id}"


class Fold(NamedTuple):
    """A fold of the pairs' queries that a training holds out: the fold's name and its query ids."""

    name: str
    queries: frozenset[str]


def training_pairs(tuples: Path, held_out: Fold | None) -> list[Tuple]:
    """Return the pairs of a file in a fixed order, without the pairs of the held-out fold."""
    pairs = in_fixed_order(contracts.read_tuples(tuples))
    return [pair for pair in pairs if held_out is None or pair.query_id not in held_out.queries]


def usable(pairs: list[Tuple], drawn: int) -> list[Tuple]:
    """Return the pairs that have negatives, and log how many have none or fewer than `drawn`."""
    if not drawn:
        return [pair._replace(negatives=[], negative_scores=[]) for pair in pairs]
    kept = [pair for pair in pairs if pair.negatives]
    if len(kept) < len(pairs):
        log(f"{len(pairs) - len(kept)} of {len(pairs)} training pairs have no negative: left out")
    if small := sum(len(pair.negatives) < drawn for pair in kept):
        log(
            f"{small} of {len(pairs)} training pairs have fewer than {drawn} negatives: "
            "some are taken twice"
        )
    return kept


def in_fixed_order(pairs: Sequence[Tuple]) -> list[Tuple]:
    """Return the pairs ordered by a hash of their ids, independent of the file's order."""

    def digest(pair: Tuple) -> bytes:
        return hashlib.sha256(f"{pair.query_id}\t{pair.positive}".encode()).digest()

    return sorted(pairs, key=digest)


class Visit(NamedTuple):
    """A visit of an example: its number, an offset into its negatives, the epoch."""

    number: int
    start: int
    epoch: int


class Sampler(Protocol):
    """Says which examples a step visits; `examples` counts all examples."""

    examples: int

    def visits(self, step: int) -> list[Visit]:
        """Return the visits of a step, counted from 0."""

    def facts(self) -> dict[str, object]:
        """Return what a manifest records of the examples."""


class EpochSampler:
    """An endless sequence of full batches of visits. Each epoch has a new random order."""

    def __init__(self, count: int, batch_size: int, seed: int) -> None:
        self.count, self.batch_size, self.seed = count, batch_size, seed
        self.examples = count  # in an epoch
        self._order = lru_cache(maxsize=2)(self._draw_order)  # a batch may span two epochs
        if not count:
            raise ResiduumError(
                "no training pair is left: the tuples are empty, or no pair has a negative. "
                "Check the train split's qrels and the model's negatives."
            )
        random = self._random(0)
        order, self._starts = random.permutation(count), np.empty(count, dtype=np.int64)
        self._starts[order] = random.integers(2**62, size=count)

    def steps(self, epochs: float) -> int:
        """Return the number of steps that visit every example `epochs` times."""
        return max(1, math.ceil(epochs * self.examples / self.batch_size))

    def visits(self, step: int) -> list[Visit]:
        """Return the visits of a step, counted from 0; a start is a large random number."""
        visits = []
        for position in range(step * self.batch_size, (step + 1) * self.batch_size):
            epoch, offset = divmod(position, self.count)
            number = int(self._order(epoch)[offset])
            visits.append(Visit(number, int(self._starts[number]), epoch))
        return visits

    def facts(self) -> dict[str, object]:
        """Return what a manifest records: the number of pairs or other examples."""
        return {"pairs": self.examples}

    def _random(self, epoch: int) -> np.random.Generator:
        return np.random.default_rng(derive(self.seed, "batches", str(epoch)))

    def _draw_order(self, epoch: int) -> np.ndarray:
        return self._random(epoch).permutation(self.count)


class QuerySampler(EpochSampler):
    """Visits all queries equally often; each visit takes the query's next pair in turn.

    An epoch still counts as many visits as there are pairs, so that a budget is the same.
    """

    def __init__(self, pairs: Sequence[Tuple], batch_size: int, seed: int) -> None:
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number, pair in enumerate(pairs):
            numbers[pair.query_id].append(number)
        self._pairs_of_queries = list(numbers.values())
        super().__init__(len(numbers), batch_size, seed)
        self.examples = len(pairs)

    def visits(self, step: int) -> list[Visit]:
        """Return the visits of a step; a pair's epoch counts the rounds over its query's pairs."""
        visits = []
        for number, start, epoch in super().visits(step):
            pairs = self._pairs_of_queries[number]
            round_, position = divmod(start % len(pairs) + epoch, len(pairs))
            visits.append(Visit(pairs[position], start, round_))
        return visits


def draw_batch(pairs: Sequence[Tuple], drawn: int, visits: Iterable[Visit]) -> Batch:
    """Return the batch of these visits, each with `drawn` of its pair's negatives."""
    batch = Batch([], [], [], [], [])
    for visit in visits:
        pair = pairs[visit.number]
        picks = turns(len(pair.negatives), drawn, visit)
        batch.query_ids.append(pair.query_id)
        batch.positives.append(pair.positive)
        batch.negatives.append([pair.negatives[pick] for pick in picks])
        scores = (pair.negative_scores[pick] for pick in picks)
        batch.lexical.append([pair.positive_score, *scores])
        batch.draws.append(visit.start + visit.epoch)
    return batch


def turns(pool: int, drawn: int, visit: Visit) -> list[int]:
    """Return which of a pool's negatives a visit takes (CLEAR, section 3.3).

    The pool is stored in random order. The visits of a pair go through it in turn, from a random
    start. Every visit takes each negative with the same probability, and `pool` visits take each
    negative `drawn` times. A larger number than the pool's repeats negatives.
    """
    first = visit.start + visit.epoch * drawn
    return [number % pool for number in range(first, first + drawn)]


def other_positives(batch: Batch, rows: slice, known: Mapping[str, set[str]]) -> np.ndarray:
    """Return a boolean (rows, candidates): the doc is a positive of the query from another pair.

    The candidates are `batch.docs`; column i holds row i's own positive. `known` maps a query to
    its positives.
    """
    columns: defaultdict[str, list[int]] = defaultdict(list)
    for column, doc in enumerate(batch.docs):
        columns[doc].append(column)
    numbers = range(len(batch.positives))[rows]
    mask = np.zeros((len(numbers), len(batch.docs)), dtype=bool)
    for row, number in zip(mask, numbers, strict=True):
        for doc in known[batch.query_ids[number]] & columns.keys():
            row[columns[doc]] = True
        row[number] = False
    return mask

"""The stream of training batches: which pairs and which negatives make up step s.

Usage: `batch = Stream(pairs, batch_size=32, seed=1).batch(step)`. A batch follows from the seed
and the step number alone, so that training resumed at a step sees the identical stream.
Must not know texts, encoders or losses.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from residuum.core.contracts import Tuple
from residuum.core.errors import ResiduumError
from residuum.core.seeds import derive


class Batch(NamedTuple):
    """One step's ids and lexical scores; without negatives the last three are empty."""

    query_ids: list[str]
    positives: list[str]
    negatives: list[str]
    positive_scores: list[float]
    negative_scores: list[float]

    def part(self, rows: slice) -> "Batch":
        """Return some rows of the batch."""
        return Batch(*(column[rows] for column in self))


def part_of(pairs: Sequence[Tuple], part: tuple[int, int]) -> list[Tuple]:
    """Return the i-th of n equal parts of the pairs, for part (i, n) with i from 1.

    Pairs are shuffled by the hash of their ids: parts are disjoint across models, whatever
    their seeds and the order of their tuples.
    """
    number, parts = part
    return sorted(pairs, key=_pair_hash)[number - 1 :: parts]


def _pair_hash(pair: Tuple) -> bytes:
    return hashlib.sha256(f"{pair.query_id}\t{pair.positive}".encode()).digest()


def with_negatives(pairs: Iterable[Tuple]) -> list[Tuple]:
    """Return the pairs that a triplet can be drawn from: those whose pool is not empty."""
    return [pair for pair in pairs if pair.negatives]


class Visits:
    """An endless sequence of full batches of numbers; each epoch has a new order of its own."""

    def __init__(self, count: int, batch_size: int, seed: int) -> None:
        self.count, self.batch_size, self.seed = count, batch_size, seed
        self._epoch = lru_cache(maxsize=2)(self._draw_epoch)  # a batch may span two epochs
        if not count:
            raise ResiduumError(
                "no training pair is left: the tuples are empty, their part is, or no pair "
                "has a negative. Check the train split's qrels and the model's negatives."
            )

    def steps(self, epochs: float) -> int:
        """Return the number of steps in which everything has been visited `epochs` times."""
        return max(1, math.ceil(epochs * self.count / self.batch_size))

    def of(self, step: int) -> list[tuple[int, int]]:
        """Return the visits of a step, counted from 0: what is visited, a large random number."""
        first = step * self.batch_size
        return [self._visit(first + offset) for offset in range(self.batch_size)]

    def _visit(self, position: int) -> tuple[int, int]:
        epoch, offset = divmod(position, self.count)
        order, draws = self._epoch(epoch)
        return order[offset], draws[offset]

    def _draw_epoch(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(derive(self.seed, "batches", str(epoch)))
        order = random.permutation(self.count)
        return order, random.integers(2**62, size=self.count)


class Stream:
    """An endless sequence of full batches; each epoch visits the pairs in a new order."""

    def __init__(self, pairs: Sequence[Tuple], batch_size: int, seed: int) -> None:
        self.pairs = pairs
        self._visits = Visits(len(pairs), batch_size, seed)
        self.steps = self._visits.steps

    def batch(self, step: int) -> Batch:
        """Return the batch of a step, counted from 0."""
        return _batch([(self.pairs[number], draw) for number, draw in self._visits.of(step)])


def _batch(visits: list[tuple[Tuple, int]]) -> Batch:
    """Pick each visit's negative uniformly from its pool (CLEAR, section 3.3)."""
    picks = [(pair, draw % len(pair.negatives)) for pair, draw in visits if pair.negatives]
    return Batch(
        query_ids=[pair.query_id for pair, _ in visits],
        positives=[pair.positive for pair, _ in visits],
        negatives=[pair.negatives[pick] for pair, pick in picks],
        positive_scores=[pair.positive_score for pair, _ in picks],
        negative_scores=[pair.negative_scores[pick] for pair, pick in picks],
    )


class Positives:
    """The known positives of each query, to tell what is no negative within a batch."""

    def __init__(self, pairs: Iterable[Tuple]) -> None:
        self._of: defaultdict[str, set[str]] = defaultdict(set)
        for pair in pairs:
            self._of[pair.query_id].add(pair.positive)

    def ignore(self, batch: Batch) -> np.ndarray:
        """Return a boolean (batch, batch): doc of column j is a positive of query i, j != i."""
        rows = [[doc in self._of[query] for doc in batch.positives] for query in batch.query_ids]
        mask = np.array(rows)
        np.fill_diagonal(mask, False)
        return mask

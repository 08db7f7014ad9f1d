"""Seeded draws: one item or several, all in another order, positions by a Zipf law.

Usage: `rng = stream(seed, "docs")`, `pick(rng, items)`, `zipf(rng, 40).draw(rng)`. The only
randomness is random.Random(...).random(), so that a seed gives the same draws on any machine.

It must not know what is drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple, TypeVar

T = TypeVar("T")

STREAMS = ("docs", "splits", "tune", "dev", "judged", "train", "judgements")
ZIPF_OFFSET = 2


def stream(seed: int, part: str) -> Random:
    """One stream per part, so that more train pairs leave docs and dev queries as they were."""
    return Random(seed * len(STREAMS) + STREAMS.index(part))


class Zipf(NamedTuple):
    """A Zipf law over positions; which position is frequent is drawn, not the order of a table."""

    order: list[int]
    cumulative: list[int]

    def draw(self, rng: Random) -> int:
        """One position."""
        return self.order[bisect_right(self.cumulative, int(rng.random() * self.cumulative[-1]))]

    def draw_distinct(self, rng: Random, count: int) -> tuple[int, ...]:
        """`count` different positions, in the order drawn."""
        drawn: list[int] = []
        while len(drawn) < count:
            position = self.draw(rng)
            if position not in drawn:
                drawn.append(position)
        return tuple(drawn)


def zipf(rng: Random, size: int) -> Zipf:
    """A Zipf law over `size` positions; integer weights have the same sums on every machine."""
    weights = (1_000_000 // (rank + ZIPF_OFFSET) for rank in range(1, size + 1))
    return Zipf(shuffled(rng, range(size)), list(accumulate(weights)))


def pick(rng: Random, items: Sequence[T]) -> T:
    """One of the items."""
    return items[int(rng.random() * len(items))]


def sample(rng: Random, items: Sequence[T], count: int) -> list[T]:
    """`count` of the items, each at most once; all of them where there are fewer."""
    pool, random = list(items), rng.random
    size = len(pool)
    for i in range(min(count, size)):
        j = i + int(random() * (size - i))
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:count]


def shuffled(rng: Random, items: Sequence[T]) -> list[T]:
    """All the items in a drawn order."""
    return sample(rng, items, len(items))


def another(rng: Random, size: int, taken: int) -> int:
    """A position below `size` other than the one taken."""
    return (taken + 1 + int(rng.random() * (size - 1))) % size

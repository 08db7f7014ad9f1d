"""Resampling: the permutation test by sign flips and bootstrap intervals, for all pairs at once.

Usage: `permutation(contrasts, resamples=9999, seed=1)`. Sources: Fisher's randomisation test, p =
(b + 1) / (B + 1) (Davison and Hinkley, Bootstrap Methods, eq. 4.11); Efron and Tibshirani, An
Introduction to the Bootstrap, 13.3.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.specs import derive
from residuum.paired.classical import LEVEL, TIE, Interval, Outcome, direction
from residuum.paired.strata import Strata

# Resamples that share a generator. p and intervals depend on these numbers, so never tune them.
FLIPS_BLOCK, BOOTSTRAP_BLOCK = 512, 128
CHUNK = 128  # bytes of signs (8 queries each) per product, which a core's cache holds
FEWEST = 50  # queries; with fewer, bootstrap intervals are too narrow
DRAWN_AT_ONCE = 4_000_000  # most queries that a block may draw: bounds memory
# Eight signs for each value of a byte.
SIGNS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1.0


class Contrasts(NamedTuple):
    """Values of shape (sides, queries), queries ordered by query_id, and pairs of sides (a, b)."""

    values: np.ndarray
    pairs: list[tuple[int, int]]

    def difference(self, number: int) -> np.ndarray:
        """Return a - b of one pair per query, shape (queries,); values within TIE of 0 become 0."""
        a, b = self.pairs[number]
        d = self.values[a] - self.values[b]
        return np.where(np.abs(d) <= TIE, 0.0, d)


def permutation(contrasts: Contrasts, resamples: int, seed: int, workers: int = 1) -> list[Outcome]:
    """Return the two-sided p of each pair under random flips of the signs of its differences.

    With k differences other than 0 and 2^k <= resamples + 1, p is exact: the share of all 2^k flips
    whose |sum| reaches the observed |sum|. Otherwise p = (b + 1) / (resamples + 1). Neither the
    workers nor the order of sides and pairs change it. Raises ResiduumError for no resamples.
    """
    if resamples < 1:
        raise ResiduumError(f"resamples: {resamples}; a permutation test needs 1 or more")
    differences = [contrasts.difference(number) for number in range(len(contrasts.pairs))]
    drawn = [i for i, d in enumerate(differences) if 2 ** int(np.count_nonzero(d)) > resamples + 1]
    reaching = _reaching(contrasts, drawn, resamples, seed, workers) if drawn else {}
    outcomes = []
    for number, d in enumerate(differences):
        if number in reaching:
            p = (reaching[number] + 1) / (resamples + 1)
            monte_carlo_error = float(np.sqrt(p * (1 - p) / (resamples + 1)))
            method = f"{resamples} sign flips"
            outcomes.append(Outcome(p, monte_carlo_error, method, direction(d)))
        else:
            informative = d[d != 0]
            method = f"exact, 2^{len(informative)} sign flips"
            outcomes.append(Outcome(enumerate_flips(informative), 0.0, method, direction(d)))
    return outcomes


def enumerate_flips(d: np.ndarray) -> float:
    """Return the share of the 2^n sign flips of `d` whose |sum| is at least the observed |sum|.

    The first sign stays fixed: flipping all signs changes no |sum|.
    """
    sums = d[:1] if len(d) else np.zeros(1)
    for value in d[1:]:
        sums = np.concatenate([sums + value, sums - value])
    threshold = abs(float(d.sum())) - TIE * len(d)
    return float((np.abs(sums) >= threshold).mean())


def _reaching(
    contrasts: Contrasts, numbers: list[int], resamples: int, seed: int, workers: int
) -> dict[int, int]:
    """Count for each pair the resamples whose |sum| reaches the observed |sum|."""
    sides, rows = np.unique([contrasts.pairs[i] for i in numbers], return_inverse=True)
    a, b = rows.reshape(-1, 2).T
    queries = contrasts.values.shape[1]
    width = -(-queries // 8)
    values = np.zeros((len(sides), 8 * width))
    values[:, :queries] = contrasts.values[sides]
    threshold = np.abs([contrasts.difference(i).sum() for i in numbers]) - TIE * queries

    def block(generator: np.random.Generator, rows: int) -> np.ndarray:
        drawn = np.frombuffer(generator.bytes(rows * width), dtype=np.uint8).reshape(rows, width)
        sums = np.zeros((len(sides), rows))
        for start in range(0, width, CHUNK):
            signs = np.take(SIGNS, drawn[:, start : start + CHUNK], axis=0).reshape(rows, -1)
            sums += values[:, 8 * start : 8 * (start + CHUNK)] @ signs.T
        reached = np.abs(sums[a] - sums[b]) >= threshold[:, None]
        return np.asarray(reached.sum(axis=1))

    blocks = in_blocks(block, derive(seed, "sign flips"), resamples, FLIPS_BLOCK, workers)
    return dict(zip(numbers, np.sum(list(blocks), axis=0).tolist(), strict=True))


def bootstrap(
    contrasts: Contrasts,
    resamples: int,
    seed: int,
    workers: int = 1,
    strata: Strata | None = None,
) -> list[Interval]:
    """Return the percentile bootstrap interval of each pair's mean difference.

    Queries are drawn with replacement, the same for all pairs, and within each collection of
    `strata`. With fewer than FEWEST queries the interval is (None, None):
    tests/benchmarks/simulations.py shows how much too short it would be. So it is where a
    collection has too few queries.
    """
    queries = contrasts.values.shape[1]
    if queries < FEWEST or (strata and not strata.tell_variance):
        return [(None, None)] * len(contrasts.pairs)
    a, b = np.array(contrasts.pairs).T
    drawn = sums_of_draws(contrasts.values, derive(seed, "bootstrap"), resamples, workers, strata)
    means = np.concatenate([(sums[a] - sums[b]) / queries for sums in drawn], axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def sums_of_draws(
    values: np.ndarray, entropy: int, resamples: int, workers: int, strata: Strata | None
) -> Iterator[np.ndarray]:
    """Yield the sums of values over drawn queries, shape (sides, draws), some draws at a time.

    `values` has shape (sides, queries). All sides share the draws.
    """
    queries = values.shape[1]
    # Whole numbers of units of 2^-32, or larger units. Their sums stay below 2^53 and are exact, so
    # that no digit of a mean depends on the order of additions in a processor's matrix product.
    largest = np.maximum(np.abs(values).max(axis=1), 1.0)
    units = np.exp2(np.minimum(32, np.floor(52 - np.log2(largest * queries))))[:, None]
    whole = np.rint(values * units)

    def block(generator: np.random.Generator, rows: int) -> np.ndarray:
        if strata:
            times_drawn = np.zeros((rows, queries), dtype=np.int64)
            for members in strata.members:
                times_drawn[:, members] = _times_drawn(generator, rows, len(members))
        else:
            times_drawn = _times_drawn(generator, rows, queries)
        return np.asarray((whole @ times_drawn.astype(np.float64).T) / units)

    rows = max(1, min(BOOTSTRAP_BLOCK, DRAWN_AT_ONCE // queries))
    yield from in_blocks(block, entropy, resamples, rows, workers)


def _times_drawn(generator: np.random.Generator, rows: int, queries: int) -> np.ndarray:
    """Return how often each query is drawn in each row, as many draws a row as queries."""
    drawn = generator.integers(queries, size=(rows, queries))
    drawn += np.arange(rows)[:, None] * queries
    return np.bincount(drawn.ravel(), minlength=rows * queries).reshape(rows, queries)


def in_blocks(
    draw: Callable[[np.random.Generator, int], np.ndarray],
    entropy: int,
    resamples: int,
    rows: int,
    workers: int,
) -> Iterator[np.ndarray]:
    """Yield `draw(generator, n)` for each block of n <= `rows` resamples, on `workers` threads.

    All pairs share their draws: a block's generator depends on the entropy and the block's number
    alone. A block's matrix products are small and stay on its thread. BLAS's own threads would get
    in the way of the workers.
    """
    from threadpoolctl import threadpool_limits

    def block(number: int) -> np.ndarray:
        generator = np.random.Generator(np.random.PCG64([entropy, number]))
        return draw(generator, min(rows, resamples - number * rows))

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(max(1, workers)) as pool:
        yield from pool.map(block, range(-(-resamples // rows)))

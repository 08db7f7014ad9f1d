"""Paired permutation test by sign flips: exact where few queries differ, else by resamples.

Usage: `permutation(contrasts, resamples=9999, seed=1)`. Source: Fisher's randomisation test,
p = (b + 1) / (B + 1) (Davison and Hinkley, Bootstrap Methods, eq. 4.11). All pairs share their
signs: a block of resamples is one matrix product, and its generator depends on the seed and the
block's number alone. Must not know systems, corrections or rendering.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.specs import derive
from residuum.paired.contrasts import TIE, Contrasts, Outcome

BLOCK = 512  # resamples that share a generator: part of what p depends on, so never tuned
CHUNK = 128  # bytes of signs (8 queries each) per product: what a core's cache holds
ENUMERATED = 16  # queries whose sums are held at once when all flips are enumerated
# Eight signs for each value of a byte.
SIGNS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1.0


class _Observed(NamedTuple):
    """What a block needs: padded values (sides, 8 * width), sides a and b, and thresholds."""

    values: np.ndarray
    a: np.ndarray
    b: np.ndarray
    threshold: np.ndarray


def permutation(contrasts: Contrasts, resamples: int, seed: int, workers: int = 1) -> list[Outcome]:
    """Return the two-sided p of each pair under random flips of the signs of its differences.

    With k differences other than 0 and 2^k <= resamples + 1, p is the share of all 2^k flips
    whose |sum| reaches the observed one. Otherwise p = (b + 1) / (resamples + 1). Neither the
    workers nor the order of sides and pairs change it. Raises ResiduumError for no resamples.
    """
    if resamples < 1:
        raise ResiduumError(f"resamples: {resamples}; a permutation test needs 1 or more")
    outcomes: dict[int, Outcome] = {}
    for number in range(len(contrasts.pairs)):
        d = contrasts.difference(number)
        informative = np.flatnonzero(d)
        if 2 ** len(informative) <= resamples + 1:
            method = f"exact, 2^{len(informative)} sign flips"
            outcomes[number] = Outcome(enumerate_flips(d[informative]), 0.0, method)
    drawn = [number for number in range(len(contrasts.pairs)) if number not in outcomes]
    if drawn:
        counts = _reaching(_observed(contrasts, drawn), resamples, seed, workers)
        for number, count in zip(drawn, counts.tolist(), strict=True):
            p = (count + 1) / (resamples + 1)
            error = monte_carlo_error(p, resamples)
            outcomes[number] = Outcome(p, error, f"{resamples} sign flips")
    return [outcomes[number] for number in range(len(contrasts.pairs))]


def monte_carlo_error(p: float, resamples: int) -> float:
    """Standard error of a p-value that comes from so many resamples."""
    return float(np.sqrt(p * (1 - p) / (resamples + 1)))


def enumerate_flips(d: np.ndarray) -> float:
    """Return the share of the 2^n sign flips of `d` whose |sum| is at least the observed one.

    The first sign stays as it is: turning all signs round changes no |sum|.
    """
    if not len(d):
        return 1.0
    threshold = abs(float(d.sum())) - TIE * len(d)
    held = _sums(d[0], d[1 : ENUMERATED + 1])
    others = _sums(0.0, d[ENUMERATED + 1 :])
    reached = sum(int((np.abs(held + other) >= threshold).sum()) for other in others)
    return reached / (len(held) * len(others))


def _sums(start: float, d: np.ndarray) -> np.ndarray:
    sums = np.array([start])
    for value in d:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _observed(contrasts: Contrasts, numbers: list[int]) -> _Observed:
    sides, rows = np.unique([contrasts.pairs[i] for i in numbers], return_inverse=True)
    a, b = rows.reshape(-1, 2).T
    queries = contrasts.values.shape[1]
    values = np.zeros((len(sides), 8 * -(-queries // 8)))
    values[:, :queries] = contrasts.values[sides]
    sums = np.array([contrasts.difference(number).sum() for number in numbers])
    return _Observed(values, a, b, np.abs(sums) - TIE * queries)


def _reaching(observed: _Observed, resamples: int, seed: int, workers: int) -> np.ndarray:
    """Count for each pair the resamples whose |sum| reaches the observed one."""
    entropy = derive(seed, "sign flips")

    def block(number: int) -> np.ndarray:
        generator = np.random.Generator(np.random.PCG64([entropy, number]))
        return _block(observed, generator, min(BLOCK, resamples - number * BLOCK))

    counts = np.zeros(len(observed.a), dtype=np.int64)
    for reached in spread(block, -(-resamples // BLOCK), workers):
        counts += reached
    return counts


def _block(observed: _Observed, generator: np.random.Generator, rows: int) -> np.ndarray:
    width = observed.values.shape[1] // 8
    drawn = np.frombuffer(generator.bytes(rows * width), dtype=np.uint8).reshape(rows, width)
    sums = np.zeros((len(observed.values), rows))
    for start in range(0, width, CHUNK):
        signs = np.take(SIGNS, drawn[:, start : start + CHUNK], axis=0).reshape(rows, -1)
        sums += observed.values[:, 8 * start : 8 * (start + CHUNK)] @ signs.T
    apart = np.abs(sums[observed.a] - sums[observed.b])
    return np.asarray((apart >= observed.threshold[:, None]).sum(axis=1))


def spread(block: Callable[[int], np.ndarray], count: int, workers: int) -> Iterator[np.ndarray]:
    """Call `block` for 0 to count - 1 on so many threads; yield what it returns in that order.

    A block's matrix products are small and stay on its thread: BLAS's own threads would only get
    in the way of the workers.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        if workers <= 1 or count <= 1:
            yield from map(block, range(count))
        else:
            with ThreadPoolExecutor(min(workers, count)) as pool:
                yield from pool.map(block, range(count))

"""Exact search on a card: torch compares all vectors, as deep as one asks, and sums scores anew.

Usage: `Card(vectors, "cuda").index()`, which nearest.py searches as it does FAISS's. Vectors stay
on the card where they fit; else they are copied in blocks, the next one while one is compared. Must
not know docs, shards or files.

Candidates are found by products of float32. In whatever order d of them are added, a score is off
by at most g(d) |q| |v|, with g(d) = d u / (1 - d u) and u = 2^-24 (Higham 2002, Section 3.1). At
768 dimensions g is 4.6e-5. A vector of the best k therefore scores, as computed, at least the k-th
computed score less twice that, and all such are kept. TF32 reads 11 of 24 bits, which alone takes
2^-10 of each product: a bound 21 times as wide, within which far more vectors lie.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.vectors.approximate import Found, VectorIndex

if TYPE_CHECKING:
    from torch import Tensor

    Best = tuple[Tensor, Tensor]  # scores and rows of some queries

Result = TypeVar("Result")
BLOCK = 2**28  # bytes of the vectors that are compared at once
SCORES = 2**28  # of queries and a block: 1 GiB
FEWEST = 2**20  # a card that does not hold so many scores is full of other work


def bound(count: int, bits: int) -> float:
    """Return how far a sum of products may be off, as a share of |q| |v|, in any order."""
    off = count * 2.0**-bits
    return off / (1 - off)


def near_half(scores: Tensor, off: float) -> Tensor:
    """Return the numbers of scores that round otherwise, for a run, if they are off by so much."""
    scaled = scores * 10**trec.SCORE_DECIMALS
    spare = off * 10**trec.SCORE_DECIMALS + scaled.abs() * 2.0**-50  # what rounding itself is off
    return ((scaled - scaled.floor() - 0.5).abs() <= spare).nonzero().ravel()


class Card:
    """Float32 vectors (vectors, dimensions) on a torch device or beside it, to be searched."""

    def __init__(self, vectors: np.ndarray, device: str) -> None:
        import torch

        torch.set_float32_matmul_precision("highest")  # no TF32
        self._vectors, self._device = vectors, device
        self._rows = max(1, min(len(vectors), BLOCK // (4 * vectors.shape[1])))
        self._scores, self._queries = SCORES, 0
        self._keep = True
        self._kept: list[Tensor] = []
        self._longest = self._fitting(self._load)

    def index(self) -> VectorIndex:
        """Return how the vectors are searched, as nearest.py takes it."""
        return VectorIndex(self.search, 1, 1, self.compared, self.uncertain, self.products)

    def search(self, queries: np.ndarray, depth: int, effort: int) -> Found:
        """Return scores (float32, falling) and rows of each query's best vectors."""
        self._queries += len(queries)
        return self._fitting(partial(self._search, queries, depth))

    def compared(self) -> int:
        """Return how many vectors were compared with queries since this was last called."""
        count, self._queries = self._queries * len(self._vectors), 0
        return count

    def uncertain(self, queries: np.ndarray) -> np.ndarray:
        """Return, per query, the gap of found scores below which their order may be the other."""
        lengths = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
        off = bound(queries.shape[1], 24) * lengths * self._longest
        return np.asarray(2 * off + trec.ROUNDING)

    def products(
        self, queries: np.ndarray, query: np.ndarray, row: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the product of query `query[i]` and vector `row[i]`, summed in float64.

        And the numbers of those that a run may round otherwise than a sum in another order.
        """
        lengths = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
        off = 2 * bound(queries.shape[1], 53) * lengths.max(initial=0) * self._longest
        return self._fitting(partial(self._sums, queries, query, row, off))

    def _load(self) -> float:
        """Return the longest vector's length; keep all on the device unless they did not fit."""
        import torch

        longest = []
        for _, block in self._copied():
            lengths = torch.linalg.vector_norm(block, dim=1, dtype=torch.float64)
            longest.append(lengths.max())
            if self._keep:
                self._kept.append(block.clone())
        return max(map(float, longest), default=0.0)

    def _search(self, queries: np.ndarray, depth: int) -> Found:
        shape = len(queries), min(depth, len(self._vectors))
        scores, rows = np.empty(shape, np.float32), np.empty(shape, np.int64)
        at_once = max(1, self._scores // (4 * depth))
        for first in range(0, len(queries), at_once):
            some = slice(first, first + at_once)
            self._best(queries[some], depth, scores[some], rows[some])
        return scores, rows

    def _best(self, queries: np.ndarray, depth: int, scores: np.ndarray, rows: np.ndarray) -> None:
        """Pass over all vectors once, keep the best on the device, and write them at the end."""
        import torch

        width = max(1, self._scores // self._rows)
        some = self._put(queries).split(width)
        best: list[Best | None] = [None] * len(some)
        for first, block in self._blocks():
            for number, part in enumerate(some):
                best[number] = _better(best[number], torch.mm(part, block.T), first, depth)
        for number, found in enumerate(filter(None, best)):
            values, places = found[0].sort(dim=1, descending=True)
            own = slice(number * width, (number + 1) * width)
            torch.from_numpy(scores[own]).copy_(values)
            torch.from_numpy(rows[own]).copy_(found[1].gather(1, places))

    def _sums(
        self, queries: np.ndarray, query: np.ndarray, row: np.ndarray, off: float
    ) -> tuple[np.ndarray, np.ndarray]:
        import torch

        asked, left, right = self._put(queries).double(), self._put(query), self._put(row)
        scores = torch.empty(len(row), dtype=torch.float64, device=self._device)
        at_once = max(1, self._scores // (8 * queries.shape[1]))
        for first, block in self._blocks():
            own = ((right >= first) & (right < first + len(block))).nonzero().ravel()
            for pairs in own.split(at_once):
                values = block[right[pairs] - first] * asked[left[pairs]]  # float64, as the latter
                scores[pairs] = values.sum(dim=1)
        return scores.cpu().numpy(), near_half(scores, off).cpu().numpy()

    def _put(self, array: np.ndarray) -> Tensor:
        """Return float32 or int64 values on the device, by way of memory that it reads itself."""
        import torch

        kind, pinned = torch.float32 if array.dtype.kind == "f" else torch.int64, self._pinned
        host = torch.empty(array.shape, dtype=kind, pin_memory=pinned)
        host.numpy()[...] = array
        return torch.empty(array.shape, dtype=kind, device=self._device).copy_(host, pinned)

    @property
    def _pinned(self) -> bool:
        return self._device != "cpu"

    def _blocks(self) -> Iterator[tuple[int, Tensor]]:
        """Yield the number of a first row, and the vectors from there on."""
        if self._keep:
            yield from zip(range(0, len(self._vectors), self._rows), self._kept, strict=True)
        else:
            yield from self._copied()

    def _copied(self) -> Iterator[tuple[int, Tensor]]:
        """Yield what `_blocks` does, each until two later: work on it is queued, not done."""
        starts = range(0, len(self._vectors), self._rows)
        if not self._pinned:
            yield from ((first, self._put(self._some(first))) for first in starts)
            return
        import torch

        shape = self._rows, self._vectors.shape[1]
        hosts = [torch.empty(shape, pin_memory=True) for _ in starts[:2]]
        blocks = [torch.empty(shape, device=self._device) for _ in starts[:2]]
        used = [torch.cuda.Event() for _ in starts[:2]]
        computing, copying = torch.cuda.current_stream(), torch.cuda.Stream()
        copying.wait_stream(computing)  # of memory that earlier work may still read
        for number, first in enumerate(starts):
            slot, some = number % 2, self._some(first)
            used[slot].synchronize()  # nothing queued reads this slot any longer
            hosts[slot].numpy()[: len(some)] = some
            block = blocks[slot][: len(some)]
            with torch.cuda.stream(copying):
                block.copy_(hosts[slot][: len(some)], non_blocking=True)
            computing.wait_stream(copying)
            yield first, block
            used[slot].record(computing)

    def _some(self, first: int) -> np.ndarray:
        return self._vectors[first : first + self._rows]

    def _fitting(self, work: Callable[[], Result]) -> Result:
        """Return what some work gives, done with less at once whenever the card's memory ends."""
        import torch

        while True:
            try:
                return work()
            except torch.OutOfMemoryError:
                pass
            self._shrink()  # here, because the error holds on to what it interrupted

    def _shrink(self) -> None:
        """Halve what is compared at once, and keep no vectors on the card between two searches."""
        import torch

        if self._scores <= FEWEST:
            raise ResiduumError(
                f"the card's memory holds less than {self._rows} vectors with {self._scores} "
                "scores. End what else runs on the card, or set device: cpu"
            )
        self._keep, self._kept = False, []
        self._scores, self._rows = self._scores // 2, max(1, self._rows // 2)
        torch.cuda.empty_cache()
        print(
            f"the vectors do not fit into the card's memory: {self._rows} at once from now on",
            file=sys.stderr,
            flush=True,
        )


def _better(best: Best | None, scores: Tensor, first: int, depth: int) -> Best:
    """Return the best so far with those of more vectors, from row `first` on; in no order."""
    import torch

    values, rows = scores.topk(min(depth, scores.shape[1]), sorted=False)
    rows += first
    if best is None:
        return values, rows
    both, all_rows = torch.cat([best[0], values], dim=1), torch.cat([best[1], rows], dim=1)
    values, places = both.topk(min(depth, both.shape[1]), sorted=False)
    return values, all_rows.gather(1, places)

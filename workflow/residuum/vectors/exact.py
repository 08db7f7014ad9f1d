"""Exact search on a card: torch compares all vectors to any depth, then sums scores in float64.

Usage: `Card(vectors, "cuda").index()`, which nearest.py searches like FAISS's indexes. Vectors stay
on the card if they fit. Otherwise they are copied in blocks, the next one while the last is
compared.

Candidates are found by products of float32. A sum of d products, in any order, is off by at most
g(d) |q| |v|. Here g(d) = d u / (1 - d u) and u = 2^-24 (Higham 2002, Section 3.1). At 768
dimensions g is 4.6e-5. The computed score of a vector of the best k is therefore at least the k-th
computed score less twice the bound. All vectors with such scores are kept. TF32 reads 11 of 24
bits, and alone takes 2^-10 of each product. Its bound is 21 times as wide and would keep far more
vectors.
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
BLOCK = 2**28  # bytes of vectors compared at once
SCORES = 2**28  # scores of queries and a block held at once: 1 GiB
FEWEST = 2**20  # a card without memory for this many scores is full of other work


def bound(count: int, bits: int) -> float:
    """Return the most error of a sum of products in any order, as a share of |q| |v|."""
    off = count * 2.0**-bits
    return off / (1 - off)


def near_half(scores: Tensor, off: float) -> Tensor:
    """Return the numbers of scores that a run may round differently if they are off by `off`."""
    scaled = scores * 10**trec.SCORE_DECIMALS
    spare = off * 10**trec.SCORE_DECIMALS + scaled.abs() * 2.0**-50  # and rounding's own error
    return ((scaled - scaled.floor() - 0.5).abs() <= spare).nonzero().ravel()


def best_of_each(device: str, docs: np.ndarray, queries: np.ndarray, each: int) -> np.ndarray:
    """Return the largest product of each doc's vectors, `each` a doc: (docs, query vectors)."""
    import torch

    torch.set_float32_matmul_precision("highest")  # no TF32
    left, right = (torch.from_numpy(some).to(device) for some in (docs, queries))
    best = (left @ right.T).view(-1, each, len(queries)).amax(1)
    return np.asarray(best.cpu().numpy())


class Card:
    """Float32 vectors (vectors, dimensions) for search, on a torch device or beside it."""

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
        """Return the index of the vectors that nearest.py searches."""
        return VectorIndex(self.search, 1, 1, self.compared, self.uncertain, self.products)

    def search(self, queries: np.ndarray, depth: int, effort: int) -> Found:
        """Return scores (float32, falling) and rows of each query's best vectors."""
        self._queries += len(queries)
        return self._fitting(partial(self._search, queries, depth))

    def compared(self) -> int:
        """Return how many vectors were compared with queries since the last call."""
        count, self._queries = self._queries * len(self._vectors), 0
        return count

    def uncertain(self, queries: np.ndarray) -> np.ndarray:
        """Return, per query, the gap of scores below which the order of two hits may be wrong."""
        lengths = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
        off = bound(queries.shape[1], 24) * lengths * self._longest
        return np.asarray(2 * off + trec.ROUNDING)

    def products(
        self, queries: np.ndarray, query: np.ndarray, row: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the product of query `query[i]` and vector `row[i]`, summed in float64.

        Also return the numbers of products that a run may round differently than sums in another
        order.
        """
        lengths = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
        off = 2 * bound(queries.shape[1], 53) * lengths.max(initial=0) * self._longest
        return self._fitting(partial(self._sums, queries, query, row, off))

    def _load(self) -> float:
        """Return the longest vector's length; keep all vectors on the device if they fit."""
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
            part = slice(number * width, (number + 1) * width)
            torch.from_numpy(scores[part]).copy_(values)
            torch.from_numpy(rows[part]).copy_(found[1].gather(1, places))

    def _sums(
        self, queries: np.ndarray, query: np.ndarray, row: np.ndarray, off: float
    ) -> tuple[np.ndarray, np.ndarray]:
        import torch

        asked, left, right = self._put(queries).double(), self._put(query), self._put(row)
        scores = torch.empty(len(row), dtype=torch.float64, device=self._device)
        at_once = max(1, self._scores // (8 * queries.shape[1]))
        for first, block in self._blocks():
            in_block = ((right >= first) & (right < first + len(block))).nonzero().ravel()
            for pairs in in_block.split(at_once):
                values = block[right[pairs] - first] * asked[left[pairs]]  # float64 by `asked`
                scores[pairs] = values.sum(dim=1)
        return scores.cpu().numpy(), near_half(scores, off).cpu().numpy()

    def _put(self, array: np.ndarray) -> Tensor:
        """Copy values to the device as float32 or int64, through pinned memory beside a card."""
        import torch

        kind, pinned = torch.float32 if array.dtype.kind == "f" else torch.int64, self._pinned
        host = torch.empty(array.shape, dtype=kind, pin_memory=pinned)
        host.numpy()[...] = array
        return torch.empty(array.shape, dtype=kind, device=self._device).copy_(host, pinned)

    @property
    def _pinned(self) -> bool:
        return self._device != "cpu"

    def _blocks(self) -> Iterator[tuple[int, Tensor]]:
        """Yield the number of a block's first row, and the block's vectors."""
        if self._keep:
            yield from zip(range(0, len(self._vectors), self._rows), self._kept, strict=True)
        else:
            yield from self._copied()

    def _copied(self) -> Iterator[tuple[int, Tensor]]:
        """Yield blocks as `_blocks` does. A block is valid until the second block after it.

        The caller only queues work on a block, and does not wait for it.
        """
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
        copying.wait_stream(computing)  # earlier work may still read this memory
        for number, first in enumerate(starts):
            slot, some = number % 2, self._some(first)
            used[slot].synchronize()  # no queued work reads this slot any longer
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
        """Return the result of work; if the card's memory ends, repeat it in smaller parts."""
        import torch

        while True:
            try:
                return work()
            except torch.OutOfMemoryError:
                pass
            self._shrink()  # after the except block: the error keeps the interrupted work's memory

    def _shrink(self) -> None:
        """Halve the vectors and scores held at once, and keep none on the card between searches."""
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
    """Return the best hits so far and among `scores` of rows from `first` on, in no order."""
    import torch

    values, rows = scores.topk(min(depth, scores.shape[1]), sorted=False)
    rows += first
    if best is None:
        return values, rows
    both, all_rows = torch.cat([best[0], values], dim=1), torch.cat([best[1], rows], dim=1)
    values, places = both.topk(min(depth, both.shape[1]), sorted=False)
    return values, all_rows.gather(1, places)

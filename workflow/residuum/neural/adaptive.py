"""How much of a batch is computed at once: what a GPU's memory holds, what keeps a CPU busy.

Usage: `sizes = AdaptiveBatchSize("texts", "length")`, then `sizes.each(items, 64, work)`.
What does not fit is halved and tried again. Only torch's own complaint counts, which no CPU
makes: there `busy` says where a larger batch is no faster.
Must not know models or what a batch is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from residuum.cli.errors import ResiduumError
from residuum.neural.resume import log

Item = TypeVar("Item")

BUSY = 2**26  # multiplications of a square layer: about a millisecond of a core
FEWEST = 4  # rows that matrix products take together; one of fewer is summed in another order


def busy(asked: int, width: int, hidden: int, device: str) -> int:
    """Return how many texts of `width` tokens to compute at once, at most as many as asked.

    On a CPU a power of two that makes work enough for a layer of `hidden` units. More leaves the
    caches (six layers of 384 units, 128 tokens: 47 ms a text in batches of 32, 43 ms in batches of
    4), and of small batches less is padding.
    """
    if device != "cpu":
        return asked
    enough = max(FEWEST, BUSY // (width * hidden**2))
    return min(asked, 1 << (enough.bit_length() - 1))


class AdaptiveBatchSize:
    """The largest batch that fitted; a smaller size is kept for as long as this lives.

    `unit` says in messages what a batch is made of, `remedy` which key makes one smaller.
    """

    def __init__(self, unit: str, remedy: str) -> None:
        self.unit, self.remedy = unit, remedy
        self.limit: int | None = None

    def size(self, requested: int) -> int:
        """Return the size of a batch that is requested with a size."""
        return requested if self.limit is None else min(requested, self.limit)

    def each(
        self, items: Sequence[Item], requested: int, work: Callable[[Sequence[Item], int], None]
    ) -> None:
        """Call `work(batch, size)` with batches of the items, in order.

        A batch has `size` items, the last one as many as are left. One that does not fit is
        tried again, in halves; work must not have changed anything that counts until then.
        Raises ResiduumError if a batch of one does not fit.
        """
        done = 0
        while done < len(items):
            size = self.size(requested)
            batch = items[done : done + size]
            if self.fits(size, lambda batch=batch, size=size: work(batch, size)):  # type: ignore[misc]
                done += len(batch)

    def fits(self, size: int, work: Callable[[], None]) -> bool:
        """Do some work on `size` items; if the GPU's memory ends meanwhile, halve and say False."""
        import torch

        try:
            work()
            return True
        except torch.OutOfMemoryError:
            pass
        torch.cuda.empty_cache()  # here, because the error holds on to what it interrupted
        self._halve(size)
        return False

    def _halve(self, size: int) -> None:
        if size == 1:
            raise ResiduumError(
                f"one of the {self.unit} alone does not fit into the GPU's memory. "
                f"Lower {self.remedy}, or use a larger GPU"
            )
        self.limit = size // 2
        log(
            f"a batch of {size} {self.unit} does not fit into the GPU's memory: "
            f"{self.limit} at once from now on"
        )

    def facts(self) -> dict[str, int]:
        """Return what a manifest records: nothing if all batches fitted as requested."""
        return {} if self.limit is None else {"largest_batch": self.limit}

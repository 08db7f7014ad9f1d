"""Texts of about one length computed together, so that a batch in training has little padding.

Usage: `scores = padding.by_length(pairs, encoder.forward, encoder.model)`. Training draws its
batches at random. Computation without gradient sorts all texts by length instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from residuum.neural import devices

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T", bound=Sized)
# A further batch costs as much as PRICE / (a model's hidden units)^2 tokens. Measured at 64 units
# and two layers, where a quarter of PRICE is about as good and an eighth is worse.
PRICE = 2**20
MOST = 8  # batches at most


def by_length(
    texts: Sequence[T],
    compute: Callable[[Sequence[T]], Tensor],
    model: Any,
    length: Callable[[T], int] = len,
) -> Tensor:
    """Return the rows that `compute` makes of the batches of `together`, in the texts' order."""
    import torch

    parts = together([*map(length, texts)], model)
    made = torch.cat([compute([texts[i] for i in part]) for part in parts])
    order = np.argsort(np.concatenate(parts))
    return made[devices.put(order, made.device.type)]


def together(lengths: Sequence[int], model: Any) -> list[np.ndarray]:
    """Return the numbers of texts that a model computes together, a batch each.

    On a CPU a batch holds texts of about one length. On a GPU, where this was not tried, it holds
    all texts.
    """
    if next(model.parameters()).device.type != "cpu":
        return [np.arange(len(lengths))]
    return cheapest(lengths, PRICE // model.config.hidden_size**2)


def by_width(lengths: np.ndarray, step: int, limit: int) -> Iterator[tuple[list[int], int]]:
    """Yield numbers of texts, and the width that they are padded to.

    A width is a multiple of `step`, at most `limit`.

    Texts that fill the last width stand apart. transformers drops a mask without a zero and then
    computes differently, so all texts of a batch must have padding, or none.
    """
    widths = np.minimum((lengths // step + 1) * step, limit)
    widths = np.where(lengths < limit, widths, -limit)
    for width in map(int, np.unique(widths)):
        yield np.flatnonzero(widths == width).tolist(), abs(width)


def cheapest(lengths: Sequence[int], price: int) -> list[np.ndarray]:
    """Return the numbers of texts in batches of about equal size, the shortest texts first.

    The number of batches is the cheapest. A text costs as many tokens as the longest of its batch,
    and a batch costs `price` tokens more.
    """
    order = np.argsort(lengths, kind="stable")
    ordered = np.asarray(lengths)[order]

    def cost(count: int) -> int:
        parts = np.array_split(ordered, count)
        return sum(len(part) * int(part[-1]) + price for part in parts)

    best = min(range(1, min(MOST, len(ordered)) + 1), key=cost, default=1)
    return np.array_split(order, best)

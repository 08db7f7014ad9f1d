"""Token ids of texts as a model is given them: padded with a mask, or packed where a card can.

Usage: `inputs = Inputs(model, fill, device)`, then `given, mask = inputs.of(rows)` and
`model(**given)`. Must not know what a model is for, nor where the ids come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from residuum.neural import devices, packing

if TYPE_CHECKING:
    from torch import Tensor


class Inputs:
    """How a model is given texts; `packs` says whether its layers do without padding.

    `fill` is the id behind a text's end. On a CPU all is as transformers documents it. On a card
    nothing is asked of what lies there: that would wait until all earlier work is done.
    """

    def __init__(self, model: Any, fill: int, device: devices.Device, packs: bool = True) -> None:
        self.fill, self._device = fill, device.name
        # transformers looks for a zero in a mask of two dimensions, and takes one of four as it is.
        self._as_it_is = device.name == "cuda" and packing.encodes(model)
        self.packs = packs and packing.suits(model, device)
        if self.packs:
            packing.install(model)

    def of(self, rows: Sequence[np.ndarray], width: int = 0) -> tuple[dict[str, Any], Tensor]:
        """Return a model's arguments, and the mask of tokens (texts, tokens), 1 or 0, int64.

        Texts are padded to `width` tokens, or to the longest.
        """
        ids, mask = padded(rows, self.fill, self._device, width)
        if self.packs:
            packed = packing.of([*map(len, rows)], ids.shape[1], self._device)
            return {"input_ids": ids, "packed": packed}, mask
        return {"input_ids": ids, "attention_mask": self._attended(rows, mask)}, mask

    def _attended(self, rows: Sequence[np.ndarray], mask: Tensor) -> Tensor | None:
        """Return the mask that a model takes; None where there is no padding, and that is known."""
        if not self._as_it_is:
            return mask
        if all(len(row) == mask.shape[1] for row in rows):
            return None
        return mask.bool()[:, None, None]


def padded(
    rows: Sequence[np.ndarray], fill: int, device: str, width: int = 0
) -> tuple[Tensor, Tensor]:
    """Return ids and mask, int64 (rows, width, or the longest): `fill` and 0 beyond a row's end."""
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(width or lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, fill, dtype=np.int64)
    ids[mask] = np.concatenate(rows)
    return devices.put(ids, device), devices.put(mask.astype(np.int64), device)


def places(rows: Sequence[np.ndarray], device: str) -> Tensor:
    """Return where marked tokens stand of texts that are padded to the longest: int64 (tokens,).

    `rows` are boolean; places count through (texts, tokens). A card is asked nothing for it.
    """
    width = max(map(len, rows))
    each = [np.flatnonzero(row) + number * width for number, row in enumerate(rows)]
    return devices.put(np.concatenate(each), device)

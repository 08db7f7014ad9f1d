"""Token ids of texts as a model is given them: padded with a mask, or packed where a card can.

Usage: `inputs = Inputs(model, fill, device)`, then `given, mask = inputs.of(rows)` and
`model(**given)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from residuum.neural import devices, packing

if TYPE_CHECKING:
    from torch import Tensor

    from residuum.neural.packing import Packed


class Inputs:
    """How a model is given texts; `packs` says whether its layers do without padding.

    `fill` is the id behind a text's end. On a CPU all is as transformers documents it, unless texts
    share a `room` of tokens. On a card nothing is asked of what lies there: that would wait until
    all earlier work is done.
    """

    def __init__(self, model: Any, fill: int, device: devices.Device, packs: bool = True) -> None:
        self.fill, self._device, self._model = fill, device.name, model
        # transformers looks for a zero in a mask of two dimensions, and takes one of four as it is.
        self._as_it_is = device.name == "cuda" and packing.encodes(model)
        self.packs = packs and packing.suits(model, device)
        self.room = self.texts = 0
        if self.packs:
            packing.install(model)

    def share(self, room: int, texts: int) -> None:
        """Let the model, on a CPU, which is not trained, read texts that share a room of tokens.

        With a number of `texts` the heads are always given so many, and the layers all rows of the
        room: those beyond the given ones mean nothing, and no value depends on how many share a
        room. Without one there are as many as it takes.
        """
        packing.install(self._model)
        self.packs, self.room, self.texts = True, room, texts

    def of(self, rows: Sequence[np.ndarray], width: int = 0) -> tuple[dict[str, Any], Tensor]:
        """Return a model's arguments, and the mask of tokens (texts, tokens), 1 or 0, int64.

        Texts are padded to `width` tokens, or to the longest.
        """
        rows = [*rows, *[np.zeros(0, np.int32)] * (self.texts - len(rows))]
        if self.packs:
            own = present([*map(len, rows)], width)
            mask = devices.put(own.astype(np.int64), self._device)
            return self._packed(rows, own), mask
        ids, mask = padded(rows, self.fill, self._device, width)
        return {"input_ids": ids, "attention_mask": self._attended(rows, mask)}, mask

    def _packed(self, rows: Sequence[np.ndarray], own: np.ndarray) -> dict[str, Any]:
        """Return a model's arguments, given the places (texts, width) of tokens."""
        packed = packing.of(own, self._device, self._rows(int(own.sum())))
        positions = packing.positions(self._model, packed.bounds.lengths)
        return {
            "input_ids": self.side_by_side(rows, self.fill, packed),
            "position_ids": self.side_by_side(positions, 0, packed),
            "packed": packed,
        }

    def _rows(self, tokens: int) -> int:
        """Return how many rows the layers are given of so many tokens."""
        if not self.room:
            return packing.room_of(tokens)
        return self.room if self.texts else packing.rounded(tokens)

    def side_by_side(self, rows: Sequence[np.ndarray], fill: int, packed: Packed) -> Tensor:
        """Return the values of tokens one text after another, as a model that packs reads them."""
        room = len(packed.there)
        return devices.put(packing.side_by_side(rows, fill, room), self._device)

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
    mask = present([*map(len, rows)], width)
    ids = np.full(mask.shape, fill, dtype=np.int64)
    ids[mask] = np.concatenate(rows)
    return devices.put(ids, device), devices.put(mask.astype(np.int64), device)


def present(lengths: Sequence[int], width: int = 0) -> np.ndarray:
    """Return which places hold a token: boolean (texts, width, or the longest)."""
    return np.asarray(np.arange(width or max(lengths)) < np.array(lengths)[:, None])


def places(rows: Sequence[np.ndarray], device: str) -> Tensor:
    """Return where marked tokens stand of texts that are padded to the longest: int64 (tokens,).

    `rows` are boolean; places count through (texts, tokens). A card is asked nothing for it.
    """
    width = max(map(len, rows))
    each = [np.flatnonzero(row) + number * width for number, row in enumerate(rows)]
    return devices.put(np.concatenate(each), device)

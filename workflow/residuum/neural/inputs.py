"""Token ids of texts as a model's inputs: padded with a mask, or packed where a card can.

Usage: `inputs = Inputs(model, fill, device)`, then `given, mask = inputs.arguments(rows)` and
`model(**given)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from residuum.neural import devices, packing

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from residuum.neural.packing import Packed


class Inputs:
    """Makes a model's inputs from texts; `packs` says whether its layers do without padding.

    `fill` is the token id behind a text's end. On a CPU the inputs are as transformers documents
    them, unless texts share a `room` of tokens. On a card no value is read back, because reading
    waits for all earlier work.
    """

    def __init__(
        self, model: PreTrainedModel, fill: int, device: devices.Device, packs: bool = True
    ) -> None:
        self.fill, self._device, self._model = fill, device.name, model
        # transformers searches a mask of two dimensions for a zero, and takes a mask of four
        # unchanged.
        self._as_it_is = device.name == "cuda" and packing.encodes(model)
        self.packs = packs and packing.suits(model, device)
        self.room = self.texts = 0
        if self.packs:
            packing.install(model)

    def share(self, room: int, texts: int) -> None:
        """Let a model on a CPU, outside training, read texts that share a room of tokens.

        With a number of `texts`, the heads always get that many texts and the layers all rows of
        the room. Texts and rows beyond the given ones mean nothing, and no value depends on how
        many texts share a room. With `texts` 0 the heads get only the given texts.
        """
        packing.install(self._model)
        self.packs, self.room, self.texts = True, room, texts

    def arguments(
        self, rows: Sequence[np.ndarray], width: int = 0
    ) -> tuple[dict[str, Any], Tensor]:
        """Return a model's arguments, and the mask of tokens (texts, tokens), 1 or 0, int64.

        Texts are padded to `width` tokens, or to the longest text.
        """
        rows = [*rows, *[np.zeros(0, np.int32)] * (self.texts - len(rows))]
        if self.packs:
            tokens = present([*map(len, rows)], width)
            mask = devices.put(tokens.astype(np.int64), self._device)
            return self._packed(rows, tokens), mask
        ids, mask = padded(rows, self.fill, self._device, width)
        return {"input_ids": ids, "attention_mask": self._attended(rows, mask)}, mask

    def attending(self, rows: Sequence[np.ndarray], lengths: Sequence[int]) -> dict[str, Any]:
        """Return a model's arguments where only the first `lengths` tokens are attended to.

        All tokens of a text have states. Texts are padded to the longest.
        """
        ids, _ = padded(rows, self.fill, self._device)
        mask = present(lengths, ids.shape[1]).astype(np.int64)
        read = [row[:length] for row, length in zip(rows, lengths, strict=True)]
        return {
            "input_ids": ids,
            "attention_mask": self._attended(read, devices.put(mask, self._device)),
        }

    def _packed(self, rows: Sequence[np.ndarray], tokens: np.ndarray) -> dict[str, object]:
        """Return a model's arguments, given a boolean (texts, width) that marks tokens."""
        packed = packing.layout(tokens, self._device, self._rows(int(tokens.sum())))
        positions = packing.positions(self._model, packed.bounds.lengths)
        return {
            "input_ids": self.side_by_side(rows, self.fill, packed),
            "position_ids": self.side_by_side(positions, 0, packed),
            "packed": packed,
        }

    def _rows(self, tokens: int) -> int:
        if not self.room:
            return packing.room_of(tokens)
        return self.room if self.texts else packing.rounded(tokens)

    def side_by_side(self, rows: Sequence[np.ndarray], fill: int, packed: Packed) -> Tensor:
        """Return token values with one text after another, as a packed model reads them."""
        room = len(packed.there)
        return devices.put(packing.side_by_side(rows, fill, room), self._device)

    def _attended(self, rows: Sequence[np.ndarray], mask: Tensor) -> Tensor | None:
        """Return the mask that a model takes, or None where rows are known to have no padding."""
        if not self._as_it_is:
            return mask
        if all(len(row) == mask.shape[1] for row in rows):
            return None
        return mask.bool()[:, None, None]


def padded(
    rows: Sequence[np.ndarray], fill: int, device: str, width: int = 0
) -> tuple[Tensor, Tensor]:
    """Return ids and mask, int64 (rows, width): `fill` and 0 beyond a row's end.

    Width 0 stands for the length of the longest row.
    """
    mask = present([*map(len, rows)], width)
    ids = np.full(mask.shape, fill, dtype=np.int64)
    ids[mask] = np.concatenate(rows)
    return devices.put(ids, device), devices.put(mask.astype(np.int64), device)


def present(lengths: Sequence[int], width: int = 0) -> np.ndarray:
    """Return a boolean (texts, width) that marks tokens; width 0 stands for the longest text."""
    return np.asarray(np.arange(width or max(lengths)) < np.array(lengths)[:, None])


def places(rows: Sequence[np.ndarray], device: str) -> Tensor:
    """Return the indices of marked tokens among texts padded to the longest: int64 (tokens,).

    `rows` are boolean; indices count through (texts, tokens). No value is read back from a card.
    """
    width = max(map(len, rows))
    each = [np.flatnonzero(row) + number * width for number, row in enumerate(rows)]
    return devices.put(np.concatenate(each), device)

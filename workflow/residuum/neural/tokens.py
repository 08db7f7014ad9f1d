"""Texts tokenised once and held packed, found by id; and rows of tokens padded to a batch.

Usage: `docs = TokenStore(pairs_of_id_and_text, tokenise); docs.of(["d1", "d2"])`.
Must not know tokenizers, corpora or which texts make a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from residuum.artefacts.streams import chunks
from residuum.cli.errors import ResiduumError
from residuum.neural import devices

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 4096
Tokenise = Callable[[Sequence[str]], list[np.ndarray]]


def wanted(
    texts: Iterable[tuple[str, str]], ids: set[str], kind: str, source: Path, asker: str
) -> Iterator[tuple[str, str]]:
    """Yield the (id, text) whose id is wanted; raise ResiduumError at the end if one is not there.

    `asker` says in the message what names the ids; it was made from another collection.
    """
    missing = set(ids)
    for key, text in texts:
        if key in ids:
            missing.discard(key)
            yield key, text
    if missing:
        raise ResiduumError(
            f"{source}: {kind}_id {min(missing)} of {asker} is not there ({len(missing)} such "
            f"ids). Remake {asker} from this collection."
        )


class PackedTokens:
    """Token ids of many texts in one int32 array: a tenth of what lists of integers take."""

    def __init__(self, texts: Iterable[str], tokenise: Tokenise) -> None:
        ids = bytearray()  # grows in place: a second copy of millions of docs would take gigabytes
        lengths: list[int] = []
        for chunk in chunks(texts, CHUNK):
            tokens = tokenise(chunk)
            lengths += [len(row) for row in tokens]
            ids += np.concatenate(tokens).astype(np.int32).tobytes()
        self._ids = np.frombuffer(ids, dtype=np.int32)
        self._ends = np.cumsum([0, *lengths])

    def __len__(self) -> int:
        return len(self._ends) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each text."""
        return np.diff(self._ends)

    def row(self, place: int) -> np.ndarray:
        """Return the token ids of a text by its place among the texts."""
        return self._ids[self._ends[place] : self._ends[place + 1]]


class TokenStore:
    """Packed texts, found by id."""

    def __init__(self, texts: Iterable[tuple[str, str]], tokenise: Tokenise) -> None:
        self._place: dict[str, int] = {}
        self._packed = PackedTokens(self._numbered(texts), tokenise)

    def _numbered(self, texts: Iterable[tuple[str, str]]) -> Iterator[str]:
        for key, text in texts:
            self._place[key] = len(self._place)
            yield text

    def __contains__(self, key: str) -> bool:
        return key in self._place

    def of(self, keys: Sequence[str]) -> list[np.ndarray]:
        """Return the token ids of each key's text."""
        return [self._packed.row(self._place[key]) for key in keys]


def padded(tokens: Sequence[np.ndarray], fill: int, device: str) -> tuple[Tensor, Tensor]:
    """Return ids and mask, int64 (texts, longest text): `fill` and 0 beyond a text's end."""
    lengths = np.array([len(row) for row in tokens])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, fill, dtype=np.int64)
    ids[mask] = np.concatenate(tokens)
    return devices.put(ids, device), devices.put(mask.astype(np.int64), device)

"""Texts tokenised once and held packed, found by id.

Usage: `docs = Tokens(pairs_of_id_and_text, tokenise); docs.of(["d1", "d2"])`.
Must not know tokenizers, corpora or batches.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from residuum.core.chunks import chunks

CHUNK = 4096


class Tokens:
    """Token ids of many texts in one int32 array: a tenth of what lists of integers take."""

    def __init__(
        self,
        texts: Iterable[tuple[str, str]],
        tokenise: Callable[[Sequence[str]], list[np.ndarray]],
    ) -> None:
        self._place: dict[str, int] = {}
        rows: list[np.ndarray] = []
        lengths: list[int] = []
        for chunk in chunks(texts, CHUNK):
            tokens = tokenise([text for _, text in chunk])
            self._place |= {key: len(lengths) + i for i, (key, _) in enumerate(chunk)}
            lengths += [len(row) for row in tokens]
            rows.append(np.concatenate(tokens))
        self._ids = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int32)
        self._ends = np.cumsum([0, *lengths])

    def __contains__(self, key: str) -> bool:
        return key in self._place

    def of(self, keys: Sequence[str]) -> list[np.ndarray]:
        """Return the token ids of each key's text."""
        places = [self._place[key] for key in keys]
        return [self._ids[self._ends[place] : self._ends[place + 1]] for place in places]

"""Pairs of a query and a doc, scored by an encoder's vectors: each text is encoded once.

Usage: `model = Matcher.load(folder, None, device)`, then `model.asked(queries, 64)(docs, query,
doc)`. The scores are those of an exact search (vectors/scores.py): inner products, the best of
several vectors of a doc, and MaxSim for late interaction (Khattab and Zaharia 2020, Eq. 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import TextKind
from residuum.config.schema.reading import Windows
from residuum.neural import devices
from residuum.neural.encoders import Encoder, asker, check_alike
from residuum.neural.tokens import Cut
from residuum.vectors.scores import MIXED, Queries, starts_of, text_scores

if TYPE_CHECKING:
    from residuum.neural.learners import ScorePairs
    from residuum.vectors.scores import Vectors


class Matcher:
    """An encoder of docs and one of queries, most often the same, that score pairs.

    On a CPU no digit of a score depends on the other pairs.
    """

    def __init__(self, docs: Encoder, queries: Encoder) -> None:
        self.docs, self.queries = docs, queries
        docs.apart = queries.apart = True  # a second call may score a part of the pairs
        self.settings, self.model, self.sizes = docs.settings, docs.model, docs.sizes

    @classmethod
    def load(cls, folder: Path, asking: Path | None, device: devices.Device) -> Matcher:
        """Load the checkpoint of docs, and `asking`, that of queries if it is another one."""
        docs = Encoder.load(folder, device)
        if (reader := asker(asking or folder)) == folder:
            return cls(docs, docs)
        queries = Encoder.load(reader, device)
        check_alike(folder, docs.dimensions, reader, queries.dimensions)
        return cls(docs, queries)

    def cut(self, windows: Windows | None) -> Cut:
        """Return the function that cuts a doc's record into texts: its text, or its passages."""
        return self.docs.cut(windows)

    def tokenise(self, texts: Iterable[str], kind: TextKind) -> Iterator[np.ndarray]:
        """Yield each text's token ids, cut to the length of queries or docs."""
        return (self.queries if kind == "query" else self.docs).tokenise(texts, kind)

    def lengths(self, queries: np.ndarray, docs: np.ndarray) -> np.ndarray:
        """Return the numbers of tokens that decide how long pairs take: their docs'."""
        return docs

    def asked(self, queries: Sequence[np.ndarray], batch_size: int) -> ScorePairs:
        """Return a function that scores docs for queries, which are encoded here: float64.

        With passages, a doc has the vectors of all of them.
        """
        held = Queries.of(_named(self.queries, [[row] for row in queries], "query", batch_size))

        def scores(
            docs: Sequence[Sequence[np.ndarray]], query: np.ndarray, doc: np.ndarray
        ) -> np.ndarray:
            vectors = _named(self.docs, docs, "doc", batch_size)
            if isinstance(vectors, TermVectors) != isinstance(held.vectors, TermVectors):
                raise ResiduumError(MIXED)
            made = text_scores(vectors, starts_of(vectors[0]), held, query, doc)
            if not np.isfinite(made).all():
                raise ResiduumError(f"a score is not finite. {self.docs.overflow()}")
            return made

        return scores


def _named(
    encoder: Encoder, texts: Sequence[Sequence[np.ndarray]], kind: TextKind, batch_size: int
) -> Vectors:
    """Return the vectors of texts, given the tokens of each one's passages; numbers are ids."""
    rows, each = encoder.vectors_of([p for text in texts for p in text], kind, batch_size)
    owners = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    return encoder.named([*map(str, np.repeat(owners, each).tolist())], rows)

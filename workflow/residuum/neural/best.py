"""The passage of a long doc that training reads for a query: the one that answers, or BM25's best.

Usage: `docs = BestPassages(docs, tokenise, passages, positives, special)`, then
`docs.of(query_id, tokens, doc_id)`. Search gives a doc the score of its best passage. A training
that read the start of each doc would mostly learn from passages that do not answer (ME-BERT,
section 7).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from residuum.config.schema.reading import Windows
from residuum.neural.resumable import log
from residuum.neural.tokens import PassageStore, Tokenise

K1, B = 1.5, 0.75  # of BM25 over wordpieces (ME-BERT 4.1)


class Passages(NamedTuple):
    """How a training cuts docs into passages, and the queries that a passage answers, if known."""

    windows: Windows
    answered_by: Callable[[str], Collection[str]] | None = None  # query ids


class BestPassages:
    """Docs in passages, in tokens; a query reads one passage of each doc.

    Of the passages that hold an answer, if there are such, or of all passages, it is the one with
    the largest BM25 score over tokens, the first of equals. Statistics are those of the passages
    given. A term of a query counts once; special tokens do not count.
    """

    def __init__(
        self,
        docs: Iterable[tuple[str, list[str]]],
        tokenise: Tokenise,
        passages: Passages,
        positives: Mapping[str, set[str]],
        special: Collection[int],
    ) -> None:
        """Take (doc_id, passages) of docs, and the docs whose answers count, by query."""
        self._special = np.array([*special], dtype=np.int64)
        self._answering: dict[tuple[str, str], list[int]] = {}
        self._chosen: dict[tuple[str, str], int] = {}
        answered_by = passages.answered_by or (lambda text: ())

        def searched() -> Iterator[tuple[str, list[str]]]:
            for doc_id, texts in docs:
                for number, text in enumerate(texts):
                    for query_id in answered_by(text):
                        if doc_id in positives.get(query_id, ()):
                            self._answering.setdefault((query_id, doc_id), []).append(number)
                yield doc_id, texts

        self._store = PassageStore(searched(), tokenise)
        if passages.answered_by:
            count = sum(map(len, positives.values()))
            log(f"{len(self._answering)} of {count} positives have a passage with an answer")
        lengths = self._store.lengths
        self._length = float(lengths.mean()) if len(lengths) else 0.0
        having = np.zeros(self._store.highest + 1, np.int64)  # passages with each token
        for number in range(len(lengths)):
            having[np.unique(self._store.row(number))] += 1
        self._idf = np.log1p((len(lengths) - having + 0.5) / (having + 0.5))

    def of(self, query_id: str, query: np.ndarray, doc_id: str) -> np.ndarray:
        """Return the tokens (int32) that a query, given in tokens, reads of a doc."""
        passages, key = self._store.tokens([doc_id])[0], (query_id, doc_id)
        if key not in self._chosen:
            among = self._answering.get(key) or [*range(len(passages))]
            scores = self._scores(query, [passages[number] for number in among])
            self._chosen[key] = among[int(scores.argmax())]
        return passages[self._chosen[key]]

    def _scores(self, query: np.ndarray, passages: list[np.ndarray]) -> np.ndarray:
        """Return the BM25 scores of passages: float64 (passages,)."""
        terms = np.setdiff1d(query, self._special)
        terms = terms[terms < len(self._idf)]  # others stand in no passage
        counts = np.array([(terms[:, None] == row).sum(axis=1) for row in passages], np.float64)
        lengths = np.array([[len(row)] for row in passages])
        norms = K1 * (1 - B + B * lengths / self._length)
        return np.asarray((self._idf[terms] * counts / (counts + norms)).sum(axis=1))

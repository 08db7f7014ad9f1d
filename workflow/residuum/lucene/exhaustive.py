"""Search a small index by its postings: every doc that has a term of the query is scored.

Usage: `Exhaustive(postings, names).top(bags, k)`. Lucene passes over docs that cannot reach the
list. Of few docs that costs more than scoring all of them. Scores are those of Lucene.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

import numpy as np
import polars as pl

from residuum.artefacts.trec import HITS
from residuum.lucene.postings import Postings, term_scores

MOST_DOCS = 200_000  # measured up to here: 0.6 of the CPU seconds of Lucene's search (random words)
NO_DOC, NO_SCORE = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)


class Exhaustive:
    """The docs of a small index, whose ids are `names` by Lucene's numbers, and their postings."""

    def __init__(self, postings: Postings, names: pl.Series) -> None:
        self._postings, self._names = postings, names

    def top(self, bags: Mapping[str, Counter[str]], k: int) -> pl.DataFrame:
        """Return query_id, doc_id, score of the top `k` docs of each query, in no order.

        `bags` count the terms of queries. Equal scores are cut by doc_id. A query without a hit has
        no row.
        """
        self._postings.prepare([*{term for bag in bags.values() for term in bag}])
        lists = [self._best(bag, k) for bag in bags.values()]
        docs, scores = (np.concatenate(column) for column in zip(*lists, strict=True))
        rows = np.repeat(np.arange(len(lists)), [len(numbers) for numbers, _ in lists])
        columns = {
            "query_id": pl.Series([*bags], dtype=pl.String).gather(rows),
            "doc_id": self._names.gather(docs),
            "score": scores,
        }
        return pl.DataFrame(columns, schema=HITS)

    def _best(self, bag: Counter[str], k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers and float32 scores of a query's top `k` docs."""
        listed = self._postings.of([*bag])
        weights = np.fromiter(bag.values(), np.float32) * self._postings.idf([*bag])
        each = [term_scores(w, term.parts) for w, term in zip(weights, listed, strict=True)]
        docs = np.concatenate([NO_DOC, *(term.docs for term in listed)])
        # Lucene adds float32 scores of terms in double precision.
        sums = np.bincount(docs, np.concatenate([NO_SCORE, *each]), self._postings.docs)
        sums = sums.astype(np.float32)
        near = np.flatnonzero(sums)
        if len(near) > k:
            scores = sums[near]
            least = np.partition(scores, len(near) - k)[len(near) - k]
            above, tied = near[scores > least], near[scores == least]
            tied = tied[np.argsort(self._places[tied])[: k - len(above)]]
            near = np.concatenate([above, tied])
        return near, sums[near]

    @cached_property
    def _places(self) -> np.ndarray:
        """The place of each doc's id among all ids in their order."""
        places = np.empty(len(self._names), dtype=np.int64)
        places[self._names.arg_sort()] = np.arange(len(places))
        return places

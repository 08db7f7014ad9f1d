"""Which docs a corpus has, by eight bytes each: ids that stand twice, judgements that hit nothing.

Usage: `known = Ids(doc_ids)`, then `known.twice`, `known.lacking(qrels)`. Must not know datasets.
"""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from residuum.artefacts import files

Judgement = tuple[str, str, int]  # query_id, doc_id, relevance


class Ids:
    """The ids of a corpus; two of a thousand million would fall together once in forty."""

    def __init__(self, doc_ids: Iterable[str]) -> None:
        read = np.array(array("Q", map(files.digest, doc_ids)), dtype=np.uint64)
        self.count = len(read)
        self._known = np.unique(read)

    @property
    def twice(self) -> int:
        """Return how many docs have an id that a doc before them has."""
        return self.count - len(self._known)

    def lacking(self, qrels: Sequence[Judgement]) -> list[Judgement]:
        """Return the judgements of docs that the corpus lacks."""
        judged = np.array([files.digest(doc_id) for _, doc_id, _ in qrels], dtype=np.uint64)
        known = np.isin(judged, self._known)
        return [one for one, has in zip(qrels, known, strict=True) if not has]

"""Fixed vectors of queries and docs, read from files and used beside learned vectors.

Usage: `fixed = FixedVectors(shards, queries, seed)`, then `fixed.vectors("doc", ids, 768)` or
`fixed.scores(query_ids, doc_ids)`. The vectors are sparse, and each batch is projected at random
when it is needed. Memory then holds only terms, and the width can equal the encoder's.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import sparse

from residuum.artefacts import termvectors
from residuum.artefacts.termvectors import TermVectors
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import TextKind
from residuum.neural.batches import keyed
from residuum.vectors.products import aligned
from residuum.vectors.projection import project


class FixedVectors:
    """The sparse vectors of some queries and docs, looked up by id.

    `docs` are the folders of all shards of a corpus, `queries` the folder of a split, or those of a
    mix by role. The ids of a mix's queries are their keys. `seed` decides the signs of the
    projection.
    """

    def __init__(self, docs: Sequence[Path], queries: Path | Mapping[str, Path], seed: int) -> None:
        asked = {"": queries} if isinstance(queries, Path) else queries
        self._folders: dict[TextKind, list[tuple[str, Path]]] = {
            "doc": [("", folder) for folder in docs],
            "query": [*asked.items()],
        }
        self._seed = seed
        self._kept: dict[TextKind, TermVectors] = {}
        self._numbers: dict[TextKind, dict[str, int]] = {}

    def keep(self, kind: TextKind, ids: set[str]) -> None:
        """Read the vectors of texts by id. Raises ResiduumError if a text has no vector."""
        kept = [_some(_keyed(role, folder), ids) for role, folder in self._folders[kind]]
        names = [key for vectors in kept for key in vectors.ids]
        if lost := ids.difference(names):
            where, more = self._folders[kind][0][1].parent, f"({len(lost)} such ids)"
            fault = f"{kind}_id {min(lost)} has no vector {more}"
            raise ResiduumError(f"{where}: {fault}. Weigh the terms of the collection trained on.")
        terms = sorted({term for vectors in kept for term in vectors.terms})
        rows = sparse.vstack([aligned(vectors, terms) for vectors in kept], format="csr")
        self._kept[kind] = TermVectors(names, terms, sparse.csr_array(rows.astype(np.float32)))
        self._numbers[kind] = {name: number for number, name in enumerate(names)}

    def vectors(self, kind: TextKind, ids: Iterable[str], dimensions: int) -> np.ndarray:
        """Return the projected vectors of texts that `keep` has read: float32 (ids, dimensions)."""
        kept, numbers = self._kept[kind], self._numbers[kind]
        rows = kept.rows[[numbers[key] for key in ids]]
        return project(sparse.csr_array(rows), kept.terms, dimensions, self._seed)

    def scores(self, query_ids: Iterable[str], doc_ids: Iterable[str]) -> np.ndarray:
        """Return the inner products of texts that `keep` has read: float32 (queries, docs)."""
        left, right = self._numbers["query"], self._numbers["doc"]
        queries = self._kept["query"].rows[[left[key] for key in query_ids]].astype(np.float64)
        docs = self._docs[[right[key] for key in doc_ids]]
        products: np.ndarray = (queries @ docs.T).toarray()
        return products.astype(np.float32)

    @cached_property
    def _docs(self) -> sparse.csr_array:
        """The vectors of docs over the terms of the queries, of which products are made."""
        return aligned(self._kept["doc"], self._kept["query"].terms)


def _keyed(role: str, folder: Path) -> TermVectors:
    """Return the vectors of a folder, whose ids get the role of a mix in front."""
    vectors = termvectors.read(folder)
    return vectors._replace(ids=[keyed(role, key) for key in vectors.ids]) if role else vectors


def _some(vectors: TermVectors, ids: set[str]) -> TermVectors:
    """Return the vectors of `ids`, with only the terms that occur in them."""
    numbers = [number for number, key in enumerate(vectors.ids) if key in ids]
    rows = sparse.csr_array(vectors.rows[numbers])
    used = np.unique(rows.indices)
    terms = [vectors.terms[i] for i in used]
    return TermVectors([vectors.ids[n] for n in numbers], terms, sparse.csr_array(rows[:, used]))

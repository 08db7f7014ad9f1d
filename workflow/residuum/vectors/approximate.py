"""Approximate search with FAISS: it looks at some vectors, but scores the hits exactly.

Usage: `index = search.build(vectors, "cpu")`, then `index.search(queries, depth, effort)`. The same
index can be searched with any effort: a search with too few hits is repeated with more effort.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from residuum.cli.errors import ResiduumError
from residuum.code.tables import OpenTable
from residuum.config.schema.base import Positive
from residuum.config.schema.search import Search

if TYPE_CHECKING:
    import numpy as np
    from faiss import Index

Found = tuple["np.ndarray", "np.ndarray"]  # scores and rows (-1: no further hit)
SEED = 1234  # FAISS's own seed, for the k-means behind lists and codes
BITS = 8  # bits per byte of a code
CARD_MOST = 2048  # most hits of a query, and most lists searched for it, on a card


class VectorIndex(NamedTuple):
    """An index of vectors, its effort, and the effort at which it looks at every vector."""

    search: Callable[[np.ndarray, int, int], Found]  # queries, depth, effort
    effort: int
    most: int
    compared: Callable[[], int]  # vectors compared, centres included, since the last call
    # Returns for queries the gaps of scores below which their order may be wrong, if known.
    uncertain: Callable[[np.ndarray], np.ndarray] | None = None
    # Takes queries and pairs of their rows with vectors. Returns float64 sums, and the numbers of
    # sums that a run may round differently than sums in another order.
    products: (
        Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None
    ) = None


class Approximate(Search):
    """A search that builds an index of vectors."""

    @abstractmethod
    def build(self, vectors: np.ndarray, device: str) -> VectorIndex:
        """Return an index of contiguous float32 vectors (vectors, dimensions), by inner product.

        With device cuda a card searches it as far as FAISS can; otherwise a line on standard error
        says so.
        """


class Ivf(Approximate):
    """Vectors in lists by their nearest centre; a query searches the lists of its nearest centres.

    Jegou et al. 2011. With code pq the vectors in the lists are product-quantised, and hits are
    reordered by exact scores. ME-BERT searches with ScaNN; this search replaces it.
    """

    effort = "nprobe"
    kind: Literal["ivf"]
    nlist: Positive = Field(description="lists of each shard")
    nprobe: Positive = Field(description="lists that are looked through for a query")
    code: Literal["flat", "pq"] = "flat"
    code_size: Positive | None = Field(None, description="bytes of a vector's code, for pq")

    def check(self) -> None:
        if self.nprobe > self.nlist:
            raise ValueError(f"nprobe: {self.nprobe} of {self.nlist} lists; give at most as many")
        if (self.code == "pq") != (self.code_size is not None):
            raise ValueError("code_size: give it for code pq, and for nothing else")

    @property
    def centres(self) -> int:
        return self.nlist

    def build(self, vectors: np.ndarray, device: str) -> VectorIndex:
        import faiss

        count, dimensions = vectors.shape
        if self.nlist > count:
            text = f"search.nlist: {self.nlist}, but a shard has {count} vectors"
            raise ResiduumError(f"{text}; give at most as many")
        if self.code_size and count < 2**BITS:
            text = f"search.code pq: a shard has {count} vectors, but a code needs {2**BITS}"
            raise ResiduumError(f"{text}. Leave the code out")
        if self.code_size and dimensions % self.code_size:
            text = f"search.code_size: {self.code_size}, but vectors have {dimensions} dimensions"
            raise ResiduumError(f"{text}; give a divisor of them")
        centres = faiss.IndexFlatIP(dimensions)
        metric = faiss.METRIC_INNER_PRODUCT
        made = (
            faiss.IndexIVFPQ(centres, dimensions, self.nlist, self.code_size, BITS, metric)
            if self.code_size
            else faiss.IndexIVFFlat(centres, dimensions, self.nlist, metric)
        )
        made.cp.seed = SEED
        made.train(vectors)
        made.add(vectors)
        copy = None if device == "cpu" else _copy_on_card(made, not self.code_size)

        def search(queries: np.ndarray, depth: int, effort: int) -> Found:
            near = made if copy is None or max(depth, effort) > CARD_MOST else copy
            near.nprobe = effort
            found: Found = near.search(queries, depth)
            return found

        def compared() -> int:
            stats = faiss.cvar.indexIVF_stats
            count = stats.ndis + stats.nq * self.nlist
            stats.reset()
            return int(count)

        return VectorIndex(search, self.nprobe, self.nlist, compared)


class Hnsw(Approximate):
    """A graph of neighbours, which a search walks through (Malkov and Yashunin 2020)."""

    effort = "ef_search"
    kind: Literal["hnsw"]
    m: Positive = Field(32, description="neighbours of a vector")
    ef_search: Positive = Field(description="vectors kept while searching; k at least")
    ef_construction: Positive = Field(200, description="vectors kept while the graph is built")

    def build(self, vectors: np.ndarray, device: str) -> VectorIndex:
        import faiss

        made = faiss.IndexHNSWFlat(vectors.shape[1], self.m, faiss.METRIC_INNER_PRODUCT)
        if device != "cpu":
            _copy_on_card(made, False)
        made.hnsw.efConstruction = self.ef_construction
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # several threads would insert in a varying order
        made.add(vectors)
        faiss.omp_set_num_threads(threads)

        def search(queries: np.ndarray, depth: int, effort: int) -> Found:
            made.hnsw.efSearch = max(effort, depth)
            found: Found = made.search(queries, depth)
            return found

        def compared() -> int:
            stats = faiss.cvar.hnsw_stats
            count = stats.ndis
            stats.reset()
            return int(count)

        return VectorIndex(search, self.ef_search, len(vectors), compared)


def _copy_on_card(made: Index, possible: bool) -> Index | None:
    """Return a copy of an index on the first card, or None; log where the search runs.

    FAISS has no graph for cards, and codes of only some sizes, so neither is searched on a card
    here.
    """
    import faiss

    copy = None
    if not possible:
        where = "on the CPU; on a card only kind ivf with code flat is"
    elif not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus():
        where = "on the CPU; FAISS finds no card. On one install faiss-gpu in place of faiss-cpu"
    else:
        copy = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, made)
        where = f"on a card; beyond {CARD_MOST} hits of a query, or lists, on the CPU"
    print(f"approximate search: done {where}", file=sys.stderr, flush=True)
    return copy


SEARCHES: OpenTable[type[Approximate]] = OpenTable(
    {"ivf": "residuum.vectors.approximate:Ivf", "hnsw": "residuum.vectors.approximate:Hnsw"},
    "search",
)

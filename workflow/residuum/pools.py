"""Pools of negatives: the hits of a system for the training queries, or the corpus.

Usage: `docs = pool.docs(draw)`, for a pool in a model's `negatives.pools`. A new pool needs a class
here and a line in POOLS.
"""

from abc import abstractmethod
from random import Random
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from residuum.cli.errors import ResiduumError
from residuum.code.tables import OpenTable
from residuum.config.schema.base import Id, K, Positive, Ref
from residuum.config.schema.negatives import Pool, Source

if TYPE_CHECKING:
    from residuum.artefacts.streams import DiskList

Ranked = dict[str, dict[str, list[str]]]  # {system: {query_id: docs, best first}}


class Draw(NamedTuple):
    """The inputs for drawing the negatives of a training pair."""

    query_id: str
    random: Random
    per_pair: int
    ranked: Ranked
    relevant: set[str]
    corpus: "DiskList"

    def anywhere(self, count: int) -> list[str]:
        """Return at least `count` docs drawn uniformly from the corpus without relevant docs."""
        from residuum.artefacts.streams import drawn

        docs: list[str] = drawn(self.corpus, count, self.relevant, self.random)
        if not docs:
            raise ResiduumError(f"query {self.query_id}: every doc of the corpus is relevant to it")
        return docs


class Drawable(Pool):
    """A pool that returns the docs to draw a pair's negatives from."""

    @abstractmethod
    def docs(self, draw: Draw) -> list[str]:
        """Return the docs that the negatives of a pair are drawn from."""


class Hits(Drawable):
    """The top docs of a system, lexical or dense: its errors (CLEAR, section 3.3)."""

    kind: Literal["hits"]
    system: Annotated[Id, Ref("system", kinds=("lexical", "dense"))]
    top: K
    seed: int = 1

    @property
    def source(self) -> Source:
        """Return the system, and how many of its top docs are taken."""
        return Source(self.system, self.top, self.seed)

    def docs(self, draw: Draw) -> list[str]:
        """Return the system's best docs for the query."""
        return draw.ranked[self.system].get(draw.query_id, [])[: self.top]


class Corpus(Drawable):
    """Docs drawn uniformly from the corpus, separately for each pair."""

    kind: Literal["corpus"]
    size: Positive | None = None

    def docs(self, draw: Draw) -> list[str]:
        """Return `size` docs, or as many as the pair needs if `size` is None."""
        return draw.anywhere(self.size or draw.per_pair)[: self.size]


POOLS: OpenTable[type[Drawable]] = OpenTable(
    {"hits": "residuum.pools:Hits", "corpus": "residuum.pools:Corpus"}, "pool of negatives"
)

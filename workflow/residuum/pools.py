"""What negatives are drawn from: the hits of a system for the training queries, or the corpus.

Usage: `docs = pool.docs(draw)`, with a pool as `negatives.pools` of a model has it. A new pool is a
class here and a line in POOLS.
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
    """The draw of one training pair's negatives, as its pools see it."""

    query_id: str
    random: Random
    per_pair: int
    ranked: Ranked
    relevant: set[str]
    corpus: "DiskList"

    def anywhere(self, count: int) -> list[str]:
        """Return `count` docs or a few more, drawn uniformly from the corpus, none relevant."""
        from residuum.artefacts.streams import drawn

        docs: list[str] = drawn(self.corpus, count, self.relevant, self.random)
        if not docs:
            raise ResiduumError(f"query {self.query_id}: every doc of the corpus is relevant to it")
        return docs


class Drawable(Pool):
    """A pool that says which docs it gives for a query."""

    @abstractmethod
    def docs(self, draw: Draw) -> list[str]:
        """Return the docs that one pair's negatives are drawn from."""


class Hits(Drawable):
    """The top docs of a system, lexical or dense: its errors (CLEAR, section 3.3)."""

    kind: Literal["hits"]
    system: Annotated[Id, Ref("system", kinds=("lexical", "dense"))]
    top: K
    seed: int = 1

    @property
    def source(self) -> Source:
        """The system's hits."""
        return Source(self.system, self.top, self.seed)

    def docs(self, draw: Draw) -> list[str]:
        """Return the system's best docs for the query."""
        return draw.ranked[self.system].get(draw.query_id, [])[: self.top]


class Corpus(Drawable):
    """Docs drawn uniformly from the corpus, anew for each pair."""

    kind: Literal["corpus"]
    size: Positive | None = None

    def docs(self, draw: Draw) -> list[str]:
        """Return `size` docs, or enough for the pair's negatives."""
        return draw.anywhere(self.size or draw.per_pair)[: self.size]


POOLS: OpenTable[type[Drawable]] = OpenTable(
    {"hits": "residuum.pools:Hits", "corpus": "residuum.pools:Corpus"}, "pool of negatives"
)

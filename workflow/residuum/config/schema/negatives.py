"""The key `negatives` of config/models/*.yaml: the negatives of training pairs.

Pools are an open table: `Kinds` names the table, and the classes are beside their code.
"""

from typing import Annotated, NamedTuple

from pydantic import Field

from residuum.code.tables import Kinds
from residuum.config.schema.base import Id, Positive, Ref, Strict


class Source(NamedTuple):
    """A system whose hits for training queries a pool needs: its first `top` hits of a seed."""

    system: str
    top: int
    seed: int


class Pool(Strict):
    """Base of the pools that negatives are drawn from; an entry of residuum.pools.POOLS."""

    kind: str

    @property
    def source(self) -> Source | None:
        """The system whose hits the pool needs, if it needs hits."""
        return None


class Triples(Strict):
    """The training triples of a split's collection (`docpairs` in its YAML)."""

    first: Positive | None = Field(None, description="how many, from the first; absent: all")


class Negatives(Strict):
    """Negatives drawn uniformly from the union of pools, without relevant docs.

    If the training split has answers and no judgements, the positives are the pools' hits that hold
    an answer. `without_answers` leaves out docs that hold an answer of the query (DPR). Pools are
    joined in the order of their names; budgets refer to pools by these names. `scores` is the
    lexical system that scores positives and negatives. `triples` of the split's collection, each a
    pair with one negative, can replace pools. Without pools and triples, the negatives are the
    other docs of the batch. `same_as` uses another model's tuples, so that an ablation differs in
    one thing only.
    """

    pools: dict[Id, Annotated[Pool, Kinds("residuum.pools:POOLS")]] = Field(default={})
    scores: Annotated[Id, Ref("system", kinds=("lexical",))] | None = None
    per_pair: Positive | None = Field(
        default=None, description="stored for each training pair; all docs of the pools at most"
    )
    without_answers: bool = Field(
        default=False,
        description="docs that hold an answer are left out, where the split has answers",
    )
    triples: Triples | None = None
    seed: int = 1
    same_as: Annotated[Id, Ref("model", use="tuples")] | None = None

    @property
    def sampled(self) -> bool:
        """Say whether training pairs have negatives of their own."""
        return bool(self.pools or self.triples or self.same_as)

    @property
    def sources(self) -> list[Source]:
        """The systems whose hits the pools need."""
        return [source for pool in self.pools.values() if (source := pool.source)]

    @property
    def runs(self) -> list[Source]:
        """The systems other than `scores` whose hits the pools need; their hits come from runs."""
        return [source for source in self.sources if source.system != self.scores]

    def check(self) -> None:
        settings = [self.scores is not None, self.per_pair is not None]
        if self.same_as and any([*settings, self.pools, self.triples, self.without_answers]):
            raise ValueError("same_as takes the other model's tuples: give nothing beside it")
        if self.triples:
            if self.pools or settings != [True, False]:
                raise ValueError("triples bring their negatives; give only scores beside them")
            return
        if self.without_answers and not self.pools:
            raise ValueError("without_answers: only pools leave out docs; give pools")
        if len({bool(self.pools), *settings}) > 1:
            raise ValueError("pools, scores and per_pair go together: give all or none of them")
        if len({source.system for source in self.sources}) < len(self.sources):
            raise ValueError("two pools hold the hits of one system: give one, as deep as needed")

"""The key `negatives` of config/models/*.yaml: what a training pair is compared with.

Pools are open: their classes stand in the table that `Kinds` names, beside their code. Must not
know how any of them draws.
"""

from typing import Annotated, NamedTuple

from pydantic import Field

from residuum.code.tables import Kinds
from residuum.config.schema.base import Id, Positive, Ref, Strict


class Source(NamedTuple):
    """A system whose hits for the training queries a pool needs, and the seed of its model."""

    system: str
    top: int
    seed: int


class Pool(Strict):
    """Base of what negatives are drawn from; an entry of residuum.pools.POOLS."""

    kind: str

    @property
    def source(self) -> Source | None:
        """The hits that the pool needs, if any."""
        return None


class Triples(Strict):
    """The training triples that a collection brings for a split (`docpairs` in its YAML)."""

    first: Positive | None = Field(None, description="how many, from the first; absent: all")


class Negatives(Strict):
    """Negatives drawn uniformly from the union of pools, relevant docs left out.

    Where the training split has answers and no judgements, positives are the pools' hits that hold
    one. With `without_answers`, docs that hold an answer of the query are left out as well (DPR).
    Pools are joined in the order of their names, which budgets use too; `scores` is the lexical
    system that scores the positive and them. In place of pools there may be the `triples` of the
    split's own collection, each a pair with one negative. Without either there are none but the
    other docs of a batch. `same_as` names the model whose tuples are used: an ablation differs in
    one thing only.
    """

    pools: dict[Id, Annotated[Pool, Kinds("residuum.pools:POOLS")]] = Field(default={})
    scores: Annotated[Id, Ref("system", kinds=("lexical",))] | None = None
    per_pair: Positive | None = Field(default=None, description="stored for each training pair")
    without_answers: bool = Field(
        default=False,
        description="docs that hold an answer are left out, where the split has answers",
    )
    triples: Triples | None = None
    seed: int = 1
    same_as: Annotated[Id, Ref("model", use="tuples")] | None = None

    @property
    def sampled(self) -> bool:
        """Say whether training pairs come with negatives of their own."""
        return bool(self.pools or self.triples or self.same_as)

    @property
    def sources(self) -> list[Source]:
        """The hits that the pools need."""
        return [source for pool in self.pools.values() if (source := pool.source)]

    @property
    def runs(self) -> list[Source]:
        """Those that are not hits of the system that scores, so that a run gives them."""
        return [source for source in self.sources if source.system != self.scores]

    def check(self) -> None:
        settings = [self.scores is not None, self.per_pair is not None]
        if self.same_as and any([*settings, self.pools, self.triples, self.without_answers]):
            raise ValueError("same_as takes the other model's tuples: give nothing beside it")
        if self.triples:
            if self.pools or settings != [True, False]:
                raise ValueError("triples bring their negatives: beside them, give scores alone")
            return
        if self.without_answers and not self.pools:
            raise ValueError("without_answers: docs are left out of pools alone; give pools")
        if len({bool(self.pools), *settings}) > 1:
            raise ValueError("pools, scores and per_pair go together: give all or none of them")
        if len({source.system for source in self.sources}) < len(self.sources):
            raise ValueError("two pools hold the hits of one system: give one, as deep as needed")

"""config/models/*.yaml: what is trained: backbone, losses, negatives, hyper-parameters.

Losses, poolings and pools are open: their classes stand in the tables that `Kinds` names, beside
their code. Must not know how any of them computes.
"""

from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from residuum.code.tables import Kinds
from residuum.config.schema import base
from residuum.config.schema.base import Id, Positive, Probability, Ref, Role, Strict

Needs = Literal["negatives", "candidates", "vectors"]
NEEDS: dict[Needs, str] = {
    "negatives": "sampled negatives with lexical scores: give negatives.pools or negatives.same_as",
    "candidates": "the scores of more docs than the positive",
    "vectors": "the vectors of queries and docs: only a dual encoder has them",
}
BackboneRole = Annotated[Id, Ref("backbone"), Field(description="role that the scale binds")]
Corpora = Annotated[
    list[Role], Field(min_length=1, description="roles whose datasets give the text")
]


class Entry(Strict):
    """What all models share."""

    description: str = Field("", description="for readers; no part of any spec")
    budgets: base.Budgets = Field(default=[])


class Backbone(Entry):
    """A small BERT made in the graph: WordPiece vocabulary and LSA-initialised embeddings."""

    kind: Literal["backbone"]
    corpora: Corpora
    vocabulary: Positive
    hidden: Positive
    layers: Positive
    heads: Positive
    intermediate: Positive
    max_length: Positive
    seed: int


class Pooling(Strict):
    """Base of what makes vectors of a text's tokens; an entry of residuum.neural.heads.HEADS."""

    kind: str


class Encoder(Strict):
    """How text becomes vectors (CLEAR Eq. 2-4)."""

    pooling: Annotated[Pooling, Kinds("residuum.neural.heads:HEADS")] = Field(
        "mean", validate_default=True, description="how tokens become vectors"
    )
    query_marker: str = Field("[QRY]", description="special token before a query")
    doc_marker: str = Field("[DOC]", description="special token before a doc")
    query_length: Positive = Field(description="tokens kept of a query, special ones included")
    doc_length: Positive
    score_scale: float = Field(1.0, gt=0, description="s_emb = score_scale * dot product")


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

    Pools are joined in the order of their names, which budgets use too; `scores` is the lexical
    system that scores the positive and them. In place of pools there may be the `triples` of the
    split's own collection, each a pair with one negative. Without either there are none but the
    other docs of a batch. `same_as` names the model whose tuples are used: an ablation differs in
    one thing only.
    """

    pools: dict[Id, Annotated[Pool, Kinds("residuum.pools:POOLS")]] = Field(default={})
    scores: Annotated[Id, Ref("system", kinds=("lexical",))] | None = None
    per_pair: Positive | None = Field(default=None, description="stored for each training pair")
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
        if self.same_as and any([*settings, self.pools, self.triples]):
            raise ValueError("same_as takes the other model's tuples: give nothing beside it")
        if self.triples:
            if self.pools or settings != [True, False]:
                raise ValueError("triples bring their negatives: beside them, give scores alone")
            return
        if len({bool(self.pools), *settings}) > 1:
            raise ValueError("pools, scores and per_pair go together: give all or none of them")
        if len({source.system for source in self.sources}) < len(self.sources):
            raise ValueError("two pools hold the hits of one system: give one, as deep as needed")


class Loss(Strict):
    """Base of every loss; an entry of residuum.neural.losses.LOSSES."""

    kind: str
    weight: float = Field(1.0, gt=0, description="factor of this loss in the sum of several")
    needs: ClassVar[frozenset[Needs]] = frozenset()


class Training(Strict):
    """How long and with which optimiser. One of epochs and steps is given."""

    optimizer: Literal["adam", "bert-adam"] = Field(
        "adam", description="bert-adam: BERT's own, without bias correction and with epsilon 1e-6"
    )
    learning_rate: float = Field(gt=0)
    warmup: float = Field(
        0.0, ge=0, description="in which the rate rises from 0: share of the steps, or steps from 1"
    )
    decay: Literal["constant", "linear", "bert"] = Field(
        "constant",
        description="of the rate, on a line to 0 at the end: linear from where the warm-up ends, "
        "bert from the first step, so that the rate falls where the warm-up ends",
    )
    weight_decay: float = Field(0.0, ge=0, description="decoupled; none of biases and layer norms")
    clip_norm: float | None = Field(None, gt=0, description="largest norm of all gradients")
    batch_size: Positive
    epochs: float | None = Field(None, gt=0)
    steps: Positive | None = None
    dropout: Probability | None = Field(None, description="absent: as the backbone has it")
    part: tuple[Positive, Positive] = Field((1, 1), description="[i, n]: the i-th of n of pairs")
    checkpoint_every: Positive = Field(500, description="steps between resumable checkpoints")

    def check(self) -> None:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("give exactly one of epochs and steps")
        if self.part[0] > self.part[1]:
            raise ValueError(f"part {list(self.part)}: the first number exceeds the second")


class MaskedLanguage(Entry):
    """A backbone adapted to a corpus by masked-language modelling (Devlin et al. 2019)."""

    kind: Literal["masked-language"]
    backbone: BackboneRole
    corpora: Corpora
    mask: Probability = Field(0.15, description="share of the tokens that are predicted")
    length: Positive = Field(description="tokens kept of a doc, special ones included")
    training: Training
    seed: int


class OnPairs(Entry):
    """What all models share that are trained on (query, positive) pairs."""

    backbone: BackboneRole
    train_on: base.TrainRole = Field(description="own: the split that a collection names for it")
    negatives: Negatives = Field(default_factory=lambda: Negatives())
    training: Training
    seeds: base.Seeds | None = Field(None, description="of its trainings; absent: the scale's")


class TermWeights(OnPairs):
    """DeepCT: a BERT that predicts the recall of each word of a doc in the doc's queries."""

    kind: Literal["term-weights"]
    length: Positive = Field(128, description="tokens kept of a doc, special ones included")
    scale: Positive = Field(100, description="a word's tf is its weight times this, rounded")

    def check(self) -> None:
        if self.negatives.pools:
            raise ValueError("a term-weights model learns from pairs alone: leave out the pools")


class Contrastive(OnPairs):
    """A model whose losses compare the scores of a query's docs: one loss, or a weighted sum."""

    loss: Annotated[Loss, Kinds("residuum.neural.losses:LOSSES")] | None = None
    losses: list[Annotated[Loss, Kinds("residuum.neural.losses:LOSSES")]] = Field(default=[])
    group: Positive = Field(
        1, description="stored negatives beside each positive at a visit, in turn"
    )
    gives: ClassVar[frozenset[Needs]] = frozenset({"candidates"})

    @property
    def objectives(self) -> list[Loss]:
        """The losses whose weighted sum is minimised."""
        return [self.loss] if self.loss else self.losses

    @property
    def drawn(self) -> int:
        """Negatives that a visit of a pair draws: none if pairs come without."""
        return self.group if self.negatives.sampled else 0

    def check(self) -> None:
        if bool(self.loss) == bool(self.losses):
            raise ValueError("give exactly one of loss and losses")
        kinds = [loss.kind for loss in self.objectives]
        if len({*kinds}) < len(kinds):
            raise ValueError(f"losses {', '.join(kinds)}: one of them is given twice")
        given = self.gives | ({"negatives"} if self.negatives.sampled else set())
        for loss in self.objectives:
            for need in sorted(loss.needs - given):
                raise ValueError(f"loss {loss.kind} needs {NEEDS[need]}")


class Windows(Strict):
    """How models read docs longer than their input: in overlapping passages, a vector for each.

    A doc's score is the largest of its passages' (ME-BERT, Model Settings of the MS MARCO part).
    """

    length: Positive = Field(description="tokens of a passage, head included, in the model's own")
    stride: Positive = Field(description="tokens from the start of one passage to the next's")
    head: list[str] = Field([], description="fields that every passage starts with")
    body: str = Field(description="field that is cut")
    expected: Positive = Field(description="passages of a doc on average; shards are sized by it")

    def check(self) -> None:
        if self.stride > self.length:
            raise ValueError(f"stride {self.stride} is more than length {self.length}")


class Reading(Strict):
    """How a cross-encoder reads a query and a doc."""

    pooling: Literal["mean", "cls"] = "cls"
    query_length: Positive = Field(64, description="tokens kept of a query")
    length: Positive = Field(512, description="tokens kept of the pair, special ones included")


class CrossEncoder(Contrastive):
    """A reranker: one encoder reads query and doc together and gives a score.

    Its candidates are the positive and the `group` negatives of its own query.
    """

    kind: Literal["cross-encoder"]
    reading: Reading

    def check(self) -> None:
        super().check()
        if not self.negatives.sampled:
            raise ValueError("a cross-encoder needs negatives of its own: give negatives.pools")


class DualEncoder(Contrastive):
    """One shared encoder for queries and docs; its candidates are all docs of the batch."""

    kind: Literal["dual-encoder"]
    encoder: Encoder
    gives: ClassVar[frozenset[Needs]] = frozenset({"candidates", "vectors"})


Trained = Annotated[DualEncoder | TermWeights | CrossEncoder, Field(discriminator="kind")]
Model = Annotated[Backbone | MaskedLanguage | Trained, Field(discriminator="kind")]

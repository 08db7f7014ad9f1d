"""config/models/*.yaml: what is trained: backbone, loss, negatives, hyper-parameters."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from residuum.core.schema.base import (
    BackboneRole,
    Budget,
    Id,
    Positive,
    Probability,
    Ref,
    Role,
    Seeds,
    Strict,
    TrainRole,
)

LexicalId = Annotated[Id, Ref("system", kinds=("lexical",))]


class Backbone(Strict):
    """A small BERT made in the graph: WordPiece vocabulary and LSA-initialised embeddings."""

    kind: Literal["backbone"]
    description: str = Field("", description="for readers; no part of any spec")
    corpora: list[Role] = Field(min_length=1, description="roles whose datasets give the text")
    vocabulary: Positive
    hidden: Positive
    layers: Positive
    heads: Positive
    intermediate: Positive
    max_length: Positive
    seed: int
    budgets: list[Budget] = Field(default=[], description="scale budgets laid over this file")


class Encoder(Strict):
    """How text becomes a vector (CLEAR Eq. 2-4)."""

    pooling: Literal["mean", "cls"] = "mean"
    query_marker: str = Field("[QRY]", description="special token before a query")
    doc_marker: str = Field("[DOC]", description="special token before a doc")
    query_length: Positive = Field(description="tokens kept of a query, special ones included")
    doc_length: Positive
    score_scale: float = Field(
        1.0, gt=0, description="s_emb = score_scale * dot product; decides whether a margin binds"
    )


class LexicalErrorNegatives(Strict):
    """Negatives drawn uniformly from a lexical system's top docs that are not positives.

    A dense system's hits may join them; the lexical system scores all of them.
    """

    kind: Literal["lexical_error"]
    system: LexicalId = Field(description="lexical system that makes the errors and the scores")
    pool: Positive = Field(description="top N docs drawn from")
    dense: Annotated[Id, Ref("system", kinds=("dense",))] | None = Field(
        None, description="dense system whose hits for the training queries join the pool"
    )
    dense_seed: int = Field(1, description="seed of that system's model")
    per_pair: Positive = Field(description="negatives stored for each training pair")
    seed: int = 1


class RandomNegatives(Strict):
    """Negatives drawn uniformly from the corpus; the system gives their lexical scores."""

    kind: Literal["random"]
    system: LexicalId
    per_pair: Positive
    seed: int = 1


class InBatchNegatives(Strict):
    """The other positives of the batch are the negatives."""

    kind: Literal["in_batch"]


class SameNegatives(Strict):
    """The tuples of another model, so that an ablation differs in one thing only."""

    kind: Literal["same_as"]
    model: Annotated[Id, Ref("model", use="tuples")]


Negatives = Annotated[
    LexicalErrorNegatives | RandomNegatives | InBatchNegatives | SameNegatives,
    Field(discriminator="kind"),
]


class ResidualMargin(Strict):
    """Hinge loss with CLEAR's residual margin (Eq. 6-7)."""

    kind: Literal["residual_margin"]
    xi: float = Field(ge=0)
    lambda_train: float


class ConstantMargin(Strict):
    """Hinge loss with a constant margin (CLEAR Eq. 5)."""

    kind: Literal["constant_margin"]
    margin: float = Field(gt=0)


class Nll(Strict):
    """Negative log-likelihood of the positive among the positives of the batch."""

    kind: Literal["nll"]


class Training(Strict):
    """How long and with which optimiser. One of epochs and steps is given."""

    optimizer: Literal["adam"] = "adam"
    learning_rate: float = Field(gt=0)
    batch_size: Positive
    epochs: float | None = Field(None, gt=0)
    steps: Positive | None = None
    dropout: Probability | None = Field(None, description="absent: as the backbone has it")
    part: tuple[Positive, Positive] = Field(
        (1, 1), description="[i, n]: train on the i-th of n equal parts of the pairs"
    )
    checkpoint_every: Positive = Field(500, description="steps between resumable checkpoints")

    @model_validator(mode="after")
    def one_length(self) -> "Training":
        """Exactly one of epochs and steps says how long, and the part exists."""
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("give exactly one of epochs and steps")
        if self.part[0] > self.part[1]:
            raise ValueError(f"part {list(self.part)}: the first number exceeds the second")
        return self


class MaskedLanguage(Strict):
    """A backbone adapted to a corpus by masked-language modelling (Devlin et al. 2019)."""

    kind: Literal["masked-language"]
    description: str = Field("", description="for readers; no part of any spec")
    backbone: BackboneRole = Field(description="backbone role that the scale casts")
    corpora: list[Role] = Field(min_length=1, description="roles whose datasets give the text")
    mask: Probability = Field(0.15, description="share of the tokens that are predicted")
    length: Positive = Field(description="tokens kept of a doc, special ones included")
    training: Training
    seed: int
    budgets: list[Budget] = Field(
        default=[], description="scale budgets laid over this file, in order"
    )


class OnPairs(Strict):
    """What all models share that are trained on (query, positive) pairs."""

    description: str = Field("", description="for readers; no part of any spec")
    backbone: BackboneRole = Field(description="backbone role that the scale casts")
    train_on: TrainRole = Field(
        description="role of the training split; own: that of the collection that is searched"
    )
    negatives: Negatives
    training: Training
    seeds: Seeds | None = Field(None, description="of its trainings; absent: the scale's")
    budgets: list[Budget] = Field(
        default=[], description="scale budgets laid over this file, in order"
    )


class TermWeights(OnPairs):
    """DeepCT: a BERT that predicts the recall of each word of a doc in the doc's queries."""

    kind: Literal["term-weights"]
    negatives: Negatives = Field(description="in_batch: its training pairs have none")
    length: Positive = Field(128, description="tokens kept of a doc, special ones included")
    scale: Positive = Field(100, description="a word's tf is its weight times this, rounded")

    @model_validator(mode="after")
    def pairs_only(self) -> "TermWeights":
        """Recall is a matter of (query, positive) pairs."""
        if self.negatives.kind not in ("in_batch", "same_as"):
            raise ValueError("negatives of a term-weights model are in_batch or same_as")
        return self


class Reading(Strict):
    """How a cross-encoder reads a query and a doc."""

    pooling: Literal["mean", "cls"] = "cls"
    query_length: Positive = Field(64, description="tokens kept of a query")
    length: Positive = Field(512, description="tokens kept of the pair, special ones included")


class CrossEncoder(OnPairs):
    """A reranker: one encoder reads query and doc together and gives a score.

    Trained by the negative log-likelihood of the positive among itself and `group` negatives.
    """

    kind: Literal["cross-encoder"]
    group: Positive = Field(description="negatives beside each positive")
    reading: Reading

    @model_validator(mode="after")
    def has_negatives(self) -> "CrossEncoder":
        """A group needs negatives of its own query."""
        if self.negatives.kind == "in_batch":
            raise ValueError("a cross-encoder needs negatives; in_batch has none of its own")
        return self


Loss = Annotated[ResidualMargin | ConstantMargin | Nll, Field(discriminator="kind")]


class DualEncoder(OnPairs):
    """One shared encoder for queries and docs, trained on (query, positive, negative)."""

    kind: Literal["dual-encoder"]
    loss: Loss
    encoder: Encoder

    @model_validator(mode="after")
    def loss_fits_negatives(self) -> "DualEncoder":
        """NLL takes in-batch negatives, the margin losses take sampled ones."""
        in_batch = self.negatives.kind == "in_batch"
        if in_batch != (self.loss.kind == "nll"):
            raise ValueError(f"loss {self.loss.kind} does not go with {self.negatives.kind}")
        return self


Trained = Annotated[DualEncoder | TermWeights | CrossEncoder, Field(discriminator="kind")]
Model = Annotated[
    Backbone | MaskedLanguage | DualEncoder | TermWeights | CrossEncoder,
    Field(discriminator="kind"),
]

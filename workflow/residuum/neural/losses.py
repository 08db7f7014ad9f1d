"""The losses: each a class of its parameters beside a pure function of scores.

Usage: `objective.losses(candidates).mean()`, with an objective as in a model's `loss` or `losses`.
A new loss is a class here and a line in LOSSES; `needs` names what a batch must hold for it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from pydantic import Field

from residuum.code.tables import OpenTable
from residuum.config.schema.models import Loss, Needs

if TYPE_CHECKING:
    from torch import Tensor


class Candidates(NamedTuple):
    """The scores and vectors that losses read, for queries of a batch.

    `sampled` (queries, 1 + n) holds the scores of the positive and of its n sampled negatives.
    `lexical` (the same shape) holds their lexical scores. `scores` (queries, docs) holds the scores
    of all candidates, and `positive` (queries,) the column of the positive. `ignore` is true for
    docs that are no negatives: the positive's duplicates and the query's other positives. `vectors`
    are the vectors of the queries (queries, dimensions) and of their positives (queries, vectors,
    dimensions). `fixed` has an untrained model's vectors of both texts, of the same dimensions.
    `fixed_scores` has that model's scores of all candidates, as `scores`. `others` numbers, row by
    row, the scores of candidates that are negatives.
    """

    sampled: Tensor
    lexical: Tensor
    scores: Tensor
    positive: Tensor
    ignore: Tensor
    vectors: tuple[Tensor, Tensor] | None = None
    fixed: tuple[Tensor, Tensor] | None = None
    fixed_scores: Tensor | None = None
    others: Tensor | None = None


class Objective(Loss):
    """A loss that computes."""

    @abstractmethod
    def losses(self, batch: Candidates) -> Tensor:
        """Return one loss for each query: (queries,)."""

    def watched(self, batch: Candidates) -> dict[str, Tensor]:
        """Return further columns of the log, as values whose means the log shows."""
        return {}


class Hinge(Objective):
    """Base of hinge losses: means over a query's own negatives."""

    needs: ClassVar[frozenset[Needs]] = frozenset({"negatives"})

    @abstractmethod
    def margins(self, lexical: Tensor) -> Tensor | float:
        """Return margins (queries, n), or one number, given `lexical` as in `Candidates`."""

    def losses(self, batch: Candidates) -> Tensor:
        """Return the mean hinge over each query's own negatives."""
        margin = self.margins(batch.lexical)
        return triplet_hinge(batch.sampled[:, :1], batch.sampled[:, 1:], margin).mean(dim=1)


class ResidualMargin(Hinge):
    """Hinge loss with CLEAR's residual margin (Eq. 6-7)."""

    kind: Literal["residual_margin"]
    xi: float = Field(ge=0)
    lambda_train: float

    def margins(self, lexical: Tensor) -> Tensor:
        return residual_margin(lexical[:, :1], lexical[:, 1:], self.xi, self.lambda_train)


class ConstantMargin(Hinge):
    """Hinge loss with a constant margin (CLEAR Eq. 5)."""

    kind: Literal["constant_margin"]
    margin: float = Field(gt=0)

    def margins(self, lexical: Tensor) -> float:
        return self.margin


def residual_margin(s_lex_pos: Tensor, s_lex_neg: Tensor, xi: float, lambda_train: float) -> Tensor:
    """Return the margins m_r = xi - lambda_train * (s_lex(q, d+) - s_lex(q, d-)).

    Both score tensors and the result have shape (batch,). A margin is negative where the lexical
    system ranks the pair right by a wide gap. CLEAR Eq. 6.
    """
    return xi - lambda_train * (s_lex_pos - s_lex_neg)


def triplet_hinge(s_emb_pos: Tensor, s_emb_neg: Tensor, margin: Tensor | float) -> Tensor:
    """Return the losses [margin - s_emb(q, d+) + s_emb(q, d-)]_+ of shape (batch,).

    `margin` is a number (CLEAR Eq. 5) or one residual margin per triplet (CLEAR Eq. 7).
    """
    return (margin - s_emb_pos + s_emb_neg).clamp(min=0)


class Nll(Objective):
    """Negative log-likelihood of the positive among all candidates."""

    kind: Literal["nll"]
    needs: ClassVar[frozenset[Needs]] = frozenset({"candidates"})

    def losses(self, batch: Candidates) -> Tensor:
        return nll(batch.scores, batch.positive, batch.ignore)


def nll(scores: Tensor, positive: Tensor, ignore: Tensor) -> Tensor:
    """Return -log softmax of each query's positive among its candidates: (queries,).

    `scores` has shape (queries, docs), the positive of query i in column `positive[i]`. `ignore` is
    boolean of the same shape, true for docs that do not count. With the docs of the batch as
    candidates: Karpukhin et al. 2020 (DPR), Eq. 2. With each query's own docs: Gao, Dai and Callan
    2021 (ECIR).
    """
    kept = scores.masked_fill(ignore, float("-inf"))
    return kept.logsumexp(dim=1) - scores.gather(1, positive[:, None])[:, 0]


class ResidualNll(Objective):
    """`Nll` of score + lambda_train * fixed score, where the fixed score of a pair is BM25's.

    BM25 then stands inside the softmax, and the encoder learns what BM25 lacks: a residual dual
    encoder. A reading of "we train the hybrid model in section 4 with lambda = 1.5", Ma et al. 2020
    (CLEF), section 5.1; the score is the sim of section 4.
    """

    kind: Literal["residual_nll"]
    lambda_train: float = Field(gt=0, description="weight of the fixed scores in the softmax")
    needs: ClassVar[frozenset[Needs]] = frozenset({"candidates", "fixed_scores"})

    def losses(self, batch: Candidates) -> Tensor:
        if batch.fixed_scores is None:
            raise TypeError("fixed scores are needed")
        scores = batch.scores + self.lambda_train * batch.fixed_scores
        return nll(scores, batch.positive, batch.ignore)


def in_batch(queries: Tensor, docs: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
    """Return `nll` of queries' own docs among all docs of a batch, and whether own docs score best.

    Vectors have shape (batch, dimensions), the own doc of query i is doc i, and a score is an inner
    product. Both results have shape (rows,); the second result is 1 or 0.
    """
    import torch

    scores = queries[rows] @ docs.T
    positive = torch.arange(len(docs), device=docs.device)[rows]
    best = (scores.argmax(dim=1) == positive).float()
    return nll(scores, positive, torch.zeros_like(scores, dtype=torch.bool)), best


class Logistic(Objective):
    """Logistic regression of relevance: each of a query's own docs is an example."""

    kind: Literal["logistic"]
    needs: ClassVar[frozenset[Needs]] = frozenset({"negatives"})

    def losses(self, batch: Candidates) -> Tensor:
        return logistic(batch.sampled)


def logistic(scores: Tensor) -> Tensor:
    """Return the mean binary cross-entropy of each query's own docs, with scores as logits.

    `scores` has shape (queries, 1 + n), the result (queries,): -log sigmoid(s) of the positive, in
    the first column, and -log(1 - sigmoid(s)) of each negative. Ma et al. 2020 (CLEF), section 5.1,
    HybridRerank.
    """
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    relevant = torch.zeros_like(scores)
    relevant[:, 0] = 1
    return binary_cross_entropy_with_logits(scores, relevant, reduction="none").mean(dim=1)


class Orthogonality(Objective):
    """Squared cosines of learned and fixed vectors: the query's plus its positive's (RoC, Eq. 8).

    A doc with several vectors counts by their mean.
    """

    kind: Literal["orthogonality"]
    needs: ClassVar[frozenset[Needs]] = frozenset({"vectors", "fixed"})

    def losses(self, batch: Candidates) -> Tensor:
        query_cosine, doc_cosine = self.watched(batch).values()
        return query_cosine + doc_cosine

    def watched(self, batch: Candidates) -> dict[str, Tensor]:
        """Return the squared cosine of each query and of each positive: (queries,)."""
        if batch.vectors is None or batch.fixed is None:
            raise TypeError("vectors and fixed vectors are needed")
        (queries, docs), (query_fixed, doc_fixed) = batch.vectors, batch.fixed
        return {
            "ortho_query": squared_cosine(queries, query_fixed),
            "ortho_doc": squared_cosine(docs.mean(dim=1), doc_fixed),
        }


def squared_cosine(learned: Tensor, fixed: Tensor) -> Tensor:
    """Return cos^2 of vectors (..., dimensions): 0 if orthogonal, 1 if parallel.

    It does not depend on the vectors' lengths, and is 0 for a zero vector. Lee et al. 2023 (RoC),
    Eq. 8.
    """
    import torch

    product = (learned * fixed).sum(dim=-1)
    squares = learned.square().sum(dim=-1) * fixed.square().sum(dim=-1)
    return product.square() / squares.clamp(min=torch.finfo(squares.dtype).tiny)


LOSSES: OpenTable[type[Objective]] = OpenTable(
    {
        "residual_margin": "residuum.neural.losses:ResidualMargin",
        "constant_margin": "residuum.neural.losses:ConstantMargin",
        "nll": "residuum.neural.losses:Nll",
        "residual_nll": "residuum.neural.losses:ResidualNll",
        "logistic": "residuum.neural.losses:Logistic",
        "orthogonality": "residuum.neural.losses:Orthogonality",
    },
    "loss",
)


def weighted(
    objectives: Sequence[Objective], batch: Candidates
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the weighted sum of losses, and each loss without its weight: (queries,)."""
    parts = {objective.kind: objective.losses(batch) for objective in objectives}
    first, *rest = (objective.weight * parts[objective.kind] for objective in objectives)
    return sum(rest, first), parts


def gating(logits: Tensor, present: Tensor, absent_weight: float, present_weight: float) -> Tensor:
    """Return -lambda_1 sum log(1 - G_j) over absent terms - lambda_2 sum log G_k over present ones.

    G is the sigmoid of `logits` (docs, terms). `present` is boolean of the same shape, true for the
    terms of the doc's query. The result has one loss for each doc: (docs,). This is the loss of
    SparTerm's gate.
    """
    from torch.nn.functional import softplus

    signed = logits.where(~present, -logits)
    weight = (~present) * absent_weight + present * present_weight
    return (weight * softplus(signed)).sum(dim=1)


def squared_errors(predicted: Tensor, target: Tensor) -> Tensor:
    """Return (predicted - target)^2 of each word of a batch: inputs and result are (words,).

    Dai and Callan 2019 (DeepCT), section 3. DeepCT takes the mean over all words of the batch
    (SUM_BY_NONZERO_WEIGHTS in run_deepct.py), so that words of short docs weigh no more than
    others.
    """
    return (predicted - target) ** 2

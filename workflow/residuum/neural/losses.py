"""The losses: pure functions from scores or predictions to one loss per training example.

Usage: `triplet_hinge(positive, negative, residual_margin(...)).mean()`.
Must not know encoders, batches or optimisers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def residual_margin(s_lex_pos: Tensor, s_lex_neg: Tensor, xi: float, lambda_train: float) -> Tensor:
    """Return the margins m_r = xi - lambda_train * (s_lex(q, d+) - s_lex(q, d-)).

    Both score tensors have shape (batch,), as has the result. A margin is negative where the
    lexical system ranks the pair right by a wide gap. CLEAR Eq. 6.
    """
    return xi - lambda_train * (s_lex_pos - s_lex_neg)


def triplet_hinge(s_emb_pos: Tensor, s_emb_neg: Tensor, margin: Tensor | float) -> Tensor:
    """Return the losses [margin - s_emb(q, d+) + s_emb(q, d-)]_+ of shape (batch,).

    `margin` is a number (CLEAR Eq. 5) or one residual margin per triplet (CLEAR Eq. 7).
    """
    return (margin - s_emb_pos + s_emb_neg).clamp(min=0)


def in_batch_nll(scores: Tensor, ignore: Tensor, first: int = 0) -> Tensor:
    """Return -log softmax of each query's positive among the docs of the batch: (queries,).

    `scores` has shape (queries, batch); row i holds the scores of query i, its positive in
    column first + i. `ignore` is boolean of the same shape and marks docs that are no negatives:
    the positive's duplicates and the query's other positives; it is false for the positive.
    Karpukhin et al. 2020 (DPR), Eq. 2, with the batch's other positives as negatives.
    """
    kept = scores.masked_fill(ignore, float("-inf"))
    return kept.logsumexp(dim=1) - scores.diagonal(first)


def mean_squared_errors(predicted: Tensor, wanted: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return each example's mean of (predicted - wanted)^2 over its values: (examples,).

    Both tensors have shape (values,) and hold the examples one after the other, `sizes[i]`
    values (1 or more) of example i. Dai and Callan 2019 (DeepCT), section 3, per doc.
    """
    import torch

    counts = torch.tensor(sizes, device=predicted.device)
    owners = torch.repeat_interleave(torch.arange(len(sizes), device=counts.device), counts)
    sums = predicted.new_zeros(len(sizes)).index_add(0, owners, (predicted - wanted) ** 2)
    return sums / counts

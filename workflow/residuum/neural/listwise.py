"""The loss of a positive among the negatives of its own query: a pure function of scores.

Usage: `group_nll(scores).mean()`. Must not know encoders, batches or optimisers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def group_nll(scores: Tensor) -> Tensor:
    """Return -log softmax of each query's positive among its group: (queries,).

    `scores` has shape (queries, 1 + negatives), the positive in column 0. Gao, Dai and Callan
    2021 (ECIR), "localized contrastive estimation".
    """
    return scores.logsumexp(dim=1) - scores[:, 0]

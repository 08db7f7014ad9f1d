"""Mask exact matches of a query and a doc in training, so that other words are learned.

Usage: `masked(query, doc, special, mask, share, random)`.
"""

from collections.abc import Collection

import numpy as np


def masked(
    query: np.ndarray,
    doc: np.ndarray,
    special: Collection[int],
    mask: int,
    share: float,
    random: np.random.Generator,
) -> np.ndarray:
    """Return a doc's token ids (int32, tokens) with `mask` for some tokens that the query has too.

    Each matched token is masked with probability `share`; special tokens are never masked. The
    paper samples 15% of the matched tokens. Queries and docs share about four tokens, of which 15%
    would round to none. Lee et al. 2023 (RoC), Eq. 10.
    """
    matched = np.isin(doc, query) & ~np.isin(doc, [*special])
    return np.where(matched & (random.random(len(doc)) < share), np.int32(mask), doc)

"""Word embeddings by latent semantic analysis: TF-IDF over token ids and a truncated SVD.

Usage: `vectors = lsa.token_vectors(docs, vocabulary=4000, dimensions=64, seed=1, threads=1)`.
Must not know tokenizers, models or torch.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

DECIMALS = 6  # what lies below depends on the machine's linear algebra


def token_vectors(
    docs: Iterable[np.ndarray], vocabulary: int, dimensions: int, seed: int, threads: int
) -> np.ndarray:
    """Return unit vectors of the tokens, float32 (vocabulary, dimensions found).

    `docs` gives each doc's token ids. A small corpus gives fewer dimensions than asked for,
    and a token that stands in no doc gets zeros. Deerwester et al. 1990.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from threadpoolctl import threadpool_limits

    counts = _counts(docs, vocabulary)
    found = min(dimensions, min(counts.shape) - 1)
    if found < 1:
        return np.zeros((vocabulary, 0), dtype=np.float32)
    with threadpool_limits(threads):
        weights = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
        svd = TruncatedSVD(found, random_state=seed).fit(weights)
    return _unit(svd.components_.T * svd.singular_values_)


def _counts(docs: Iterable[np.ndarray], vocabulary: int) -> Any:
    from scipy.sparse import csr_matrix

    rows = [np.unique(ids, return_counts=True) for ids in docs]
    columns = [ids for ids, _ in rows] or [np.zeros(0, dtype=np.int32)]
    values = [counts for _, counts in rows] or [np.zeros(0)]
    starts = np.cumsum([0, *(len(ids) for ids, _ in rows)])
    data = np.concatenate(values).astype(np.float64)
    return csr_matrix((data, np.concatenate(columns), starts), shape=(len(rows), vocabulary))


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-9)
    return unit.round(DECIMALS).astype(np.float32)

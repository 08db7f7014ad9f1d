"""Random projection of sparse vectors to as many dimensions as an encoder has, without training.

Usage: `project(rows, terms, 768, seed)`. A term has the same signs in queries and docs, in every
process and for every collection. No matrix of all terms is ever made. Sources: Lee et al. 2023
(RoC), Eq. 3; Achlioptas 2001; Luan et al. 2021 (ME-BERT), section 3.
"""

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

RADEMACHER = "rademacher"
ROWS_AT_ONCE = 4096


def signs(terms: Sequence[str], dimensions: int, seed: int) -> np.ndarray:
    """Return 1 or -1 for each term and dimension: int8 (terms, dimensions).

    The signs are the bits of SHAKE-256 of seed and term, so that separate processes draw the same.
    """
    size = -(-dimensions // 8)
    drawn = b"".join(hashlib.shake_256(f"{seed}\t{term}".encode()).digest(size) for term in terms)
    bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8).reshape(len(terms), size), axis=1)
    return 2 * bits[:, :dimensions].astype(np.int8) - 1


class Drawn:
    """Columns of the projection A for some terms, a block at a time, with entries of variance 1.

    Rademacher: the `signs`. Gaussian: the normal quantiles of 32 bits of SHAKE-256 per entry.
    """

    def __init__(self, terms: Sequence[str], dimensions: int, seed: int, distribution: str) -> None:
        self.terms, self.seed = terms, seed
        self.signs = signs(terms, dimensions, seed) if distribution == RADEMACHER else None

    def block(self, start: int, end: int) -> np.ndarray:
        """Return the entries of dimensions `start` to `end`: float64 (terms, end - start)."""
        if self.signs is not None:
            return self.signs[:, start:end].astype(np.float64)
        from scipy.special import ndtri  # for Gaussian draws alone

        size, names = 4 * (end - start), (f"{self.seed}\t{start}\t{term}" for term in self.terms)
        drawn = b"".join(hashlib.shake_256(name.encode()).digest(size) for name in names)
        bits = np.frombuffer(drawn, dtype="<u4").reshape(len(self.terms), end - start)
        return np.asarray(ndtri((bits + 0.5) / 2**32))


def project(rows: csr_array, terms: Sequence[str], dimensions: int, seed: int) -> np.ndarray:
    """Return A x of each row x, float32 (rows, dimensions); A's entries are +-1/sqrt(dimensions).

    `rows` is (rows, terms). It is projected a block at a time, with only the block's terms.
    """
    result = np.zeros((rows.shape[0], dimensions), dtype=np.float32)
    for first in range(0, rows.shape[0], ROWS_AT_ONCE):
        part = rows[first : first + ROWS_AT_ONCE]
        used = np.unique(part.indices)
        if len(used):
            matrix = signs([terms[i] for i in used], dimensions, seed).astype(np.float64)
            result[first : first + ROWS_AT_ONCE] = part[:, used] @ matrix / math.sqrt(dimensions)
    return result

"""Random projection of sparse vectors: as many dimensions as an encoder has, nothing learned.

Usage: `project(rows, terms, 768, seed)`. A term has the same signs in a query and in a doc, in any
process and for any collection, and no matrix of all terms is ever made. Sources: Lee et al. 2023
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

    They are the bits of SHAKE-256 of seed and term, so that no two draws have to agree.
    """
    size = -(-dimensions // 8)
    drawn = b"".join(hashlib.shake_256(f"{seed}\t{term}".encode()).digest(size) for term in terms)
    bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8).reshape(len(terms), size), axis=1)
    return 2 * bits[:, :dimensions].astype(np.int8) - 1


class Drawn:
    """Columns of A for some terms, a block at a time, with entries of variance 1.

    Rademacher: the `signs`. Gaussian: the normal quantiles of 32 bits of SHAKE-256 each.
    """

    def __init__(self, terms: Sequence[str], dimensions: int, seed: int, distribution: str) -> None:
        self.terms, self.seed = terms, seed
        self.signs = signs(terms, dimensions, seed) if distribution == RADEMACHER else None

    def block(self, start: int, end: int) -> np.ndarray:
        """Return the entries of some dimensions: float64 (terms, end - start)."""
        if self.signs is not None:
            return self.signs[:, start:end].astype(np.float64)
        from scipy.special import ndtri  # of Gaussian draws alone

        size, names = 4 * (end - start), (f"{self.seed}\t{start}\t{term}" for term in self.terms)
        drawn = b"".join(hashlib.shake_256(name.encode()).digest(size) for name in names)
        bits = np.frombuffer(drawn, dtype="<u4").reshape(len(self.terms), end - start)
        return np.asarray(ndtri((bits + 0.5) / 2**32))


def project(rows: csr_array, terms: Sequence[str], dimensions: int, seed: int) -> np.ndarray:
    """Return A x of each row x, float32 (rows, dimensions); A's entries are +-1/sqrt(dimensions).

    `rows` is (rows, terms). Some rows are taken at a time, with the terms that these have.
    """
    result = np.zeros((rows.shape[0], dimensions), dtype=np.float32)
    for first in range(0, rows.shape[0], ROWS_AT_ONCE):
        part = rows[first : first + ROWS_AT_ONCE]
        used = np.unique(part.indices)
        if len(used):
            own = signs([terms[i] for i in used], dimensions, seed).astype(np.float64)
            result[first : first + ROWS_AT_ONCE] = part[:, used] @ own / math.sqrt(dimensions)
    return result

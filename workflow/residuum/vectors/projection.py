"""Random projection of sparse vectors: as many dimensions as an encoder has, nothing learned.

Usage: `project(rows, terms, 768, seed)`. A term has the same signs in a query and in a doc, in any
process and for any collection, and no matrix of all terms is ever made. Sources: Lee et al. 2023
(RoC), Eq. 3; Achlioptas 2001; Luan et al. 2021 (ME-BERT), section 3. Must not know what a weight
means.
"""

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

ROWS_AT_ONCE = 4096


def signs(terms: Sequence[str], dimensions: int, seed: int) -> np.ndarray:
    """Return 1 or -1 for each term and dimension: int8 (terms, dimensions).

    They are the bits of SHAKE-256 of seed and term, so that no two draws have to agree.
    """
    size = -(-dimensions // 8)
    drawn = b"".join(hashlib.shake_256(f"{seed}\t{term}".encode()).digest(size) for term in terms)
    bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8).reshape(len(terms), size), axis=1)
    return 2 * bits[:, :dimensions].astype(np.int8) - 1


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

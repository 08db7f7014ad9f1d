"""Vectors that others made of texts: parse a JSON line, join many, write them as ours.

Usage: `name, vector = parse(line)`, `write(folder, ids, joined(vectors), "cosine")`. A vector is an
array of numbers or, with a dimension for each term, a dictionary of weights.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from residuum.artefacts import contracts, termvectors

Vector = np.ndarray | Mapping[str, float]  # float32 (dimensions,), or {term: weight}
Similarity = Literal["cosine", "dot"]
ROUNDED = 1e-6  # how far the square of a length of 1 lies from 1 at most, by float32's rounding
FORMS = 'a line is {"id": ..., "vector": [numbers]} or {"id": ..., "terms": {"word": weight}}'
SHOWN = 60  # characters shown of a faulty line


class Weighed(NamedTuple):
    """Sparse vectors: their terms, sorted, and float32 weights of shape (vectors, terms)."""

    terms: list[str]
    rows: sparse.csr_array


Rows = np.ndarray | Weighed  # float32 (vectors, dimensions), or sparse


def parse(line: str | bytes) -> tuple[str, Vector]:
    """Return the id and the vector of a JSON line. Raises ValueError with the reason."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or "id" not in record:
        text = line if isinstance(line, str) else line.decode(errors="replace")
        raise ValueError(f"{FORMS}; found {text[:SHOWN].rstrip()!r}")
    name = str(record["id"])
    return name, vector_of(record, name)


def vector_of(record: Mapping[str, object], name: str) -> Vector:
    """Return the vector in a record. Raises ValueError with the reason, naming `name`."""
    numbers, terms = record.get("vector"), record.get("terms")
    if (numbers is None) == (terms is None):
        raise ValueError(f"{name}: give either vector or terms; {FORMS}")
    if terms is not None:
        if not isinstance(terms, dict) or not all(map(_is_number, terms.values())):
            raise ValueError(f"{name}: terms is no object of words with a number each")
        if odd := [word for word in terms if not word or len(word.splitlines()) > 1]:
            raise ValueError(f"{name}: the term {odd[0]!r} is empty or has more than one line")
        if odd := [word for word, weight in terms.items() if weight < 0]:
            raise ValueError(f"{name}: the weight of {odd[0]!r} is below 0; weights are 0 or more")
        return {word: _float(weight, name) for word, weight in terms.items() if weight}
    if not isinstance(numbers, list) or not numbers or not all(map(_is_number, numbers)):
        raise ValueError(f"{name}: vector is no list of numbers")
    with np.errstate(over="ignore"):
        values = [_float(number, name) for number in numbers]
        vector = np.array(values, dtype=np.float64).astype(np.float32)
    return vector


def _float(number: float, name: str) -> float:
    """Return a number as a float; one without end, or too large for it, raises ValueError."""
    try:
        return float(number)
    except OverflowError:
        raise ValueError(f"{name}: a value of its vector is not finite") from None


def check(vector: Vector, name: str, dimensions: int | None) -> None:
    """Raise ValueError for a value that is not finite, or a vector of other dimensions.

    `dimensions` is what `dimensions_of` gave for vectors before; None without any.
    """
    values = np.fromiter(vector.values(), np.float32) if isinstance(vector, Mapping) else vector
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: a value of its vector is not finite")
    if dimensions is not None and dimensions != dimensions_of(vector):
        have, had = map(described, (dimensions_of(vector), dimensions))
        raise ValueError(f"{name}: its vector has {have}, and those before it have {had}")


def dimensions_of(vector: Vector) -> int:
    """Return the dimensions of a vector; 0 for one with a dimension for each term."""
    return 0 if isinstance(vector, Mapping) else len(vector)


def joined(vectors: Sequence[Vector]) -> Rows:
    """Return vectors of one form as rows."""
    if isinstance(vectors, np.ndarray) or not any(isinstance(v, Mapping) for v in vectors):
        return np.asarray(vectors, dtype=np.float32)
    weighed = [vector for vector in vectors if isinstance(vector, Mapping)]
    terms = sorted({term for weights in weighed for term in weights})
    column = {term: number for number, term in enumerate(terms)}
    ends = np.cumsum([0, *map(len, weighed)])
    columns = np.array([column[term] for weights in weighed for term in weights], dtype=np.int64)
    values = np.array([w for weights in weighed for w in weights.values()], dtype=np.float32)
    shape = (len(weighed), len(terms))
    return Weighed(terms, sparse.csr_array((values, columns, ends), shape=shape))


def write(
    folder: Path, ids: Sequence[str], rows: Rows, similarity: Similarity, cure: str
) -> dict[str, object]:
    """Write vectors into a folder, of length 1 for cosine; return their dimensions as a fact.

    A vector of zeros stays one. `cure` says what to do where a value is not finite.
    """
    if isinstance(rows, Weighed):
        terms, weights = rows
        if similarity == "cosine":
            weights = sparse.csr_array(weights.multiply(_factors(weights)[:, None]))
        termvectors.write(folder, ids, terms, weights.astype(np.float32), cure)
        return {"terms": len(terms)}
    factors = _factors(rows)[:, None] if similarity == "cosine" else 1
    contracts.write_vectors(folder, ids, np.asarray(rows * factors, dtype=np.float32), cure)
    return {"dimensions": rows.shape[1]}


def _factors(rows: np.ndarray | sparse.csr_array) -> np.ndarray:
    """Return what makes each row's length 1: float64 (rows,); 1 for a row of zeros.

    It is 1 for a row that was scaled to length 1 before, as far as float32 tells: such vectors keep
    their bytes.
    """
    if isinstance(rows, np.ndarray):
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    else:
        squares = np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel()
    return 1 / np.sqrt(np.where((squares > 0) & (abs(squares - 1) > ROUNDED), squares, 1))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def compared_by(similarity: Similarity) -> str:
    """Return in words how vectors are compared."""
    return f"compared by {'cosine' if similarity == 'cosine' else 'inner products'}"


def described(dimensions: int) -> str:
    """Return what `dimensions_of` gave, in words."""
    return f"{dimensions} dimensions" if dimensions else "a weight for each term"

"""Write and read sparse vectors of texts, with a dimension per term.

Usage: `write(folder, ids, terms, rows)`, `read(folder)`. ids.txt names the rows, terms.txt the
columns, and vectors.npz holds the values in SciPy's format.
"""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from residuum.artefacts import files, intact
from residuum.cli.errors import ResiduumError

NAMES = ("ids.txt", "terms.txt", "vectors.npz")


class TermVectors(NamedTuple):
    """Sparse vectors of texts: float32 weights of shape (ids, terms)."""

    ids: list[str]
    terms: list[str]
    rows: sparse.csr_array


def write(
    folder: Path,
    ids: Sequence[str],
    terms: Sequence[str],
    rows: sparse.csr_array,
    cure: str = files.REMAKE,
) -> None:
    """Write vectors into a folder; terms must be sorted, so that equal vectors give equal bytes.

    `cure` tells what to do where a weight is not finite.
    """
    if rows.shape != (len(ids), len(terms)) or rows.dtype != np.float32:
        fault = f"{len(ids)} ids, {len(terms)} terms, but weights {rows.shape} {rows.dtype}"
        raise ResiduumError(f"{folder}: {fault}")
    if list(terms) != sorted({*terms}):
        raise ResiduumError(f"{folder}: terms have to rise, each once")
    if odd := [name for name in (*ids, *terms) if not name or len(name.splitlines()) > 1]:
        raise ResiduumError(f"{folder}: {odd[0]!r} is empty or has more than one line")
    if unusable := sorted({*rows.tocoo().row[~np.isfinite(rows.data)].tolist()}):
        such = f"the vector of {ids[unusable[0]]} is not finite ({len(unusable):,} such)"
        raise ResiduumError(f"{folder}: {such}. {cure}")
    rows = rows.sorted_indices()
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in zip(NAMES[:2], (ids, terms), strict=True):
        files.write_text(folder / name, "".join(f"{line}\n" for line in lines))
    sparse.save_npz(folder / NAMES[2], rows, compressed=False)


def read(folder: Path) -> TermVectors:
    """Return the vectors of a folder, after checking its files against its manifest."""
    paths = [intact.checked(folder / name) for name in NAMES]
    ids, terms = (files.read_bytes(path).decode().splitlines() for path in paths[:2])
    try:
        rows = sparse.csr_array(sparse.load_npz(paths[2]))
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ResiduumError(f"{paths[2]}: truncated or damaged ({error}). {files.REMAKE}") from None
    if rows.shape != (len(ids), len(terms)):
        fault = f"{len(ids)} ids, {len(terms)} terms, but weights {rows.shape}"
        raise ResiduumError(f"{folder}: {fault}. {files.REMAKE}")
    return TermVectors(ids, terms, rows)

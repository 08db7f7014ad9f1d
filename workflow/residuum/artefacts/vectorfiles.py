"""Read files of vectors that others made: JSON lines, npz, Parquet, npy and FAISS with ids.

Usage: `for file in opened(Path("docs.npz"), None): file.ids; file.take([0, 1])`.
"""

import gzip
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl

from residuum.artefacts import files, textvectors
from residuum.artefacts.textvectors import Vector
from residuum.cli.errors import ResiduumError
from residuum.config import roots

ID_COLUMNS = ("id", "_id", "doc_id", "query_id", "docid")
AGAIN = "Was it cut short? Get it again"
FLAT = 1e-3  # share by which lengths may differ where distances rank as inner products do

Take = Callable[[Sequence[int]], Sequence[Vector]]


class VectorFile(NamedTuple):
    """A file's ids, its dimensions (0 with a dimension for each term), and a reader of rows.

    `take` gives the vectors of row numbers: float32 (rows, dimensions), or weights of terms.
    """

    path: Path
    ids: list[str]
    dimensions: int
    take: Take


def opened(path: Path, ids: Path | None) -> Iterator[VectorFile]:
    """Yield a file of vectors, or each of a folder. `ids` is the file of the ids, if it is apart.

    Raises ResiduumError with the file, what was found, and what is valid.
    """
    if path.is_dir() and ids:
        text = "a folder, with ids for one file. Name the file"
        raise ResiduumError(f"{path}: {text}, or leave ids out if the files hold them")
    found = roots.files_of(path)
    if not found:
        raise ResiduumError(f"{path}: a folder without files")
    for name in found:
        file = _opened(name, ids)
        if not file.ids:
            raise ResiduumError(f"{name}: holds no vector")
        yield file


def _opened(path: Path, ids: Path | None) -> VectorFile:
    ending = roots.ending(path)
    if ending in APART:
        if ids is None:
            text = "holds no ids: write {vectors: FILE, ids: FILE_OF_IDS} in place of FILE"
            raise ResiduumError(f"{path}: {text}")
        return APART[ending](path, ids)
    if ending not in WITHIN:
        known = ", ".join([*WITHIN, *APART])
        raise ResiduumError(f"{path}: a file of vectors ends with one of {known}")
    if ids is not None:
        raise ResiduumError(f"{path}: holds its ids. Leave out ids: {ids}")
    return WITHIN[ending](path)


def read_ids(path: Path) -> list[str]:
    """Return the ids of a file: one a line, before a tab, or the id of each JSON line."""
    lines = files.read_lines(path)
    if roots.ending(path) not in (".jsonl", ".ndjson"):
        return [line.partition("\t")[0] for line in lines]
    ids = list[str]()
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        named = [record.get(key) for key in ID_COLUMNS] if isinstance(record, dict) else [record]
        found = next((name for name in named if isinstance(name, str | int)), None)
        if found is None:
            names = ", ".join(ID_COLUMNS)
            text = f"no id, and no object with one of {names}: {line[: textvectors.SHOWN]!r}"
            raise ResiduumError(f"{path}, line {number}: {text}")
        ids.append(str(found))
    return ids


def _dense(path: Path, ids: list[str], rows: np.ndarray, where: Path | None = None) -> VectorFile:
    """Return a file whose vectors are the rows of an array."""
    if rows.ndim != 2 or rows.dtype.kind not in "fiu" or not rows.shape[1]:
        text = f"expected numbers of shape (vectors, dimensions), found {rows.dtype} {rows.shape}"
        raise ResiduumError(f"{path}: {text}")
    _same(path, len(rows), ids, where)

    def take(numbers: Sequence[int]) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.asarray(rows[np.asarray(numbers, dtype=np.int64)]).astype(np.float32)

    return VectorFile(path, ids, rows.shape[1], cast(Take, take))


def _same(path: Path, vectors: int, ids: Sequence[str], where: Path | None) -> None:
    if len(ids) != vectors:
        place = f" in {where}" if where else ""
        raise ResiduumError(f"{path}: {vectors:,} vectors, but {len(ids):,} ids{place}")


def _npy(path: Path, ids: Path) -> VectorFile:
    return _dense(path, read_ids(ids), _loaded(path), ids)


def _loaded(path: Path) -> Any:
    """Return NumPy's array, mapped into memory, or archive. Pickles are refused."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ResiduumError(f"{path}: no array of numbers of NumPy ({error}). {AGAIN}") from None


def _npz(path: Path) -> VectorFile:
    try:
        with _loaded(path) as archive:
            if {"ids", "vectors"} - {*archive.files}:
                found = ", ".join(archive.files) or "none"
                text = f"expected arrays named ids and vectors, found {found}"
                raise ResiduumError(f"{path}: {text}")
            ids, rows = archive["ids"], archive["vectors"]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        text = "Ids are texts or integers: np.savez(path, ids=np.array(ids, str), vectors=vectors)"
        raise ResiduumError(f"{path}: an array cannot be read ({error}). {text}") from None
    if ids.ndim != 1 or ids.dtype.kind not in "Uiu":
        raise ResiduumError(f"{path}: ids: expected texts or integers, found {ids.dtype}")
    return _dense(path, list(map(str, ids.tolist())), rows)


def _parquet(path: Path) -> VectorFile:
    try:
        schema = pl.read_parquet_schema(path)
        lists = [name for name, form in schema.items() if isinstance(form, pl.List | pl.Array)]
        plain = [n for n, form in schema.items() if form == pl.String or form.is_integer()]
        named = [name for name in plain if name in ID_COLUMNS] if len(plain) > 1 else plain
        if len(lists) != 1 or len(named) != 1:
            text = f"expected one column of lists and one of ids ({', '.join(ID_COLUMNS)})"
            raise ResiduumError(f"{path}: {text}, found {', '.join(schema)}")
        [ids], [vectors] = named, lists
        names = pl.read_parquet(path, columns=[ids])[ids].cast(pl.String)
        first = pl.read_parquet(path, columns=[vectors], n_rows=1)[vectors]
    except (pl.exceptions.PolarsError, OSError) as error:
        text = f"no Parquet file that can be read ({error})"
        raise ResiduumError(f"{path}: {text}. {AGAIN}") from None
    if names.null_count():
        raise ResiduumError(f"{path}: {ids}: row {names.is_null().arg_max()} has no id")
    size = len(first[0]) if len(first) and first[0] is not None else 0

    def take(rows: Sequence[int]) -> np.ndarray:
        wanted = pl.Series("row", rows, dtype=pl.UInt32)
        every = pl.scan_parquet(path).select(vectors).with_row_index("row")
        kept = every.filter(pl.col("row").is_in(wanted.unique().implode())).collect()
        chosen = wanted.to_frame().join(kept, on="row", how="left", maintain_order="left")
        column = chosen[vectors].cast(pl.List(pl.Float32), strict=False)
        odd = (column.list.len() != size).fill_null(True) | column.list.eval(
            pl.element().is_null().any()
        ).list.first().fill_null(False)
        if odd.any():
            row = chosen["row"][odd.arg_max() or 0]
            text = f"{vectors} of {names[row]} has not the {size} numbers of the first row"
            raise ResiduumError(f"{path}: {text}")
        return column.explode().to_numpy().reshape(len(rows), size)

    return VectorFile(path, names.to_list(), size, cast(Take, take))


def _faiss(path: Path, ids: Path) -> VectorFile:
    """Open an index of FAISS that holds vectors as they were: flat, IVF flat, HNSW flat.

    With numbers of its own (IndexIDMap), vector n has the id of line n, counted from 0.
    """
    import faiss

    try:
        held = [faiss.read_index(str(path))]  # an index that is freed takes its parts with it
    except RuntimeError as error:
        raise ResiduumError(f"{path}: no index of FAISS ({_last(error)}). {AGAIN}") from None
    names = read_ids(ids)
    held.append(faiss.downcast_index(held[-1]))
    if isinstance(held[-1], faiss.IndexIDMap | faiss.IndexIDMap2):
        numbers = faiss.vector_to_array(held[-1].id_map)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(names):
            text = f"numbers its vectors up to {numbers.max()}, but {ids} has {len(names)} lines"
            raise ResiduumError(f"{path}: {text}")
        names = [names[n] for n in numbers]
        held.append(faiss.downcast_index(held[-1].index))
    index = held[-1]
    _same(path, index.ntotal, names, ids)
    if not isinstance(index, faiss.IndexFlat | faiss.IndexIVFFlat | faiss.IndexHNSWFlat):
        text = f"a {type(index).__name__} does not hold the vectors as they were"
        raise ResiduumError(f"{path}: {text}. Write them as npy or npz")
    if isinstance(index, faiss.IndexIVFFlat):
        index.make_direct_map()

    def take(rows: Sequence[int]) -> np.ndarray:
        index, numbers = held[-1], np.asarray(rows, dtype=np.int64)
        vectors: np.ndarray = index.reconstruct_batch(numbers)
        lengths = np.linalg.norm(vectors, axis=1)
        even = len(rows) == 0 or np.ptp(lengths) <= FLAT * lengths.max()
        if index.metric_type == faiss.METRIC_L2 and not even:
            raise ResiduumError(
                f"{path}: an index by distance (METRIC_L2) of vectors of different lengths. "
                "residuum compares by inner products, which rank other docs first. Write the "
                "vectors as npy if that is meant"
            )
        return vectors

    return VectorFile(path, names, index.d, cast(Take, take))


def _last(error: Exception) -> str:
    """Return the last line of FAISS's message, which begins with places in its code."""
    return str(error).strip().splitlines()[-1].rpartition("Error: ")[2]


def _jsonl(path: Path) -> VectorFile:
    ids, vectors, size = list[str](), list[Vector](), None
    with files.undamaged(path), (gzip.open if path.suffix == ".gz" else open)(path, "rb") as handle:
        for number, line in enumerate(handle, start=1):
            if not line.strip():
                continue
            try:
                name, vector = textvectors.parse(line)
                textvectors.check(vector, name, size)
            except ValueError as error:
                raise ResiduumError(f"{path}, line {number}: {error}. {AGAIN}") from None
            size = textvectors.dimensions_of(vector)
            ids.append(name)
            vectors.append(vector)
    return VectorFile(path, ids, size or 0, lambda rows: [vectors[row] for row in rows])


WITHIN: dict[str, Callable[[Path], VectorFile]] = {
    ".npz": _npz,
    ".parquet": _parquet,
    **dict.fromkeys((".jsonl", ".ndjson"), _jsonl),
}
APART: dict[str, Callable[[Path, Path], VectorFile]] = {
    ".npy": _npy,
    **dict.fromkeys((".faiss", ".index"), _faiss),
}

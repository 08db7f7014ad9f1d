"""Files of vectors that others made: each form gives ids and numbers, or says its fault."""

import json

import faiss
import numpy as np
import polars as pl
import pytest

from residuum.artefacts import vectorfiles
from residuum.cli.errors import ResiduumError

IDS = ["007", "d2", "d1", "d2"]  # not in the corpus's order; a doc of two vectors
ROWS = np.array([[1, 0, 2], [0.5, -1, 3], [0, 0, 0.25], [4, 5, 6]], dtype=np.float32)


def added(index):
    index.train(ROWS)
    index.add(ROWS)
    return index


def numbered():
    index = faiss.index_factory(3, "IDMap,Flat", faiss.METRIC_INNER_PRODUCT)
    index.add_with_ids(ROWS[::-1].copy(), np.array([3, 2, 1, 0]))
    return index


def lines(folder):
    records = [{"id": i, "vector": row.tolist()} for i, row in zip(IDS, ROWS, strict=True)]
    path = folder / "v.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path, None


def npz(folder):
    np.savez(folder / "v.npz", ids=np.array(IDS), vectors=ROWS.astype(np.float64))
    return folder / "v.npz", None


def npy(folder):
    np.save(folder / "v.npy", ROWS)
    (folder / "ids.txt").write_text("".join(f"{name}\ttext\n" for name in IDS))
    return folder / "v.npy", folder / "ids.txt"


def parquet(folder):
    frame = {"text": ["t"] * 4, "_id": IDS, "embedding": ROWS.tolist()}
    pl.DataFrame(frame).write_parquet(folder / "v.parquet")
    return folder / "v.parquet", None


def arrays(folder):
    form = {"name": pl.String, "embedding": pl.Array(pl.Float64, 3)}
    pl.DataFrame({"name": IDS, "embedding": ROWS}, form).write_parquet(folder / "v.parquet")
    return folder / "v.parquet", None


def of_faiss(index):
    def write(folder):
        faiss.write_index(index(), str(folder / "v.faiss"))
        (folder / "ids.jsonl").write_text("".join(f'{{"_id": "{name}"}}\n' for name in IDS))
        return folder / "v.faiss", folder / "ids.jsonl"

    return write


FORMS = {
    "lines": lines,
    "npz": npz,
    "npy": npy,
    "parquet": parquet,
    "arrays": arrays,
    "flat": of_faiss(lambda: added(faiss.IndexFlatIP(3))),
    "ivf": of_faiss(lambda: added(faiss.index_factory(3, "IVF2,Flat", faiss.METRIC_INNER_PRODUCT))),
    "hnsw": of_faiss(lambda: added(faiss.IndexHNSWFlat(3, 4, faiss.METRIC_INNER_PRODUCT))),
    "numbered": of_faiss(numbered),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_ids_and_numbers(form, tmp_path):
    [file] = vectorfiles.opened(*FORMS[form](tmp_path))
    assert file.dimensions == 3
    assert sorted(file.ids) == sorted(IDS)
    rows = [3, 0]
    whole = {(name, *row) for name, row in zip(IDS, ROWS.tolist(), strict=True)}
    taken = np.asarray(file.take(rows))
    assert {(file.ids[n], *row) for n, row in zip(rows, taken.tolist(), strict=True)} <= whole
    assert taken.dtype == np.float32 and taken.shape == (2, 3)
    if form != "numbered":
        assert file.ids == IDS
        np.testing.assert_array_equal(taken, ROWS[rows])


def test_a_folder_gives_its_files_in_the_order_of_their_names(tmp_path):
    for name, part in (("b", slice(2, 4)), ("a", slice(0, 2))):
        np.savez(tmp_path / f"{name}.npz", ids=np.array(IDS[part]), vectors=ROWS[part])
    files = [*vectorfiles.opened(tmp_path, None)]
    assert [name for file in files for name in file.ids] == IDS


def save(name, **arrays):
    def write(folder):
        np.savez(folder / name, **arrays)
        return folder / name, None

    return write


def text(name, content, ids=None):
    def write(folder):
        (folder / name).write_bytes(content)
        if ids is not None:
            (folder / "ids.txt").write_text(ids)
        return folder / name, None if ids is None else folder / "ids.txt"

    return write


def npy_of(array, ids):
    def write(folder):
        np.save(folder / "v.npy", array, allow_pickle=True)
        (folder / "ids.txt").write_text(ids)
        return folder / "v.npy", folder / "ids.txt"

    return write


def table(**columns):
    def write(folder):
        pl.DataFrame(columns).write_parquet(folder / "v.parquet")
        return folder / "v.parquet", None

    return write


FAULTS = {
    "no ids": (text("v.npy", b"x"), "v.npy: holds no ids: write {vectors: FILE, ids: FILE_OF_IDS}"),
    "ids twice": (
        lambda folder: (npz(folder)[0], npy(folder)[1]),
        "v.npz: holds its ids. Leave out ids",
    ),
    "form": (text("v.bin", b"x"), "v.bin: a file of vectors ends with one of .npz, .parquet"),
    "arrays": (save("v.npz", a=ROWS), "expected arrays named ids and vectors, found a"),
    "objects": (save("v.npz", ids=np.array(IDS, object), vectors=ROWS), "an array cannot be read"),
    "few ids": (npy_of(ROWS, "a\nb\n"), "4 vectors, but 2 ids in "),
    "words": (npy_of(np.array(["a"]), "a\n"), "expected numbers of shape (vectors, dimensions)"),
    "pickle": (npy_of(np.array([{}]), "a\n"), "no array of numbers of NumPy"),
    "cut": (text("v.npz", b"PK\x03\x04"), "no array of numbers of NumPy"),
    "no lists": (table(id=["a"]), "expected one column of lists and one of ids"),
    "two lists": (table(id=["a"], a=[[1.0]], b=[[1.0]]), "found id, a, b"),
    "null id": (table(id=["a", None], v=[[1.0], [2.0]]), "id: row 1 has no id"),
    "ragged": (table(id=["a", "b"], v=[[1.0], [2.0, 3.0]]), "v of b has not the 1 numbers"),
    "null": (table(id=["a", "b"], v=[[1.0], [None]]), "v of b has not the 1 numbers"),
    "no parquet": (text("v.parquet", b"x" * 99), "no Parquet file that can be read"),
    "no index": (text("v.faiss", b"x" * 99, "a\n"), "no index of FAISS"),
    "codes": (
        of_faiss(lambda: added(faiss.IndexLSH(3, 8))),
        "a IndexLSH does not hold the vectors as they were",
    ),
    "distance": (
        of_faiss(lambda: added(faiss.IndexFlatL2(3))),
        "an index by distance (METRIC_L2) of vectors of different lengths",
    ),
    "empty": (text("v.jsonl", b""), "v.jsonl: holds no vector"),
    "line": (
        text("v.jsonl", b'{"id": "a", "vector": [1]}\nnonsense\n'),
        'v.jsonl, line 2: a line is {"id": ..., "vector": [numbers]} or',
    ),
    "dimensions": (
        text("v.jsonl", b'{"id": "a", "vector": [1]}\n{"id": "b", "vector": [1, 2]}\n'),
        "line 2: b: its vector has 2 dimensions, and those before it have 1 dimensions",
    ),
    "mixed": (
        text("v.jsonl", b'{"id": "a", "vector": [1]}\n{"id": "b", "terms": {"x": 2}}\n'),
        "line 2: b: its vector has a weight for each term, and those before it have 1",
    ),
    "infinite": (text("v.jsonl", b'{"id": "a", "vector": [1e99]}\n'), "line 1: a: a value of"),
    "true": (text("v.jsonl", b'{"id": "a", "vector": [true]}\n'), "vector is no list of numbers"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_file_and_remedy(fault, tmp_path):
    write, message = FAULTS[fault]
    with pytest.raises(ResiduumError) as error:
        for file in vectorfiles.opened(*write(tmp_path)):
            file.take(range(len(file.ids)))
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)

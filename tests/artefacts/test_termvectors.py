"""Sparse vectors as files: they come back equal, equal ones are equal bytes, damage is told."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from residuum.artefacts import termvectors
from residuum.cli.errors import ResiduumError

IDS, TERMS = ["007", "NA", "d3"], ["bread", "flour", "é"]
ROWS = csr_array(np.array([[0.5, 0, 2], [0, 0, 0], [0, 1, 0]], np.float32))


def test_they_come_back_equal_and_twice_the_same_bytes(tmp_path: Path) -> None:
    termvectors.write(tmp_path / "a", IDS, TERMS, ROWS)
    reordered = csr_array((ROWS.data[[1, 0, 2]], ROWS.indices[[1, 0, 2]], ROWS.indptr), (3, 3))
    termvectors.write(tmp_path / "b", IDS, TERMS, reordered)
    for name in termvectors.NAMES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    result = termvectors.read(tmp_path / "b")
    assert (result.ids, result.terms) == (IDS, TERMS)
    assert result.rows.toarray().tolist() == ROWS.toarray().tolist()
    assert result.rows.dtype == np.float32


@pytest.mark.parametrize(
    ("ids", "terms", "rows", "message"),
    [
        (IDS[:2], TERMS, ROWS, "2 ids, 3 terms, but weights"),
        (IDS, TERMS, ROWS.astype(np.float64), "float64"),
        (IDS, TERMS[::-1], ROWS, "terms have to rise"),
        (IDS, ["a", "a", "b"], ROWS, "each once"),
        (["d1", "d\n2", "d3"], TERMS, ROWS, "more than one line"),
        (IDS, TERMS, ROWS * np.float32("nan"), r"vector of 007 is not finite \(2 such"),
    ],
)
def test_what_is_no_set_of_vectors_is_not_written(
    tmp_path: Path, ids: list[str], terms: list[str], rows: csr_array, message: str
) -> None:
    with pytest.raises(ResiduumError, match=message):
        termvectors.write(tmp_path / "out", ids, terms, rows)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("size", [0, 30, 300])
def test_a_truncated_file_is_told(tmp_path: Path, size: int) -> None:
    termvectors.write(tmp_path, IDS, TERMS, ROWS)
    path = tmp_path / "vectors.npz"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ResiduumError, match=r"vectors\.npz: truncated or damaged"):
        termvectors.read(tmp_path)


def test_files_that_do_not_fit_together_are_told(tmp_path: Path) -> None:
    termvectors.write(tmp_path, IDS, TERMS, ROWS)
    (tmp_path / "terms.txt").write_text("bread\n")
    with pytest.raises(ResiduumError, match="3 ids, 1 terms, but weights"):
        termvectors.read(tmp_path)

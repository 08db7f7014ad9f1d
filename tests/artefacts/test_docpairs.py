"""Training triples on disk: in their order, as many as are asked for, or an error that says why."""

import gzip

import pytest

from residuum.artefacts import docpairs
from residuum.cli.errors import ResiduumError

ROWS = [("007", "d1", "NA"), ("q2", "d'\"1", "d3"), ("007", "d1", "d4")]


def test_triples_come_back_in_their_order(tmp_path):
    path = tmp_path / "t.tsv.gz"
    assert docpairs.write(path, iter(ROWS)) == 3
    assert docpairs.read(path).rows() == ROWS
    assert docpairs.read(path, first=2).rows() == ROWS[:2]
    assert gzip.decompress(path.read_bytes()).decode().splitlines()[0] == "007\td1\tNA"


def test_none_at_all_is_an_empty_frame(tmp_path):
    assert docpairs.write(tmp_path / "t.tsv.gz", []) == 0
    assert docpairs.read(tmp_path / "t.tsv.gz").columns == ["query_id", "positive", "negative"]


@pytest.mark.parametrize("row", [("q", "", "d"), ("q", "d 1", "d"), ("q\t", "d", "e")])
def test_an_id_that_a_run_cannot_hold_is_refused(tmp_path, row):
    with pytest.raises(ResiduumError, match="an id is empty or holds white space"):
        docpairs.write(tmp_path / "t.tsv.gz", [row])


def test_fewer_than_are_asked_for_and_damaged_files_are_errors(tmp_path):
    path = tmp_path / "t.tsv.gz"
    docpairs.write(path, ROWS)
    with pytest.raises(ResiduumError, match="3 triples, but the model takes the first 4; lower"):
        docpairs.read(path, first=4)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ResiduumError, match=r"t\.tsv\.gz"):
        docpairs.read(path)
    with pytest.raises(ResiduumError, match="no such file"):
        docpairs.read(tmp_path / "absent.tsv.gz")

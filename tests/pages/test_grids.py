"""Rows of a dataclass as a TSV: what is written is read back, and what is faulty is one error."""

from dataclasses import dataclass

import pytest

from residuum.cli.errors import ResiduumError
from residuum.pages import grids


@dataclass(frozen=True)
class Toy:
    name: str
    note: str | None
    count: int
    value: float | None
    good: bool
    late: str | None = None


ROWS = [
    Toy("007", None, 1, 0.1 + 0.2, True),
    Toy("NA", "", 2, None, False, "a\ttab"),
    Toy('"quoted" true', "1e5", 3, 1e-300, True, "x"),
]


def write(path, rows=ROWS):
    path.write_text(grids.frame(rows, Toy).write_csv(separator="\t"), encoding="utf-8")
    return path


def test_rows_are_read_back_as_they_were(tmp_path):
    assert grids.rows(write(tmp_path / "t.tsv"), Toy) == ROWS
    assert grids.rows(write(tmp_path / "empty.tsv", []), Toy) == []


def test_only_an_optional_column_may_be_absent_and_others_are_not_read(tmp_path):
    table = grids.frame(ROWS[:1], Toy).drop("late").with_columns(more=1)
    (tmp_path / "t.tsv").write_text(table.write_csv(separator="\t"))
    assert grids.rows(tmp_path / "t.tsv", Toy, optional=["late"]) == ROWS[:1]
    with pytest.raises(ResiduumError, match=r"t\.tsv: it lacks the column late; make it again"):
        grids.rows(tmp_path / "t.tsv", Toy)


def test_a_text_where_a_number_belongs_is_one_error(tmp_path):
    path = write(tmp_path / "t.tsv")
    path.write_text(path.read_text().replace("\t2\t", "\ttwo\t"))
    with pytest.raises(ResiduumError, match=r"t\.tsv: cannot be read as a TSV \(.*two"):
        grids.rows(path, Toy)

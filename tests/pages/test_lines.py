"""A table's numbers as lines: which are drawn, in which order, beside the drawing as they are."""

import json

import polars as pl
import pytest

from residuum.cli.errors import ResiduumError
from residuum.pages import grids
from residuum.pages.grids import GridCell
from residuum.pages.layout import DASH
from residuum.pages.lines import make as lines

PANELS = [
    {"id": "left", "header": "Left", "points": [("near-9", "9"), ("near-80", "80")]},
    {"id": "right", "header": "Right", "points": [("far-9", "9"), ("far-80", "80")]},
]
NUMBERS = {
    ("second", "near-9"): [0.5, 0.7],
    ("second", "near-80"): [0.1, 0.2],
    ("second", "far-80"): [0.25],
    ("first", "near-80"): [0.75],
}


def spec(labels=(("second", "Second"), ("first", "First"), ("third", "Third"))) -> str:
    panels = [
        {**panel, "points": [{"column": column, "at": at} for column, at in panel["points"]]}
        for panel in PANELS
    ]
    page = {"kind": "lines", "title": "T", "printed_in": "X", "table": "table1", "axis": "Length"}
    page["notes"] = ["A choice."]
    bound = {"entry": {**page, "measure": "MRR@10", "panels": panels}, "labels": labels}
    return json.dumps({"id": "x-figure1", "scale": "toy", "reason": "a toy.", **bound})


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path)


def write_table(folder):
    cells = []
    for row in ("first", "second", "third"):
        for column in ("near-9", "near-80", "far-9", "far-80", "other"):
            cell = GridCell("x-table1", row, column, "RR@10", f"d-{column}/test", reported=0.3)
            values = NUMBERS.get((row, column))
            cells.append(cell.measured_as(values, 7) if values else cell)
    path = folder / "x-table1.tsv"
    path.write_text(grids.tidied(cells).write_csv(separator="\t"))
    return path


def test_each_number_of_the_table_is_a_point_in_its_place(tmp_path, table):
    lines.draw(spec(), table, tmp_path / "out" / "x-figure1.tsv")
    drawn = pl.read_csv(tmp_path / "out" / "x-figure1.tsv", separator="\t")
    points = {
        (panel, row, str(at)): (mean, low, high, seeds)
        for panel, row, at, mean, low, high, seeds in drawn.select(
            "panel", "row", "at", "mean", "lowest", "highest", "seeds"
        ).iter_rows()
    }
    assert points == {
        ("left", "second", "9"): (pytest.approx(0.6), 0.5, 0.7, 2),
        ("left", "second", "80"): (pytest.approx(0.15), 0.1, 0.2, 2),
        ("left", "first", "80"): (0.75, 0.75, 0.75, 1),
        ("right", "second", "80"): (0.25, 0.25, 0.25, 1),
    }
    assert drawn["split_ref"].to_list()[0] == "d-near-9/test" and {*drawn["reported"]} == {0.3}


def test_the_caption_has_the_order_of_the_page_and_a_dash_where_there_is_no_number(tmp_path, table):
    lines.draw(spec(), table, tmp_path / "x-figure1.tsv")
    text = (tmp_path / "x-figure1.md").read_text()
    assert "\n- A choice.\n" in text, "a note of the entry"
    rows = [
        [part.strip() for part in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    assert rows == [
        ["", "Left, 9", "Left, 80", "Right, 9", "Right, 80"],
        ["Second", "0.600", "0.150", DASH, "0.250"],
        ["First", DASH, "0.750", DASH, DASH],
    ]
    assert "numbers are those of x-table1" in text and "Scale toy: a toy." in text


def test_equal_numbers_are_equal_bytes_and_no_number_is_no_fault(tmp_path, table):
    made = []
    for name in ("a", "b"):
        lines.draw(spec(), table, tmp_path / name / "x-figure1.tsv")
        folder = tmp_path / name
        made.append([(folder / f"x-figure1.{e}").read_bytes() for e in ("tsv", "pdf", "png")])
    assert made[0] == made[1]
    lines.draw(spec(labels=[("third", "Third")]), table, tmp_path / "c" / "x-figure1.tsv")
    assert (tmp_path / "c" / "x-figure1.tsv").read_text().count("\n") == 1, "a header alone"


def test_a_table_that_lacks_a_column_is_another_one(tmp_path, table):
    table.write_text(table.read_text().replace("far-9", "far-8"))
    with pytest.raises(ResiduumError, match=r"no column 'far-9'; known: .*make it again"):
        lines.draw(spec(), table, tmp_path / "x-figure1.tsv")
    assert not (tmp_path / "x-figure1.tsv").exists()

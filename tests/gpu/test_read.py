"""The tables of a measurement, of made records, with shares and ratios computed by hand."""

import json
from pathlib import Path

import pytest

from gpu.read import HEADS, cells, figure, of_sheet, records_of, tables

CARD = "NVIDIA H100 80GB HBM3, driver 1, CUDA 13"
MADE = [
    {"step": 0, "name": "card", "value": CARD, "unit": ""},
    {"step": 0, "name": "product", "value": 791.2, "unit": "TFLOP/s", "ceiling": "bf16"},
    {"step": 2, "name": "theirs", "value": 5000, "unit": "texts/s"},
    # 16,000 texts of 20 GFLOP a second are 320 TFLOP/s: 320 / 791.2 and 320 / 989.
    {
        **{"step": 2, "name": "ours", "value": 16_000.4, "unit": "texts/s"},
        **{"flop": 2e10, "precision": "bf16", "beside": "theirs"},
    },
    {"step": 2, "name": "alone", "value": 12.345, "unit": "s", "beside": "nobody"},
    {"step": 3, "name": "step", "failed": "OutOfMemoryError: a | b"},
    {"step": 1, "name": "tests", "skipped": "2 of 2: no card"},
    {"step": 12, "name": "new", "value": 1, "unit": "s"},
]


def write(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def rows(lines: list[str]) -> dict[str, list[str]]:
    """Return the cells of each row by its first one."""
    split = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return {own[0]: own for own in split}


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    return [*tables(records_of([write(tmp_path / "made.jsonl", MADE)]))]


def test_shares_and_ratios_are_those_of_the_hand(lines: list[str]) -> None:
    own = rows(lines)
    assert own["ours"] == ["ours", "16,000", "texts/s", "40.4%", "32.4%", "3.20 (theirs)"]
    assert own["product"] == ["product", "791", "TFLOP/s", "", "80.0%", ""]
    assert own["theirs"] == ["theirs", "5,000", "texts/s", "", "", ""]
    assert own["alone"] == ["alone", "12.3", "s", "", "", ""]
    assert lines[0] == f"Measured on: {CARD}."


def test_what_failed_was_skipped_or_never_ran_has_its_row(lines: list[str]) -> None:
    own = rows(lines)
    assert own["step"][1] == "not run", "the last row of that name"
    assert own["tests"][1] == "skipped: 2 of 2: no card"
    assert "| step | failed: OutOfMemoryError: a / b |  |  |  |  |" in lines
    titles = [line for line in lines if line.startswith("**")]
    assert [title.split(".")[0].strip("*") for title in titles] == [*map(str, range(9)), "12"]
    missing = [line for line in lines if "not run" in line]
    assert len(missing) == 5, "steps 4 to 8"
    assert titles[-1] == "**12. no step of these**"
    assert all(line.count("|") == len(HEADS) + 1 for line in lines if line.startswith("|"))


def test_a_step_is_of_the_last_file_that_has_it(tmp_path: Path) -> None:
    first = write(tmp_path / "first.jsonl", MADE)
    again = write(tmp_path / "again.jsonl", [{"step": 3, "name": "rate", "value": 7, "unit": "s"}])
    found = records_of([first, again])
    assert [record["name"] for record in found[3]] == ["rate"]
    assert len(found[2]) == 3


def test_a_line_that_was_cut_off_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "made.jsonl", MADE[:3])
    path.write_text(path.read_text() + '{"step": 2, "na')
    text = "\n".join(tables(records_of([path])))
    assert "failed: made.jsonl line 4 is no record" in text
    assert "| theirs | 5,000 |" in text


def test_a_card_that_no_table_knows_has_no_share_of_its_data_sheet() -> None:
    assert of_sheet("NVIDIA H100 PCIe, driver 1")["bf16"] == 756
    assert of_sheet("NVIDIA H100 80GB HBM3")["bf16"] == 989
    assert not of_sheet("NVIDIA Unheard 9000")
    record = {"name": "a", "value": 2.0, "unit": "1/s", "flop": 1e13, "precision": "bf16"}
    assert cells(record, {}, {"bf16": 40.0}, {})[3:5] == ("50.0%", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567.8, "1,234,568"),
        (99.96, "100"),
        (0.01234, "0.0123"),
        (3.0, "3"),
        (2.5e-7, "2.5e-07"),
    ],
)
def test_figures_have_three_digits(value: float, text: str) -> None:
    assert figure(value) == text

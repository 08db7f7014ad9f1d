"""A number that two papers print of the same runs is one number; of other runs, two."""

import re

import pytest

from comparison_fixture import comparison
from residuum import ledger
from residuum.pages import verdicts
from residuum.pages.characteristics.job import BoundCharacteristics
from residuum.pages.grids import GridCell, blank
from residuum.pages.table.job import BoundTable
from residuum.pages.verdicts import Before
from results_fixture import COUNTED
from tables_fixture import TABLE, job

OWN = {"id": "theirs-table2", "printed_in": "Theirs, Table 2"}
TESTED = [
    comparison(a="ours", b="base", difference=0.1, p=0.01, p_adjusted=0.01, significant=True),
    comparison(a="ablation", b="ours", difference=-0.1, p=0.01, p_adjusted=0.01, significant=True),
]


def later(**changes) -> BoundTable:
    """Return the table as another paper prints it, with some of its rows' runs or cells changed."""
    reported = changes.pop("reported", TABLE["reported"])
    made = job(printed_in=OWN["printed_in"], reported=reported)
    return made.model_copy(update={"id": OWN["id"], **changes})


def judged(*jobs: BoundTable) -> list[verdicts.LedgerRow]:
    before, rows = Before(), []
    for made in jobs:
        cells = [
            blank(made, row.id, column.id, column.measure, made.not_run(row, column))
            for row in made.entry.rows
            for column in made.entry.columns
        ]
        cells = [cell if cell.not_run else cell.measured_as([0.3], 40) for cell in cells]
        rows += verdicts.judge(made, cells, TESTED, before)
    return rows


def again(rows) -> dict[tuple[str, str], str | None]:
    return {(r.row, r.claim): r.same_as for r in rows if r.table == OWN["id"]}


def test_the_same_runs_and_values_on_a_later_page_name_the_cell_that_printed_them_first():
    rows = judged(job(), later())
    assert {r.same_as for r in rows if r.table == "toy-table1"} == {None}
    assert again(rows) == {
        ("base", "RR@10 = 0.3"): "toy/table1/base/rr",
        ("base", "P@5 = 0.1"): None,  # no split plays the role: nothing is measured
        ("ours", "RR@10 = 0.4"): "toy/table1/ours/rr",
        ("ours", "ours significantly above base"): "toy/table1/ours/rr",
        ("ours", "ours significantly above later"): None,  # a row that no system makes
        ("ablation", "RR@10 = 0.35"): "toy/table1/ablation/rr",
        ("ablation", "ablation significantly below ours"): "toy/table1/ablation/rr",
        ("later", "RR@10 = 0.2"): None,
    }


def test_a_model_of_its_own_is_a_number_of_its_own_and_so_are_its_comparisons():
    runs = {**job().runs, "ours": ["theirs.seed1", "theirs.seed2"]}
    result = again(judged(job(), later(runs=runs)))
    shared = {claim for claim, same in result.items() if same}
    assert shared == {("base", "RR@10 = 0.3"), ("ablation", "RR@10 = 0.35")}


@pytest.mark.parametrize(
    "changes",
    [
        {"splits": {"rr": "data/other", "far": None}},
        {"reported": {"base": {"rr": "0.301"}}},
    ],
)
def test_another_split_or_another_printed_value_is_another_number(changes):
    assert set(again(judged(job(), later(**changes))).values()) == {None}


def test_another_way_to_test_is_another_comparison_of_the_same_number():
    result = again(judged(job(), later(tests=job(tests={"alpha": 0.01}).tests)))
    assert result["ours", "RR@10 = 0.4"] and not result["ours", "ours significantly above base"]


def test_the_counts_and_the_summary_take_each_once():
    rows = judged(job(), later())
    lines = {
        tuple(line[:2]): line[2:]
        for line in ([c.strip() for c in text.strip("|").split(" | ")]
                     for text in ledger.counts(rows).splitlines()[2:])
    }  # fmt: skip
    # Of eight rows: five numbers, three comparisons; three and two of them are printed again.
    first, second = lines["toy", "numbers"], lines["theirs", "numbers"]
    assert (sum(map(int, first[5:11])), first[-1]) == (5, "0")
    assert (sum(map(int, second[5:11])), second[-1]) == (2, "3")
    assert lines["toy", "comparisons"][-1] == "0" and lines["theirs", "comparisons"][-1] == "2"
    assert lines["theirs", "comparisons, Holm"][-1] == "2"
    page = ledger.page(rows, "toy", "a toy.")
    own = page.split("## theirs")[1].partition("\n## ")[0]
    text = "Printed before from the same runs, and counted there (toy/table1): Theirs, Table 2"
    # All are measured at 0.3: 0.4 and 0.35 differ, and both comparisons hold.
    assert f"{text} (base, ours, ablation; 3 numbers, 2 comparisons); 2 of them" in own
    assert "Nothing else contradicts the paper." in own
    assert re.search(r"\| ours +\| rr .*\| toy/table1/ours/rr +\|", page)


def test_characteristics_of_the_same_split_are_one_number():
    cell = GridCell("a-table1", "queries", "dev", "queries", "data/dev", reported=12.0)
    other = GridCell("b-table2", "queries", "dev", "queries", "data/dev", reported=12.0)
    before, made = Before(), BoundCharacteristics.model_validate({**COUNTED, "id": "a-table1"})
    assert before.number(made, cell) is None
    assert before.number(made, other) == "a/table1/queries/dev"

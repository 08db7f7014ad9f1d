"""Pairs that a paper does not mark: which there are, which can speak, and their verdicts."""

from pathlib import Path

import pytest

from comparison_fixture import comparison
from conftest import ROOT
from residuum import ledger
from residuum.config.entries import parse
from residuum.config.schema.tests import Tests
from residuum.pages.grids import GridCell
from residuum.pages.table import blanks
from residuum.pages.table.entry import Table
from residuum.pages.table.job import BoundTable
from residuum.pages.verdicts import Before, Tested
from tables_fixture import job


def of_paper(name):
    table = parse(Path(ROOT / "config" / "papers" / f"{name}.yaml"), Table)
    tests = parse(Path(ROOT / "config" / "tests" / f"{table.tests}.yaml"), Tests)
    places = dict.fromkeys((column.id for column in table.columns), "data/dev")
    return BoundTable(
        id=name.replace("/", "-"), entry=table, tests=tests, splits=places,
        runs={}, systems={}, scale="toy", comparable=False, reason="a toy.",
    )  # fmt: skip


# Counted in the papers by hand: pairs in favour of a row that no superscript or arrow marks.
@pytest.mark.parametrize(
    ("name", "count", "mute"),
    [
        ("clear/table1", 12, 5), ("clear/table2", 5, 0),
        ("dualrm/table2", 12, 5), ("dualrm/table4", 5, 0), ("dualrm/table5", 1, 0),
        ("roc/table3", 12, 1),
    ],
)  # fmt: skip
def test_every_blank_of_the_papers_is_known(name, count, mute):
    made = of_paper(name)
    marked = {column for _, column, cell in made.entry.cells() if cell.beats or cell.below}
    columns = [column.id for column in made.entry.columns if column.id in marked]
    all_blanks = [b for column in columns for b in blanks.blanks(made, column)]
    assert len(all_blanks) == count
    assert sum(b.rival is not None for b in all_blanks) == mute


def test_a_blank_beside_a_marker_of_a_nearer_number_says_nothing():
    made = of_paper("clear/table1")
    mute = {(b.better, b.worse, b.rival) for b in blanks.blanks(made, "dl-ap")}
    # 0.377 is marked over BERT-Siamese's 0.307, and 0.422 and 0.481 are not.
    assert mute == {("deepct", "bert-siamese", "bm25"), ("deepct-rm3", "bert-siamese", "bm25")}
    arrowless = [b for b in blanks.blanks(made, "dl-recall") if b.worse == "clear-constant"]
    assert [(b.better, b.rival) for b in arrowless] == [("clear", None)]


@pytest.mark.parametrize(
    ("tested", "verdict"),
    [
        ({"significant": False}, "agrees"),
        ({"significant": True, "difference": 0.1}, "significant here"),
        ({"significant": True, "difference": -0.1, "direction": -1}, "significant here"),
        (
            {"significant": True, "p_over_seeds": 0.3, "holds_over_seeds": False},
            "these models only",
        ),
    ],
)
def test_verdicts_on_a_blank(tested, verdict):
    assert blanks.blank_verdict(Tested(1, comparison(**tested)))[0] == verdict


def test_rows_of_a_table_and_their_counts_stand_apart():
    reported = {"base": {"rr": "0.3"}, "ours": {"rr": "0.4"}, "later": {"rr": "0.35 ^1"}}
    made = job(reported=reported)
    cells = [
        GridCell("toy-table1", row, "rr", "RR@10", "data/dev", reported=value, not_run=why)
        for row, value, why in [("base", 0.3, None), ("ours", 0.4, None), ("later", 0.35, "later")]
    ]
    cells = [c if c.not_run else c.measured_as([0.4], 40) for c in cells]
    tests = [comparison(a="base", b="ours", difference=-0.1, direction=-1, significant=True)]
    rows = blanks.unmarked(made, cells, tests, Before())
    shown = [(r.kind, r.claim, r.verdict, r.reported, r.measured) for r in rows]
    assert shown == [
        ("no marker", "ours above base, unmarked", "no test", 0.1, 0.1),
        ("no marker", "ours above later, unmarked", "not run", 0.05, None),
    ]
    effects = [(r.effect_ratio, r.delta_ri) for r in rows]
    # Reported 0.4 over 0.3, and both cells measured 0.4: nothing of the effect.
    assert effects[1] == (None, None) and effects[0] == pytest.approx((0.0, 1 / 3))
    apart = ledger.counts(rows).splitlines()
    assert apart[0].split("|")[3].strip() == "agrees" and "no markers" in apart[2]
    unmarked = job(reported={"base": {"rr": "0.3"}, "ours": {"rr": "0.4"}})
    assert blanks.unmarked(unmarked, cells, tests, Before()) == [], (
        "a table without markers says nothing"
    )


def test_only_pairs_that_the_paper_tests_can_be_blank():
    reported = {"base": {"rr": "0.3"}, "ours": {"rr": "0.4 ^1"}, "later": {"rr": "0.5"}}
    some = {"compare": "with_baselines"}
    made = job(reported=reported, tests=some, baselines=["base"])
    pairs = [(b.better, b.worse) for b in blanks.blanks(made, "rr")]
    assert pairs == [("later", "base")], "later is not tested against ours"

"""Verdicts: every printed number and comparison gets the one that its definition says."""

import json
import re

import numpy as np
import polars as pl
import pytest
from scipy import stats

from bounds_fixture import bounds_of
from comparison_fixture import comparison
from residuum import ledger, significance
from residuum.artefacts import manifest
from residuum.pages import verdicts
from residuum.pages.grids import GridCell
from residuum.pages.table import make as tables
from residuum.pages.verdicts import Before
from tables_fixture import job, spec, write_metrics


def rows(tmp_path, made):
    metrics = write_metrics(tmp_path / "metrics")
    tests = tmp_path / f"{made.id}.tsv"
    significance.compare(spec(made), metrics, tests, bounds_of(metrics))
    tables.render(spec(made), metrics, tests, tmp_path / "t.tsv", [])
    ledger.write([spec(made)], [tmp_path / "t.tsv"], tmp_path / "l.tsv", [tests])
    frame = pl.read_csv(tmp_path / "l.tsv", separator="\t")
    return {(r["row"], r["column"], r["claim"]): r for r in frame.iter_rows(named=True)}


def test_one_row_per_printed_number_and_marker(tmp_path):
    result = rows(tmp_path, job())
    assert {key: (r["kind"], r["verdict"]) for key, r in result.items()} == {
        ("base", "rr", "RR@10 = 0.3"): ("number", "reproduced"),
        ("base", "far", "P@5 = 0.1"): ("number", "not run"),
        ("ours", "rr", "RR@10 = 0.4"): ("number", "close"),
        # Two seeds, 0.2 and 0.1 above: t 3 with one degree of freedom, p 0.2.
        ("ours", "rr", "ours significantly above base"): ("comparison", "these models only"),
        ("ours", "rr", "ours significantly above later"): ("comparison", "not run"),
        ("ablation", "rr", "RR@10 = 0.35"): ("number", "differs"),
        # They differ on two queries, too few for a test.
        ("ablation", "rr", "ablation significantly below ours"): ("comparison", "not judged"),
        ("later", "rr", "RR@10 = 0.2"): ("number", "not run"),
        ("base", "rr", "base above later, unmarked"): ("no marker", "not run"),
    }
    close = result["ours", "rr", "RR@10 = 0.4"]
    assert close["delta"] == pytest.approx(0.05)
    assert close["reason"] == "inside the range of 2 seeds"
    missing = result["ours", "rr", "ours significantly above later"]
    assert (missing["measured"], missing["reason"]) == (None, "later: not built yet")
    gap = result["ours", "rr", "ours significantly above base"]
    assert (gap["reported"], gap["measured"]) == (pytest.approx(0.1), pytest.approx(0.15))
    # Reported 0.4 and 0.3, measured 0.45 and 0.3: relative improvements of a third and a half.
    assert gap["effect_ratio"] == pytest.approx(1.5)
    assert gap["delta_ri"] == pytest.approx(1 / 3 - 1 / 2)
    assert (missing["effect_ratio"], close["effect_ratio"], close["delta_ri"]) == (None,) * 3
    page = (tmp_path / "l.md").read_text().split("## Every number")[1]
    line = next(line for line in page.splitlines() if "above base" in line)
    assert "| 1.5 " in line and "| -0.167 " in line


@pytest.mark.parametrize("part", ["ours", "rr"])
def test_a_row_or_a_column_alone_may_not_compare(tmp_path, part):
    made = job().model_copy(update={"but": {part: "another reranker"}})
    result = rows(tmp_path, made)
    number = result["ours", "rr", "RR@10 = 0.4"]
    assert (number["verdict"], number["reason"]) == ("not comparable", "another reranker")
    other = result["ablation", "rr", "RR@10 = 0.35"]["verdict"]
    assert other == ("differs" if part == "ours" else "not comparable")
    above = result["ours", "rr", "ours significantly above base"]
    assert above["verdict"] == "these models only", "a comparison is judged all the same"


def test_pages_that_have_other_reasons_say_them_beside_their_rows(tmp_path):
    metrics = write_metrics(tmp_path / "metrics")
    made = [job(comparable=False), job(comparable=False)]
    made[1] = made[1].model_copy(update={"id": "toy-table2", "reason": "another encoder."})
    for one in made:
        tests = tmp_path / f"{one.id}.tsv"
        significance.compare(spec(one), metrics, tests, bounds_of(metrics))
        shown = tmp_path / f"shown-{one.id}.tsv"
        tables.render(spec(one), metrics, tests, shown, [])
    shown, tests = ([tmp_path / f"{n}{one.id}.tsv" for one in made] for n in ("shown-", ""))
    ledger.write(list(map(spec, made)), shown, tmp_path / "l.tsv", tests)
    page = (tmp_path / "l.md").read_text()
    assert "Scale toy: each page says why its numbers compare with the paper's" in page
    assert "| a toy." in page and "| another encoder." in page


def test_at_another_scale_numbers_are_not_comparable_but_comparisons_are_judged(tmp_path):
    result = rows(tmp_path, job(comparable=False))
    number = result["base", "rr", "RR@10 = 0.3"]
    assert (number["verdict"], number["reason"]) == ("not comparable", "a toy.")
    claim = result["ours", "rr", "ours significantly above base"]
    assert (claim["verdict"], claim["under_holm"]) == ("these models only",) * 2
    assert claim["p_over_seeds"] == pytest.approx(2 * stats.t.sf(3, 1))
    page = (tmp_path / "l.md").read_text()
    shown = page.split("these models only (1).")[1].partition("\n\n##")[0]
    assert re.search(r"ours significantly above base \| \+0\.1 .*\| 0\.2048 .*\| 2/2", shown)


def test_a_significant_difference_the_other_way_is_reversed(tmp_path):
    reported = {"base": {"rr": "0.5 ^2"}, "ours": {"rr": "0.4"}}
    made = job(reported=reported)
    made = made.model_copy(update={"runs": {**made.runs, "ours": ["ours.seed1"]}})
    result = rows(tmp_path, made)
    assert result["base", "rr", "base significantly above ours"]["verdict"] == "reversed"
    page = (tmp_path / "l.md").read_text()
    claim = "base significantly above ours | reversed | +0.1     | -0.2     | 0.0001"
    assert f"| Toy, Table 1 | rr     | {claim} |" in page


def test_a_table_that_reports_nothing_makes_an_empty_ledger(tmp_path):
    assert rows(tmp_path, job(reported={})) == {}


def test_many_rows_without_a_value_may_come_before_one_with_it(tmp_path):
    late = {"id": "late", "label": "Late", "system": "late"}
    empty = [{"id": f"r{i}", "label": "r", "not_run": "later"} for i in range(120)]
    reported = {f"r{i}": {"rr": "0.1"} for i in range(120)} | {"late": {"rr": "0.3"}}
    made = job(rows=[*empty, late], reported=reported)
    made = made.model_copy(update={"runs": {"late": ["base"]}, "systems": {}})
    assert rows(tmp_path, made)["late", "rr", "RR@10 = 0.3"]["verdict"] == "reproduced"


MODELS = {"p_over_seeds": 0.119, "holds_over_seeds": False, "seeds_agreeing": "1/3"}


@pytest.mark.parametrize(
    ("claim", "difference", "tested", "verdict"),
    [
        ("above", 0.1, {"significant": True}, "holds"),
        ("above", -0.1, {"significant": True}, "reversed"),
        ("above", -0.1, {"significant": False}, "inconclusive"),
        ("below", -0.1, {"significant": True}, "holds"),
        ("below", 0.1, {"significant": True}, "reversed"),
        ("above", 0.1, {"significant": True, "holds_over_seeds": True}, "holds"),
        ("above", 0.1, {"significant": True, **MODELS}, "these models only"),
        ("above", -0.1, {"significant": True, **MODELS}, "these models only"),
        ("above", 0.1, {"significant": False, **MODELS}, "inconclusive"),
        ("above", 0.1, {"significant": True, "direction": -1, "difference": 0.1}, "inconclusive"),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_comparison_verdicts(claim, difference, tested, verdict, sign):
    turned = sign * int(np.sign(difference))
    made = comparison(**{"difference": sign * difference, "direction": turned, **tested})
    if tested.get("direction"):
        made = comparison(**{**tested, "difference": sign * 0.1, "direction": -sign})
    assert verdicts.comparison_verdict(claim, verdicts.Tested(sign, made))[0] == verdict


def test_a_verdict_of_these_models_only_says_why():
    test = comparison(difference=0.1, p_adjusted=0.0166, significant=True, **MODELS)
    _, reason = verdicts.comparison_verdict("above", verdicts.Tested(1, test))
    shown = "p over seeds 0.119; 1/3 seeds agree alone"
    assert reason == f"p 0.0166, difference +0.1000; {shown}"


def test_comparisons_are_counted_under_holm_too(tmp_path):
    # Two claims, of a test with p 0.03 in a column of two: Holm doubles the smaller p.
    tests = [
        comparison(a="ours", b="base", p=0.03, p_adjusted=0.03, significant=True, difference=0.1),
        comparison(a="ablation", b="base", p=0.2, p_adjusted=0.2),
    ]
    cells = [
        GridCell("toy-table1", row, column, "RR@10", split_ref="data/dev").measured_as([0.4], 40)
        for row in ("base", "ours", "ablation", "later")
        for column in ("rr", "far")
    ]
    made = verdicts.judge(job(reported={"ours": {"rr": "0.4 ^1"}}), cells, tests, Before())
    (row,) = [row for row in made if row.kind == "comparison"]
    assert (row.verdict, row.under_holm) == ("holds", "inconclusive")
    assert re.search(r"comparisons +\| 1 ", ledger.counts(made))
    assert re.search(r"comparisons, Holm \| 0 +\| 0 +\| 1 ", ledger.counts(made))


def cell(measured, **changes):
    """Return a cell of one seed."""
    start = {"table": "toy-table1", "row": "ours", "column": "rr", "measure": "RR@10"}
    return GridCell(**start, split_ref="data/dev", **changes).measured_as([measured], 40)


@pytest.mark.parametrize("comparable", [True, False])
@pytest.mark.parametrize(
    ("measured", "other", "verdict", "reason"),
    [
        (0.30995, None, "reproduced", "the same index; |delta| is at most 0.01"),
        (0.31005, None, "differs", "the same index; |delta| is more than 0.01"),
        (0.3, "documents 8, stated 9", "not comparable", "documents 8, stated 9"),
    ],
)
def test_where_an_index_is_stated_it_decides_whatever_the_scale(
    comparable, measured, other, verdict, reason
):
    made = job(comparable=comparable, index={"documents": 9})
    judged = verdicts.number_verdict(made, 0.3, cell(measured, other_index=other), 0.01)
    assert judged == (verdict, reason)


def test_the_index_of_the_metrics_reaches_the_verdict(tmp_path):
    metrics = write_metrics(tmp_path / "metrics")
    for run, documents in (("base", 9), ("ours.seed1", 9), ("ours.seed2", 8)):
        path = manifest.beside(metrics / "data" / "dev" / f"{run}.tsv")
        path.write_text(json.dumps({"artefact": {"index": {"documents": documents}}}))
    manifest.beside(metrics / "data" / "dev" / "ablation.tsv").write_text('{"artefact": {}}')
    result = rows(tmp_path, job(comparable=False, index={"documents": 9}))
    verdicts = {r["row"]: (r["verdict"], r["reason"]) for r in result.values()
                if r["kind"] == "number" and r["column"] == "rr"}  # fmt: skip
    assert verdicts["base"] == ("reproduced", "the same index; |delta| is at most 0.01")
    assert verdicts["ours"] == ("not comparable", "another index: documents 8, stated 9")
    assert verdicts["ablation"][0] == "not comparable" and "no index" in verdicts["ablation"][1]
    assert verdicts["later"][0] == "not run"


@pytest.mark.parametrize("delta", [-0.0099, 0.0099])
def test_tolerance_is_two_sided(delta):
    assert verdicts.number_verdict(job(), 0.3, cell(0.3 + delta), 0.01)[0] == "reproduced"
    assert verdicts.number_verdict(job(), 0.3, cell(0.3 + delta * 1.2), 0.01)[0] == "differs"

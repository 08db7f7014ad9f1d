"""Averages over collections on a table: their values, markers, notes, faults and ledger rows."""

from types import SimpleNamespace

import polars as pl
import pytest

from bounds_fixture import bounds_of
from residuum import significance
from residuum.artefacts import trec
from residuum.config.schema.tests import Tests
from residuum.pages import grids, verdicts
from residuum.pages.bearing import Weighed
from residuum.pages.table import faults, notes
from residuum.pages.table import make as tables
from residuum.pages.table.entry import Table
from tables_fixture import TABLE, TESTS, job, spec

COLUMNS = [
    {"id": "small", "role": "dev", "measure": "RR@10", "header": "Small"},
    {"id": "large", "role": "covid", "measure": "RR@10", "header": "Large"},
]
MEANS = [{"id": "mean", "header": "Mean", "of": ["small", "large"]}]
PAGE = {"columns": COLUMNS, "means": MEANS, "rows": TABLE["rows"][:3],
        "reported": {"base": {"mean": "0.400"}, "ours": {"mean": "0.500 ^1"}}}  # fmt: skip
# Ours wins all 6 queries of the small collection by 0.5 and loses 40 of the large one by 0.1, so
# that it is below base over all queries and above it over collections.
SIZES = {"small": ("dev", 6), "large": ("covid", 40)}
VALUES = {
    "base": {"small": 0.1, "large": 0.7},
    "ours.seed1": {"small": 0.7, "large": 0.7},
    "ours.seed2": {"small": 0.5, "large": 0.5},
    "ablation": {"small": 0.1, "large": 0.7},
}


def bound(**changes):
    made = job(**{**PAGE, **changes})
    return made.model_copy(update={"splits": {"small": "data/dev", "large": "data/covid"}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("means")
    for run, by_column in VALUES.items():
        for column, (split, queries) in SIZES.items():
            rows = [(f"q{i:02d}", "RR@10", by_column[column]) for i in range(queries)]
            frame = pl.DataFrame(rows, schema=trec.METRICS, orient="row")
            trec.write_metrics(folder / "metrics" / "data" / split / f"{run}.tsv", frame)
    text, metrics = spec(bound()), folder / "metrics"
    significance.compare(text, metrics, folder / "s.tsv", bounds_of(metrics))
    tables.render(text, metrics, folder / "s.tsv", folder / "t.tsv", [])
    return folder


def test_an_average_is_of_the_columns_numbers_in_each_seed(folder):
    cells = grids.by_place(grids.read_cells(folder / "t.tsv"))
    ours = cells["ours", "mean"]
    assert ours.measured == pytest.approx((0.6 + 0.6) / 2)
    assert [float(v) for v in ours.per_seed.split()] == pytest.approx([0.7, 0.5])
    assert (ours.n, ours.seeds, ours.split_ref) == (46, 2, None)
    assert ours.measure == "mean of small, large"
    assert cells["base", "mean"].measured == pytest.approx(0.4), "0.62 if queries counted alike"


def test_rows_are_compared_over_collections_which_count_alike(folder):
    tests = {(t.column, t.a, t.b): t for t in grids.rows(folder / "s.tsv", Weighed)}
    test = tests["mean", "base", "ours"]
    assert test.difference == pytest.approx(0.4 - 0.6)
    assert (test.n, test.wins, test.losses) == (46, 40, 6), "more queries are won by base"
    assert test.significant and test.beats == ("ours", "base")
    assert test.family == "toy-table1/mean", "corrected as a column of its own"
    cells = grids.by_place(grids.read_cells(folder / "t.tsv"))
    assert cells["ours", "mean"].beats == "1"


def test_the_page_shows_averages_behind_its_columns_and_says_how_they_are_tested(folder):
    page = (folder / "t.md").read_text()
    header = next(line for line in page.splitlines() if line.startswith("|"))
    assert [part.strip() for part in header.split("|")][-2] == "Mean"
    note = next(line for line in page.splitlines() if line.startswith("- Mean: "))
    for text in ("the mean of RR@10 over data/dev, data/covid", "46 queries", "flipped per query"):
        assert text in note
    assert "0.600" in page and tables.places(bound(), [])[0][-1] == "base/mean"


def test_a_note_says_whether_another_average_orders_rows_alike(folder):
    means = [*MEANS, {"id": "turned", "header": "Turned", "of": ["large", "small"],
                      "ranks_as": "mean"}]  # fmt: skip
    loaded = grids.load(bound(means=means), folder / "metrics", {}, {})
    [note] = notes.of_ranks(loaded)
    assert "Turned beside Mean, 3 rows: Kendall's tau-b of their orders is 1.00" in note
    assert "3 of 3 pairs have the same order" in note
    two = bound(means=means, rows=TABLE["rows"][:2])
    [note] = notes.of_ranks(grids.load(two, folder / "metrics", {}, {}))
    assert "too few" in note
    assert not list(notes.of_ranks(grids.load(bound(), folder / "metrics", {}, {})))


def test_printed_averages_have_verdicts(folder):
    cells, tests = grids.read_cells(folder / "t.tsv"), grids.rows(folder / "s.tsv", Weighed)
    rows = verdicts.judge(bound(), cells, tests, verdicts.Before())
    judged = {(row.row, row.column, row.kind): row.verdict for row in rows}
    assert judged["base", "mean", "number"] == "reproduced"
    assert judged["ours", "mean", "comparison"] in ("holds", "these models only")


def test_an_average_lacks_what_one_of_its_columns_lacks(folder):
    lacking = {"ours": {"large": "no such file"}}
    made = bound().model_copy(update={"absent": lacking})
    loaded = grids.load(made, folder / "metrics", {}, {})
    assert ("ours", "mean") not in loaded.scores and ("base", "mean") in loaded.scores
    [row] = [row for row in made.entry.rows if row.id == "ours"]
    assert made.not_run(row, made.entry.means[0]) == "large: no such file"
    assert ("mean", "base", "ours") not in list(made.compared())


@pytest.mark.parametrize(("columns", "of", "test", "text"), [
    ([{"measure": "nDCG@10"}], ["small", "large"], "permutation", "have no common mean"),
    ([{"role": "dev"}], ["small", "large"], "permutation", "the queries of dev would count twice"),
    ([{"change_from": "base"}], ["small", "large"], "permutation", "no value per query"),
    ([{}], ["small", "large"], "t-test", "tested by sign flips"),
])  # fmt: skip
def test_what_has_no_mean_is_a_fault(columns, of, test, text):
    changed = [COLUMNS[0], {**COLUMNS[1], **columns[0]}]
    means = [{**MEANS[0], "of": of}]
    table = Table.model_validate({**TABLE, **PAGE, "columns": changed, "means": means})
    tests = Tests.model_validate({**TESTS, "test": test})
    known = SimpleNamespace(tests={"toy": tests}, players=lambda table: {}, systems={})
    texts = [fault for _, fault in faults.column_faults(known, table)]
    assert any(text in fault for fault in texts), texts
    sound = Table.model_validate({**TABLE, **PAGE})
    known.tests = {"toy": Tests.model_validate(TESTS)}
    assert not [fault for key, fault in faults.column_faults(known, sound) if "mean" in key]

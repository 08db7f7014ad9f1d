"""Averages over collections on a table: their values, markers, notes, faults and ledger rows."""

import gzip
import json
import shutil
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import recompute
from bounds_fixture import bounds_of
from residuum import evaluate, ledger, significance
from residuum.artefacts import trec
from residuum.config.schema.tests import Tests
from residuum.pages import grids, verdicts
from residuum.pages.bearing import Weighed
from residuum.pages.jobs import Trained
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


# What tests/recompute.py computes of runs and judgements alone, by loops of its own.

RUNS = ("base", "ours.seed1", "ours.seed2", "ours.seed3", "ablation")


def make_results(root, sizes, seeds=3, **changes):
    """Write runs over two collections of `sizes` queries; make their table and the ledger."""
    random = np.random.default_rng(11)
    runs = {"base": ["base"], "ours": [f"ours.seed{n + 1}" for n in range(seeds)]}
    runs["ablation"] = ["ablation"]
    made = bound().model_copy(update={"runs": runs, **changes})
    for split, size in zip(made.splits.values(), sizes, strict=True):
        queries = [f"q{number:02d}" for number in range(size)]
        trec.write_queries(root / "data" / split / "queries.tsv", [(q, "words") for q in queries])
        qrels = root / "data" / split / "qrels.trec"
        trec.write_qrels(qrels, [(query, "d9", 1) for query in queries])
        for run in RUNS[: seeds + 1] + RUNS[-1:]:
            path, lines = root / "runs" / split / f"{run}.trec.gz", []
            for query, rank in zip(queries, random.integers(1, 4, size), strict=True):
                docs = ["d1", "d2", "d3"]
                docs[max(1, rank - run.startswith("ours")) - 1] = "d9"
                lines += [f"{query} Q0 {doc} {n} {9 - n} {run}\n" for n, doc in enumerate(docs, 1)]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress("".join(lines).encode()))
            evaluate.run(path, qrels, ["RR@10"], root / "metrics" / split / f"{run}.tsv")
    text, metrics, page = spec(made), root / "metrics", root / "tables" / "toy-table1.tsv"
    tests = root / "significance" / "toy-table1.tsv"
    significance.compare(text, metrics, tests, bounds_of(metrics))
    tables.render(text, metrics, tests, page, [])
    ledger.write([text], [page], root / "ledger.tsv", [tests], [])
    return root


def found(root):
    return [one for report in recompute.recompute(root) for one in report.differences]


@pytest.mark.parametrize(("sizes", "seeds"), [((12, 40), 3), ((6, 40), 2), ((30, 10), 1)])
def test_a_recomputation_from_runs_gives_the_averages_their_tests_and_verdicts(
    tmp_path, sizes, seeds
):
    root = make_results(tmp_path, sizes, seeds)
    table, rest = recompute.recompute(root)
    assert table.differences == rest.differences == []
    assert (table.cells, table.markers, table.tests) == (9, 9, 9), "3 rows by 2 columns and a mean"
    judged = [row for row in recompute.read_table(root / "ledger.tsv") if row["column"] == "mean"]
    assert [row["kind"] for row in judged] == ["number", "number", "comparison"]
    tests = recompute.read_table(root / "significance" / "toy-table1.tsv")
    [test] = [row for row in tests if (row["column"], row["b"]) == ("mean", "ours")]
    assert (test["ci_low"] == "") == (min(sizes) < 10)
    assert (test["seed_low"] == "") == (min(sizes) < 10 or seeds == 1)


def test_a_recomputation_compares_an_average_whose_columns_all_compare(tmp_path):
    root = make_results(tmp_path, (12, 40), but={"large": "another edition"})
    assert found(root) == []
    rows = recompute.read_table(root / "ledger.tsv")
    [verdict] = {row["verdict"] for row in rows if row["kind"] == "number"}
    assert verdict == "not comparable"


def test_an_average_counts_the_trainings_behind_its_columns(tmp_path):
    """Two trainings of ours, one of the ablation: what two averages show is of these models."""
    models = {
        "ours.seed1": ["ours/seed1"],
        "ours.seed2": ["ours/seed2"],
        "ablation": ["other/seed1"],
    }
    trained = {run: Trained(models=names) for run, names in models.items()}
    splits = bound().splits.values()
    root = make_results(tmp_path, (12, 40), 2, trained_runs=dict.fromkeys(splits, trained))
    tests = recompute.read_table(root / "significance" / "toy-table1.tsv")
    counted = {(row["a"], row["b"]): row["trainings"] for row in tests if row["column"] == "mean"}
    assert {frozenset(pair): number for pair, number in counted.items()} == {
        frozenset({"ours", "ablation"}): "1",
        frozenset({"ours", "base"}): "",
        frozenset({"base", "ablation"}): "",
    }
    assert found(root) == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("whole"), (12, 40))


@pytest.fixture
def results(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "results")


@pytest.mark.parametrize(("file", "column"), [
    ("tables", "measured"), ("tables", "per_seed"), ("tables", "std"), ("tables", "n"),
    ("significance", "difference"), ("significance", "ci_low"), ("significance", "effect"),
    ("significance", "p"), ("significance", "p_mixed_effects"), ("significance", "seed_high"),
    ("significance", "wins"), ("ledger", "measured"),
])  # fmt: skip
def test_a_recomputation_finds_a_changed_number_of_an_average(results, file, column):
    path = results / "ledger.tsv" if file == "ledger" else results / file / "toy-table1.tsv"
    rows = recompute.read_table(path)
    place = ("base", "ours") if file == "significance" else ("ours",)
    [changed] = [
        row for row in rows if row["column"] == "mean" and row.get("kind") != "comparison"
        and place == tuple(row[key] for key in ("a", "b", "row") if key in row)
    ]  # fmt: skip
    first, *others = changed[column].split()
    added = 0.3 if column == "p" else 1e-6  # a p by drawn flips is compared within their error
    changed[column] = " ".join([str(float(first) + added), *others])
    lines = ["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    where = "mean: base, ours" if file == "significance" else "ours/mean"
    assert any(where in one for one in found(results)), found(results)


def test_a_recomputation_leaves_an_average_empty_where_a_column_lacks_its_run(results):
    manifest = results / "tables" / "toy-table1.tsv.manifest.json"
    made = json.loads(manifest.read_text())
    made["spec"]["absent"] = {"ours": {"large": "no file"}}
    manifest.write_text(json.dumps(made))
    assert any("ours/mean: state: recomputed not run" in one for one in found(results))

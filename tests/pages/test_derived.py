"""Derived columns against plain Python over TREC files, and all that reads their cells."""

import gzip
import json
import re
import shutil

import numpy as np
import polars as pl
import pytest
from scipy import stats

from derived_fixture import QUERIES, TABLE, build, cells, job, make_pages, seeds
from residuum.cli.errors import ResiduumError
from residuum.inspect import bundling, explaining
from residuum.pages import derived, grids, layout
from residuum.pages.table.entry import Column
from residuum.paired import ScoreMatrix
from residuum.paired.coverage import Coverage, wilson
from residuum.tuning.learned import read_all
from tables_fixture import write_verdict

DENSE = {"sum": "dense-sum", "ours": "dense-ours"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return build(tmp_path_factory.mktemp("derived") / "results" / "toy")


def ranks(results, run) -> dict[str, int]:
    """Read a TREC run and the qrels: the rank of each query's relevant doc."""
    lines = (results / "data/data/nq/qrels.trec").read_text().splitlines()
    right = {(q, doc) for q, _, doc, level in map(str.split, lines) if int(level) > 0}
    with gzip.open(results / f"runs/data/nq/{run}.trec.gz", "rt") as file:
        rows = [line.split() for line in file]
    return {q: int(rank) for q, _, doc, rank, *_ in rows if (q, doc) in right}


def hits(results, run) -> set[str]:
    return {query for query, rank in ranks(results, run).items() if rank <= 10}


def by_hand(results, row) -> dict[str, float]:
    """Compute RoC, residual and overlap of a row by sets, in each seed and then averaged."""
    lexical, made = hits(results, "bm25"), []
    for run in seeds(DENSE[row]):
        dense = hits(results, run)
        alone, both = len(dense - lexical), len(dense & lexical)
        made.append((alone / len(dense), alone / len(QUERIES), both / len(QUERIES)))
    return dict(zip(("roc", "more", "less"), np.mean(made, axis=0), strict=True))


def venn(alone: int, both: int, other: int, neither: int) -> list[ScoreMatrix]:
    sides = ([1] * (alone + both) + [0] * (other + neither),
             [0] * alone + [1] * (both + other) + [0] * neither)  # fmt: skip
    ids = [f"q{i}" for i in range(alone + both + other + neither)]
    return [ScoreMatrix(ids, np.array([side], dtype=float).T) for side in sides]


def column(name: str, measure: str = "Success@10", **more: str) -> Column:
    given = {"id": "c", "role": "nq", "header": "H", "measure": measure, "derived": name}
    return Column.model_validate({**given, **more})


# Lee et al. 2023, Figure 1, in tenths of a per cent: (a) BM25+DPR, (b) CLEAR, (c) nothing shared.
@pytest.mark.parametrize(
    ("counts", "ratio"),
    [((152, 324, 59, 465), 0.319), ((200, 340, 42, 418), 0.370), ((476, 0, 383, 141), 1.0),
     ((0, 5, 3, 2), 0.0)],
)  # fmt: skip
def test_the_papers_diagrams_through_the_columns(counts, ratio):
    sides, queries = venn(*counts), sum(counts)
    roc = derived.value(column("RoC"), *sides)
    assert isinstance(roc, Coverage) and round(roc.by_seed[0], 3) == ratio
    assert roc.failures == counts[3]
    for name, count in (("residual", counts[0]), ("overlap", counts[1])):
        made = derived.value(column(name), *sides)
        assert isinstance(made, ScoreMatrix) and made.values.sum() == count
        assert made.values.shape == (queries, 1)


def test_queries_won_are_those_that_lie_above_beyond_rounding():
    own = ScoreMatrix(["a", "b", "c", "d"], np.array([[0.5, 1], [0.5, 0.2], [0, 0], [0.3, 0]]))
    other = ScoreMatrix(own.query_ids, np.array([[0.4], [0.5], [0], [0.3 - 1e-15]]))
    made = derived.value(column("better", "RR@10", than="bm25"), own, other)
    assert made.values.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]


def test_every_cell_is_that_of_ten_lines_over_the_trec_files(results):
    made = cells(results)
    for row in DENSE:
        own = by_hand(results, row)
        assert made[row, "roc"].measured == pytest.approx(own["roc"], abs=1e-12)
        assert made[row, "both"].measured == pytest.approx(own["less"], abs=1e-12)
        lexical = ranks(results, "bm25")
        won = [np.mean([ranks(results, run)[q] < min(lexical[q], 11) and ranks(results, run)[q] < 11
                        for q in QUERIES]) for run in seeds(row)]  # fmt: skip
        assert made[row, "won"].measured == pytest.approx(np.mean(won), abs=1e-12)
    ours, of = by_hand(results, "ours"), by_hand(results, "sum")
    for name in ("roc", "more", "less"):
        cell = made["ours", "gain" if name == "roc" else name]
        assert cell.measured == pytest.approx(ours[name] - of[name], abs=1e-12)
    hybrid = {q for q in QUERIES if q in hits(results, "ours.seed1")}
    wrong = len(hybrid - hits(results, "bm25")) / len(hybrid)
    assert abs(made["ours", "roc"].measured - wrong) > 0.1, "D is not the hybrid's own run"


def test_a_ratio_is_of_sums_in_each_seed_and_stands_with_its_interval(results):
    cell, lexical = cells(results)["ours", "roc"], hits(results, "bm25")
    found = [hits(results, run) for run in seeds("dense-ours")]
    each = [len(own - lexical) / len(own) for own in found]
    assert [float(x) for x in str(cell.per_seed).split()] == pytest.approx(each, abs=1e-12)
    low, high = wilson(np.mean(each), np.mean([len(own) for own in found]))
    assert (cell.ci_low, cell.ci_high) == (pytest.approx(low), pytest.approx(high))
    assert (cell.n, cell.seeds, cell.measure) == (60, 2, "RoC(Success@10)")
    page = (results / "tables/toy-table1.md").read_text()
    shown = rf"{cell.measured:.3f} ±\d\.\d+ \[{low:.3f}, {high:.3f}\]".replace("[0", r"[0")
    assert re.search(shown, page)


def test_a_change_has_a_sign_and_the_row_it_is_from_shows_itself(results):
    made, page = cells(results), (results / "tables/toy-table1.md").read_text()
    own, of = made["ours", "gain"], made["sum", "gain"]
    assert own.measured == pytest.approx(made["ours", "roc"].measured - of.measured, abs=1e-12)
    assert (of.measured, of.measure) == (made["sum", "roc"].measured, "RoC(Success@10)")
    assert own.measure == "change of RoC(Success@10)" and own.ci_low is None
    assert own.reported == 0.12 and made["ours", "rr"].reported == -0.01
    line = next(line for line in page.splitlines() if "2 Ours" in line)
    assert f"| {own.measured:+.3f} " in line
    assert "differences from sum, whose row shows its value" in page


def test_ticks_are_our_own_and_the_papers_become_comparisons(results):
    made, page = cells(results), (results / "tables/toy-table1.md").read_text()
    more, less = made["ours", "more"], made["ours", "less"]
    assert (more.tick, more.reported_tick, made["sum", "more"].tick) == (True, True, None)
    assert more.measured > 0.1 and less.tick is False, "the same overlap, within few queries"
    assert f"{more.measured:+.3f} ✓" in page and f"{less.measured:+.3f} ±" in page
    assert r"$\surd$" in (results / "tables/toy-table1.tex").read_text()
    rows = pl.read_csv(results / "ledger.tsv", separator="\t").filter(kind="comparison")
    judged = {row["column"]: row for row in rows.iter_rows(named=True)}
    assert judged.keys() == {"more", "less"}
    assert judged["more"]["claim"] == "ours significantly above sum"
    assert judged["less"]["claim"] == "ours significantly below sum"
    assert judged["more"]["verdict"] in ("holds", "these models only")
    assert judged["less"]["verdict"] == "inconclusive"
    assert judged["more"]["reported"] is None
    assert judged["more"]["measured"] == pytest.approx(more.measured, abs=1e-12)


def test_numbers_of_the_ledger_are_differences_where_the_paper_prints_differences(results):
    rows = pl.read_csv(results / "ledger.tsv", separator="\t").filter(kind="number")
    claims = dict(rows.select("claim", "measured").iter_rows())
    made = cells(results)
    assert claims == {
        "RoC(Success@10) = 0.32": made["sum", "roc"].measured,
        "RoC(Success@10) = 0.47": made["ours", "roc"].measured,
        "change of RoC(Success@10) = 0.12": made["ours", "gain"].measured,
        "change of RR@10 = -0.01": made["ours", "rr"].measured,
    }


def test_what_has_a_value_per_query_is_tested_as_any_and_the_ratio_is_not(results):
    tests = pl.read_csv(results / "significance/toy-table1.tsv", separator="\t")
    assert set(tests["column"]) == {"more", "less", "both", "rr", "won"}
    assert all("sum" in pair for pair in tests.select("a", "b").iter_rows()), "with the baseline"
    lexical = hits(results, "bm25")
    alone = {
        row: [
            np.mean([q in hits(results, run) - lexical for run in seeds(f"dense-{row}")])
            for q in QUERIES
        ]
        for row in ("sum", "ours", "none")
    }
    own = tests.filter(column="more")
    assert own.height == 2
    for row in own.iter_rows(named=True):
        p = stats.ttest_rel(alone[row["a"]], alone[row["b"]]).pvalue
        assert row["p_adjusted"] == pytest.approx(min(1, 2 * p), rel=1e-9)


def test_a_ratio_over_no_hit_is_no_number_and_its_reason_stands_below(results):
    made, page = cells(results), (results / "tables/toy-table1.md").read_text()
    cell = made["none", "roc"]
    assert (cell.measured, cell.ci_low) == (None, None)
    assert cell.not_run == "the dense part D answers no query, so that RoC would divide by 0"
    assert made["none", "gain"].not_run == cell.not_run
    assert made["none", "both"].measured == 0, "no query that both answer is a count"
    assert page.count("answers no query, so that RoC would divide by 0") == 1 and "nan" not in page


def test_a_row_without_parts_has_a_dash_and_no_note(results):
    page = (results / "tables/toy-table1.md").read_text()
    line = next(line for line in page.splitlines() if "BM25" in line and line.startswith("|"))
    assert line.count(f"| {layout.DASH} ") == 6 and "no D and S" not in page


def test_a_change_from_a_row_without_a_value_has_none(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    rows = [{**row, **({"system": None, "not_run": "not built"} if row["id"] == "sum" else {})}
            for row in TABLE["rows"]]  # fmt: skip
    make_pages(copy, job(rows=rows))
    cell = cells(copy)["ours", "gain"]
    assert (cell.measured, cell.not_run) == (None, "sum, from which it is a change: not built")
    assert cells(copy)["ours", "roc"].measured == cells(results)["ours", "roc"].measured


def test_a_change_from_a_row_whose_model_did_not_learn_is_no_result(results, tmp_path):
    path = write_verdict(tmp_path / "net" / "seed1.json")
    made = job().model_copy(update={"models": {"data": {"sum.seed1": ["net/seed1"]}}})
    loaded = grids.load(made, results / "metrics", read_all([path]), {})
    gain, roc = made.column("gain"), made.column("roc")
    assert loaded.by_seed("ours", gain) is None and loaded.by_seed("ours", roc) is not None
    assert loaded.job.not_learned("ours", "gain") == "net seed1: no better"


def test_seeds_that_are_not_as_many_go_with_the_mean_of_the_others():
    made, name = job(), column("RoC", change_from="sum")
    of = Coverage(60, 30, 20, 15, 15, 10, 0.5, 0.3, 0.7)
    ratios = {
        ("sum", "c"): of._replace(by_seed=(0.2, 0.4)),
        ("ours", "c"): of._replace(by_seed=(0.5,)),
    }
    assert grids.Loaded(made, {}, ratios).by_seed("ours", name) == pytest.approx([0.2])
    ratios["ours", "c"] = of._replace(by_seed=(0.5, 0.9))
    assert grids.Loaded(made, {}, ratios).by_seed("ours", name) == pytest.approx([0.3, 0.5])


def test_a_cell_is_explained_by_the_runs_of_both_parts(results):
    message = explaining.explain(results, "toy/table1/ours/roc")
    heads = [line.split(" ")[1] for line in message.splitlines() if line.startswith("[")]
    assert {"runs/data/nq/dense-ours.seed{1,2}.trec.gz", "runs/data/nq/bm25.trec.gz"} < {*heads}
    assert not [head for head in heads if "/ours" in head], "not the hybrid's"
    parts = "metrics/data/nq/dense-ours.seed{1,2}.tsv, metrics/data/nq/bm25.tsv, means over seeds"
    assert f"Queries ({parts})" in message
    found = np.mean([len(hits(results, run)) for run in seeds("dense-ours")])
    assert f"D answers {found:g} of 60 queries, S {len(hits(results, 'bm25'))}; D alone" in message
    change = explaining.explain(results, "toy/table1/ours/more")
    assert "dense-sum.seed" in change and "Per query" in change
    assert "change of residual(Success@10) on data/nq, 60 queries" in change
    won = explaining.explain(results, "toy/table1/ours/won")
    assert "better(RR@10, bm25) on data/nq" in won and "metrics/data/nq/bm25.tsv" in won


def test_a_bundle_makes_the_page_again(results, tmp_path):
    bundling.write(results, tmp_path / "toy.tar.gz")
    *pages, total = map(str, bundling.verify(tmp_path / "toy.tar.gz"))
    assert "ok     toy-table1: made again, same bytes" in pages
    assert total.endswith("no fault")


def test_another_measure_than_of_hits_and_other_queries_are_refused(results, tmp_path):
    metrics = shutil.copytree(results / "metrics", tmp_path / "metrics")
    path = metrics / "data/nq/dense-ours.seed2.tsv"
    path.write_text(re.sub(r"(?m)^q07\t.*\n", "", path.read_text()))
    manifest = json.loads((results / "metrics/data/nq/bm25.tsv.manifest.json").read_text())
    assert manifest["files"], "what is read is checked against it"
    for place in metrics.rglob("*.manifest.json"):
        place.unlink()
    with pytest.raises(ResiduumError, match=r"hold different queries \(1 of them, such as q07\)"):
        grids.load(job(), metrics, {}, {})


def test_tables_that_derive_nothing_have_the_columns_of_before():
    lines = [grids.blank(job(), "sum", "rr", "RR@10", None)]
    names = (
        "table row column measure split_ref n measured seeds per_seed lowest highest std beats "
        "below reported reported_beats reported_below not_run not_learned index other_index"
    )
    assert grids.tidied(lines).columns == names.split()

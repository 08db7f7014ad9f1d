"""The stage: which comparisons it tests, its file, families, and what p depends on."""

import numpy as np
import polars as pl
import pytest

from bounds_fixture import bounds_of
from residuum import significance
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.pages import grids
from residuum.pages.bearing import Weighed
from tables_fixture import job, spec, write_metrics

COLUMNS = [
    {"id": "rr", "role": "dev", "measure": "RR@10", "header": "MRR@10"},
    {"id": "ndcg", "role": "dev", "measure": "nDCG@10", "header": "NDCG@10"},
]


def table(page="toy-table1", tests=None, **changes):
    """Return a job whose columns are measured on the same forty queries."""
    plain = {"columns": COLUMNS, "tolerance": {"default": 0.01}, "reported": {}}
    made = job(**plain | changes, tests=tests)
    return made.model_copy(update={"id": page, "splits": {"rr": "data/dev", "ndcg": "data/dev"}})


@pytest.fixture
def metrics(tmp_path):
    """Write random values for both columns of the runs of the table."""
    random = np.random.default_rng(1)
    for run in ("base", "ours.seed1", "ours.seed2", "ablation"):
        rows = [
            (f"q{i:02d}", measure, round(random.random(), 2) + 0.1 * run.startswith("ours"))
            for measure in ("RR@10", "nDCG@10")
            for i in range(40)
        ]
        frame = pl.DataFrame(rows, schema=trec.METRICS, orient="row")
        trec.write_metrics(tmp_path / "metrics" / "data" / "dev" / f"{run}.tsv", frame)
    return tmp_path / "metrics"


def compare(metrics, made, together=(), workers=1, name="s.tsv"):
    output = metrics.parent / name
    significance.compare(
        spec(made), metrics, output, bounds_of(metrics), [spec(t) for t in together], workers
    )
    return pl.read_csv(output, separator="\t", infer_schema_length=None)


def test_every_pair_in_every_column(metrics):
    result = compare(metrics, table())
    pairs = [("base", "ours"), ("base", "ablation"), ("ours", "ablation")]
    expected = [(column, *pair) for column in ("rr", "ndcg") for pair in pairs]
    assert list(result.select("column", "a", "b").iter_rows()) == expected
    assert result.columns == list(grids.columns(Weighed))
    assert set(result["family"]) == {"toy-table1/rr", "toy-table1/ndcg"}
    seeded = result.filter(pl.col("seeds") == 2)
    assert seeded.height == 4 and seeded["p_mixed_effects"].null_count() == 0
    assert result.filter(pl.col("seeds") == 1)["p_mixed_effects"].null_count() == 2


def test_the_file_does_not_depend_on_workers_or_the_order_of_rows(metrics):
    made = table()
    first = compare(metrics, made)
    compare(metrics, made, workers=3, name="w.tsv")
    assert (metrics.parent / "w.tsv").read_bytes() == (metrics.parent / "s.tsv").read_bytes()
    rows = made.entry.model_copy(update={"rows": made.entry.rows[::-1]})
    turned = compare(metrics, made.model_copy(update={"entry": rows}))
    key = {(r["column"], frozenset((r["a"], r["b"]))): r for r in turned.iter_rows(named=True)}
    for row in first.iter_rows(named=True):
        other = key[row["column"], frozenset((row["a"], row["b"]))]
        for name in ("p", "p_error", "p_adjusted", "method", "seeds_agreeing"):
            assert row[name] == other[name]


def test_p_depends_on_the_seed_of_the_tests_alone(metrics):
    first = compare(metrics, table())
    other_page = compare(metrics, table("toy-table2"))
    assert first["p"].to_list() == other_page["p"].to_list()
    assert first["p"].to_list() != compare(metrics, table(tests={"seed": 2}))["p"].to_list()


def test_only_pairs_with_a_baseline_are_tested_and_corrected(metrics):
    tests = {"compare": "with_baselines", "correction": "bonferroni", "test": "t-test"}
    result = compare(metrics, table(tests=tests, baselines=["base"]))
    pairs = [("base", "ours"), ("base", "ablation")] * 2
    assert list(result.select("a", "b").iter_rows()) == pairs
    expected = [min(1.0, 2 * p) for p in result["p"]]
    assert result["p_adjusted"].to_list() == pytest.approx(expected)
    both = compare(metrics, table(tests=tests, baselines=["base", "ablation"]))
    assert both.height == 6, "two baselines are compared with each other too"


def test_a_family_may_be_the_table(metrics):
    tests = {"correction": "bonferroni", "test": "t-test", "family": "table"}
    result = compare(metrics, table(tests=tests))
    assert set(result["family"]) == {"toy-table1"}
    assert result["p_adjusted"].to_list() == pytest.approx([min(1.0, 6 * p) for p in result["p"]])


def test_a_family_may_be_all_tables_of_a_paper(metrics):
    tests = {"correction": "holm", "test": "wilcoxon", "family": "paper"}
    one = table(tests=tests)
    two = table("toy-table2", tests=tests, columns=COLUMNS[:1])
    first = compare(metrics, one, [two])
    second = compare(metrics, two, [one])
    assert set(first["family"]) == set(second["family"]) == {"toy"}
    assert (first.height, second.height) == (6, 3), "each table keeps its own comparisons"
    p = [*first["p"], *second["p"]]
    smallest = min(p)
    assert first.filter(p=smallest)["p_adjusted"][0] == pytest.approx(min(1.0, 9 * smallest))
    shared = first.filter(column="rr")
    assert shared["p_adjusted"].to_list() == second["p_adjusted"].to_list()


def test_a_page_without_pairs_has_a_header_only(metrics):
    made = table()
    result = compare(metrics, made.model_copy(update={"splits": {"rr": None, "ndcg": None}}))
    assert (result.height, result.columns) == (0, list(grids.columns(Weighed)))


def test_no_resamples_are_refused(metrics):
    text = spec(table()).replace('"resamples":9999', '"resamples":0')
    with pytest.raises(ResiduumError, match=r"tests\.resamples: Input should be greater than 0"):
        significance.compare(text, metrics, metrics.parent / "s.tsv", bounds_of(metrics))


def test_a_value_that_is_no_number_is_refused(tmp_path):
    write_metrics(tmp_path)
    path = tmp_path / "data" / "dev" / "base.tsv"
    path.write_text(path.read_text().replace("\t0.3", "\tNaN", 1))
    with pytest.raises(ResiduumError, match=r"base\.tsv, line 2: not a finite number; .*value nan"):
        significance.compare(spec(job()), tmp_path, tmp_path / "s.tsv", bounds_of(tmp_path))

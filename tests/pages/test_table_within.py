"""Columns of a group of the queries against plain Python, and all that reads their cells."""

from statistics import fmean

import polars as pl
import pytest
from scipy import stats

from derived_fixture import HIT, QUERIES, build, cells, job, make_pages
from residuum import groups
from residuum.artefacts import trec
from residuum.inspect import bundling, explaining

# Batches of 25, 20 and 15 queries.
BATCHES = {"b1": QUERIES[:25], "b2": QUERIES[25:45], "b3": QUERIES[45:]}
RR = {"role": "nq", "measure": "RR@10", "header": "MRR"}


def within(group):
    return {"within": {"grouping": "batches", "group": group}}


COLUMNS = [
    *({"id": batch, **RR, **within(batch)} for batch in BATCHES),
    {"id": "all", **RR},
    {"id": "roc", "header": "RoC", "derived": "RoC", **HIT, **within("b1")},
    {"id": "none", **RR, **within("b4")},
]


def bound():
    made = job(columns=COLUMNS, reported={"ours": {"b1": "0.9"}})
    update = {
        "splits": {column["id"]: "data/nq" for column in COLUMNS},
        "absent": {"bm25": {"roc": made.absent["bm25"]["roc"]}},
        "derived": {row: {"roc": own["roc"]} for row, own in made.derived.items()},
    }
    return made.model_copy(update=update)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    made = build(tmp_path_factory.mktemp("within") / "results" / "toy")
    split = made / "data" / "data"
    for batch, queries in BATCHES.items():
        trec.write_queries(split / batch / "queries.tsv", [(q, f"text of {q}") for q in queries])
    path = made / "groups" / "data" / "nq" / "batches.tsv"
    folds = [split / batch / "queries.tsv" for batch in BATCHES]
    groups.folds('{"kind": "folds"}', split / "nq" / "qrels.trec", folds, path)
    make_pages(made, bound(), [path])
    return made


def values(results, run, measure="RR@10"):
    lines = (results / f"metrics/data/nq/{run}.tsv").read_text().splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return {query: float(value) for query, name, value in rows if name == measure}


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("row", ["bm25", "sum", "ours"])
def test_a_cell_is_the_mean_over_the_queries_of_its_group(results, row, batch):
    runs = ["bm25"] if row == "bm25" else [f"{row}.seed1", f"{row}.seed2"]
    by_seed = [fmean(values(results, run)[q] for q in BATCHES[batch]) for run in runs]
    cell = cells(results)[row, batch]
    assert cell.measured == pytest.approx(fmean(by_seed), abs=1e-12)
    assert cell.n == len(BATCHES[batch])


def test_the_whole_is_the_mean_of_the_groups_by_their_sizes(results):
    made = cells(results)
    parts = sum(made["ours", batch].measured * len(own) for batch, own in BATCHES.items())
    assert made["ours", "all"].measured == pytest.approx(parts / 60, abs=1e-12)
    assert made["ours", "all"].n == 60


def test_what_is_derived_is_of_the_group_alone(results):
    lexical = values(results, "bm25", "Success@10")
    ratios = []
    for seed in (1, 2):
        dense = values(results, f"dense-ours.seed{seed}", "Success@10")
        hits = [query for query in BATCHES["b1"] if dense[query]]
        ratios.append(sum(not lexical[query] for query in hits) / len(hits))
    assert cells(results)["ours", "roc"].measured == pytest.approx(fmean(ratios), abs=1e-12)


def test_tests_are_over_the_queries_of_the_group(results):
    tests = pl.read_csv(results / "significance/toy-table1.tsv", separator="\t")
    [row] = tests.filter(column="b2", a="sum", b="ours").iter_rows(named=True)
    means = {
        name: [
            fmean(values(results, f"{name}.seed{seed}")[query] for seed in (1, 2))
            for query in BATCHES["b2"]
        ]
        for name in ("sum", "ours")
    }
    assert row["n"] == 20
    assert row["p"] == pytest.approx(stats.ttest_rel(means["sum"], means["ours"]).pvalue, rel=1e-9)


def test_a_group_without_queries_is_a_gap_with_its_reason(results):
    cell = cells(results)["ours", "none"]
    assert (cell.measured, cell.not_run) == (None, "no query is in the group b4 of batches")


def test_the_page_names_the_group_and_a_cell_is_explained_by_it(results):
    page = (results / "tables/toy-table1.md").read_text()
    assert "RR@10 in b2: " in page and "20 queries of batches." in page
    message = explaining.explain(results, "toy/table1/ours/b2")
    assert "RR@10 in b2 on data/nq, 20 queries" in message
    assert "groups/data/nq/batches.tsv" in message
    assert "groups/" not in explaining.explain(results, "toy/table1/ours/all")


def test_a_bundle_makes_the_page_again(results, tmp_path):
    bundling.write(results, tmp_path / "toy.tar.gz")
    *pages, total = map(str, bundling.verify(tmp_path / "toy.tar.gz"))
    assert "ok     toy-table1: made again, same bytes" in pages
    assert total.endswith("no fault")

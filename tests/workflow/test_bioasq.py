"""BioASQ's pages through the whole graph at smoke, each number computed anew in plain Python."""

import json
from collections import defaultdict
from itertools import islice, pairwise
from statistics import fmean

import numpy as np
import polars as pl
import pytest
import yaml

from by_hand import best_products, relevant_of, run_of, term_products
from conftest import ROOT
from projects import choose, copy_project, snakemake
from residuum.artefacts.contracts import read_docs
from residuum.artefacts.shards import read
from residuum.config.schema.reading import Windows
from residuum.neural.devices import Device
from residuum.neural.encoders import Encoder
from residuum.neural.tokens import passages
from timings import phases_of_runs

DATASET = "generated-pubmed-smoke"
SPLIT = f"{DATASET}/test"
FIRST = "bioasq-de/seed1/shard-00000/ids.txt"
BATCHES = [f"batch{n}" for n in range(1, 6)]
SYSTEMS = {  # of Table 2
    "bm25": "bm25-pubmed",
    "de": "bioasq-de.seed1",
    "hybrid": "bioasq-hybrid.seed1",
    "hybrid-rerank": "bioasq-hybrid-rerank.seed1",
}
HYBRIDS = {  # and their parts
    "bioasq-hybrid": ("bm25-pubmed", "bioasq-de"),
    "bioasq-hybrid-residual": ("bm25-pubmed", "bioasq-de-residual"),
    "bioasq-hybrid-first": ("bm25-bioclean", "bioasq-de"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = copy_project(tmp_path_factory.mktemp("project"))
    choose(folder, "bioasq")
    snakemake(folder)
    return folder / "results" / "smoke"


def queries_of(results, split):
    lines = (results / "data" / DATASET / split / "queries.tsv").read_text().splitlines()
    return [line.split("\t")[0] for line in lines]


def average_precisions(run, relevant):
    """BioASQ, edition 8: over the first ten docs, divided by min(relevant docs, 10)."""
    known = defaultdict(set)
    for query, doc in relevant:
        known[query].add(doc)
    values = {}
    for query, own in known.items():
        hits, total = 0, 0.0
        for rank, doc in enumerate([*run.get(query, {})][:10], 1):
            if doc in own:
                hits += 1
                total += hits / rank
        values[query] = total / min(len(own), 10)
    return values


@pytest.mark.parametrize("row", SYSTEMS)
def test_cells_are_means_over_batches_and_the_average_is_that_of_all(results, row):
    run = run_of(results / "runs" / SPLIT / f"{SYSTEMS[row]}.trec.gz")
    values = average_precisions(run, relevant_of(results / "data" / SPLIT))
    metrics = pl.read_csv(results / "metrics" / SPLIT / f"{SYSTEMS[row]}.tsv", separator="\t")
    for query, measure, value in metrics.select("query_id", "measure", "value").iter_rows():
        assert measure != "BioASQ_AP@10" or value == pytest.approx(values[query], abs=1e-12)
    table = pl.read_csv(results / "tables" / "bioasq-table2.tsv", separator="\t").filter(row=row)
    shown = dict(table.select("column", "measured").iter_rows())
    by_hand = {b: fmean(values[q] for q in queries_of(results, b)) for b in BATCHES}
    assert {b: shown[b] for b in BATCHES} == pytest.approx(by_hand, abs=1e-12)
    assert shown["average"] == pytest.approx(fmean(by_hand.values()), abs=1e-12)
    assert len(values) == 20 and not list((results / "runs").glob("*/batch*"))


@pytest.mark.parametrize("system", ["bm25-pubmed", "bm25-bioclean"])
def test_bm25_is_an_inner_product(results, system):
    products = term_products(results, DATASET, f"{system}-vectors/seed1", "test")
    run = run_of(results / "runs" / SPLIT / f"{system}.trec.gz")
    assert len(run) == 20
    for query, docs in run.items():
        own = products[query]
        assert docs == pytest.approx({doc: own[doc] for doc in docs}, abs=1e-4)
        least = min(docs.values()) if len(docs) == 100 else 0.0
        assert all(own[doc] <= least + 1e-4 for doc in own.keys() - docs.keys())


@pytest.mark.parametrize("hybrid", HYBRIDS)
def test_hybrids_have_the_best_sums_of_all_docs(results, hybrid):
    """Of the first system a doc counts by its first block, of the updated one by its best."""
    tuned = json.loads((results / f"tuning/{DATASET}/dev/{hybrid}.seed1.json").read_text())
    [choice] = tuned["choices"]
    lambda_ = choice["setting"]["lambda"]
    terms, model = HYBRIDS[hybrid]
    lexical = term_products(results, DATASET, f"{terms}-vectors/seed1", "test")
    first = hybrid.endswith("first")
    dense, ids = best_products(results, DATASET, f"{model}/seed1", "test", first=first)
    assert len(ids) > len({*ids}), "some docs have several blocks"
    run = run_of(results / "runs" / SPLIT / f"{hybrid}.seed1.trec.gz")
    assert len(run) == 20
    for query, docs in run.items():
        sums = {doc: lambda_ * lexical[query][doc] + dense[query][doc] for doc in dense[query]}
        assert docs == pytest.approx({doc: sums[doc] for doc in docs}, abs=2e-5)
        assert len(docs) == 10 and min(docs.values()) >= sorted(sums.values())[-10] - 2e-5


def test_exact_searches_are_timed_with_the_lambda_that_was_chosen(results):
    """Their queries are encoded twice: by the model, and by the statistics of an index."""
    runs = {f"{name}.seed1": {"encode", "search"} for name in HYBRIDS}
    runs |= {"bioasq-hybrid-rerank.seed1": {"encode", "search", "rerank"}}
    assert phases_of_runs(results, SPLIT, *runs) == runs


def test_a_first_block_is_its_doc_cut_at_the_same_place(results):
    """So that one encoding serves what is cut and what is read in blocks."""
    model = Encoder.load(results / "models/bioasq-de/seed1", Device("cpu", "fp32"))
    dataset = yaml.safe_load((ROOT / f"config/datasets/{DATASET}.yaml").read_text())
    windows = Windows.model_validate(dataset["windows"])
    records = islice(read_docs(results / "data" / DATASET / "corpus"), 40)
    texts = {
        record["doc_id"]: passages(record, windows, model.tokenizer, model.doc_room)[0]
        for record in records
    }
    alone = model.encode([*texts.values()], "doc", 8)
    [shard] = {path.parent for path in (results / "embeddings" / DATASET).glob(FIRST)}
    ids, vectors = read(shard, first=True)
    rows = [ids.index(doc_id) for doc_id in texts]
    np.testing.assert_allclose(alone, vectors[rows], atol=1e-5)


@pytest.mark.parametrize("hybrid", ["bioasq-hybrid", "bioasq-hybrid-first"])
def test_rerankers_put_ten_docs_into_another_order(results, hybrid):
    first = run_of(results / "runs" / SPLIT / f"{hybrid}.seed1.trec.gz")
    reranked = run_of(results / "runs" / SPLIT / f"{hybrid}-rerank.seed1.trec.gz")
    scores = run_of(results / "rerank" / SPLIT / "bioasq-reranker@seed1/shard-00000.trec.gz")
    changed = 0
    for query, docs in reranked.items():
        assert {*docs} == {*first[query]} and len(docs) == 10
        own = [scores[query][doc] for doc in docs]
        assert all(a >= b for a, b in pairwise(own))
        changed += [*docs] != [*first[query]]
    assert changed > 10
    assert not (results / "rerank" / DATASET / "dev").exists(), "a fixed depth is not chosen"
    assert not list((results / "rerank").rglob("*.depths.tsv"))


def test_the_dual_encoder_is_trained_on_the_mix_of_the_paper(results):
    manifest = json.loads((results / "models/bioasq-de/seed1/manifest.json").read_text())
    mix = manifest["artefact"]["mix"]
    assert [mix[role]["in_batch"] for role in ("bioasq-train", "bioasq-synthetic")] == [13, 3]
    supervised = relevant_of(results / "data" / DATASET / "train")
    assert mix["bioasq-train"]["pairs"] == len(supervised)
    synthetic = relevant_of(results / "data" / DATASET / "synthetic")
    assert mix["bioasq-synthetic"]["pairs"] == len(synthetic) > 100
    assert all(query == f"{doc}.1" for query, doc in synthetic)
    judged = {*queries_of(results, "test"), *queries_of(results, "dev")}
    assert not judged & {query for query, _ in supervised}


def test_the_ledger_has_every_printed_number_and_judges_what_can_be(results):
    ledger = pl.read_csv(results / "ledger.tsv", separator="\t", infer_schema=False)
    numbers = ledger.filter(kind="number")
    assert len(numbers) == 19 + 30
    others = numbers.filter(row="best")
    assert len(others) == 4 + 6 and {*others["verdict"]} == {"not run"}
    assert {*numbers.filter(pl.col("row") != "best")["verdict"]} == {"not comparable"}
    claims = ledger.filter(kind="claim")
    written = yaml.safe_load((ROOT / "config/papers/bioasq/claims.yaml").read_text())["claims"]
    untested = [claim for claim in written if "no_test" in claim]
    assert len(claims) == len(written)
    lacking = claims.filter(pl.col("reason").str.contains("the data could not show it: "))
    assert {*lacking["verdict"]} == {"not judged"}, "models of 20 steps answer no more than chance"
    assert len(claims.filter(verdict="no test")) == len(untested) > 0


def test_printed_averages_are_those_of_the_five_batches():
    """To half a digit of the average, and of the five that it is made of."""
    page = yaml.safe_load((ROOT / "config/papers/bioasq/table2.yaml").read_text())
    for cells in page["reported"].values():
        mean = fmean(float(cells[batch]) for batch in BATCHES)
        assert float(cells["average"]) == pytest.approx(mean, abs=1.01e-4)

"""Table A.1 of ME-BERT at scale smoke, of its longest docs, with nothing of the stages.

The tests of this file share one copy of the project and run in order.
"""

import json
from collections import defaultdict
from statistics import fmean

import numpy as np
import polars as pl
import pytest

from by_hand import best_products, reciprocal_ranks, relevant_of, run_of
from projects import choose, copy_project, snakemake
from residuum.artefacts.files import sha256

pytestmark = pytest.mark.workflow
PAGE = "results/smoke/tables/mebert-a1ict.md"
SPLIT = "ict-400/test"
CANDIDATES = "candidates-bigrams"
DENSE = ["de-bert-768", "de-bert-32", "me-bert-768"]
HYBRIDS = {"hybrid-me-bert-uni": "bm25-unigrams", "hybrid-me-bert-bi": "bm25-bigrams"}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a copy of the project in which the upper half of Table A.1 has been made.

    Without the dense rows between the largest and the smallest.
    """
    folder = tmp_path_factory.mktemp("project")
    copy_project(folder)
    choose(folder, "mebert")
    with (folder / "config" / "scales" / "smoke.yaml").open("a") as file:
        file.write("left_out: [de-bert-512, de-bert-128, de-bert-64, me-bert-64]\n")
    snakemake(folder, PAGE)
    return folder


@pytest.fixture(scope="module")
def results(project):
    return project / "results" / "smoke"


def cell(results, row, column):
    table = pl.read_csv(results / "tables" / "mebert-a1ict.tsv", separator="\t")
    return table.filter(row=row, column=column)["measured"].item()


def test_candidates_are_the_first_docs_and_others(results):
    candidates = run_of(results / "runs" / SPLIT / f"{CANDIDATES}.trec.gz")
    first = run_of(results / "runs" / SPLIT / "bm25-bigrams.trec.gz")
    assert len(candidates) == 20
    for query, docs in candidates.items():
        head = [*first[query]][:20]
        assert [*docs][: len(head)] == head and len(docs) == len(head) + 10


def order(results, system):
    seed = "" if system.startswith("bm25") else ".seed1"
    return results / "scores" / SPLIT / f"{system}{seed}.on.{CANDIDATES}.trec.gz"


@pytest.mark.parametrize("system", ["bm25-bigrams", "bm25-unigrams", *DENSE])
def test_a_reranking_column_has_the_candidates_in_their_system_s_order(results, system):
    candidates = run_of(results / "runs" / SPLIT / f"{CANDIDATES}.trec.gz")
    scored = run_of(order(results, system))
    assert {q: {*docs} for q, docs in scored.items()} == {q: {*d} for q, d in candidates.items()}
    in_order = {q: sorted(docs, key=lambda d, own=docs: (-own[d], d)) for q, docs in scored.items()}
    relevant = relevant_of(results / "data" / SPLIT)
    values = reciprocal_ranks(in_order, relevant)
    row = {"bm25-bigrams": "bm25-bi", "bm25-unigrams": "bm25-uni"}.get(system, system)
    assert cell(results, row, "rerank-400") == pytest.approx(fmean(values.values()), abs=1e-12)
    if system == "bm25-bigrams":
        retrieved = run_of(results / "runs" / SPLIT / f"{system}.trec.gz")
        assert values == reciprocal_ranks(retrieved, relevant), (
            "the docs that BM25 itself has first are all candidates"
        )


@pytest.mark.parametrize("model", DENSE)
def test_dense_scores_are_products_of_the_best_vectors(results, model):
    scores, ids = best_products(results, "ict-400", f"{model}@ict-400.train/seed1", "test")
    for path in (order(results, model), results / "runs" / SPLIT / f"{model}.seed1.trec.gz"):
        for query, docs in run_of(path).items():
            assert docs == pytest.approx({doc: scores[query][doc] for doc in docs}, abs=2e-6)
    assert len(ids) == 240 * (8 if model == "me-bert-768" else 1)


def system(run):
    return run.removesuffix(".seed1")


def parts(results, hybrid, split):
    """Return both scores of every doc that a hybrid's parts retrieve: (lexical, dense)."""
    lexical, dense = HYBRIDS[hybrid], "me-bert-768.seed1"
    scores = defaultdict(lambda: defaultdict(dict))
    for number, (one, other) in enumerate([(lexical, dense), (dense, lexical)]):
        for path in (
            results / "runs" / "ict-400" / split / f"{one}.trec.gz",
            results / "scores" / "ict-400" / split / f"{one}.on.{system(other)}.trec.gz",
        ):
            for query, docs in run_of(path).items():
                for doc, score in docs.items():
                    scores[query][doc][number] = score
    return {q: {d: (s[0], s[1]) for d, s in docs.items()} for q, docs in scores.items()}


def chosen(results, hybrid):
    path = results / "tuning" / "ict-400" / "tune" / f"{hybrid}.seed1.json"
    (choice,) = json.loads(path.read_text())["choices"]
    return choice["setting"]["lambda"], choice["mean"]


@pytest.mark.parametrize("hybrid", HYBRIDS)
def test_a_hybrid_is_lambda_times_the_lexical_score_and_the_dense_score(results, hybrid):
    lambda_, _ = chosen(results, hybrid)
    scores = parts(results, hybrid, "test")
    fused = run_of(results / "runs" / SPLIT / f"{hybrid}.seed1.trec.gz")
    assert len(fused) == 20
    for query, docs in fused.items():
        expected = {d: lambda_ * scores[query][d][0] + scores[query][d][1] for d in docs}
        assert docs == pytest.approx(expected, abs=2e-5)
        assert len(docs) == len(scores[query])


@pytest.mark.parametrize("hybrid", HYBRIDS)
def test_no_lambda_of_a_fine_grid_is_better_on_the_tuning_queries(results, hybrid):
    lambda_, mean = chosen(results, hybrid)
    scores = parts(results, hybrid, "tune")
    relevant = relevant_of(results / "data" / "ict-400" / "tune")

    def at(value):
        run = {
            query: sorted(docs, key=lambda d, own=docs: (-value * own[d][0] - own[d][1], d))
            for query, docs in scores.items()
        }
        return fmean(reciprocal_ranks(run, relevant).values())

    assert at(lambda_) == pytest.approx(mean, abs=1e-12)
    grid = [at(value) for value in np.linspace(0, 40, 401)]
    assert max(grid) <= mean + 1e-12 and min(grid) < mean


def test_judgements_of_the_test_queries_tune_nothing_and_add_no_candidate(project, results):
    """Other relevant docs change what is measured, and no lambda and no run."""
    qrels = results / "data" / SPLIT / "qrels.trec"
    lines = [line.split() for line in qrels.read_text().splitlines()]
    docs = [line[2] for line in lines]
    kept = {
        path: path.read_bytes()
        for name in ("tuning", "runs")
        for path in (results / name).rglob("*")
        if path.suffix in {".json", ".gz"}
    }
    before = cell(results, "bm25-bi", "retrieval-400")
    moved = zip(lines, docs[1:] + docs[:1], strict=True)
    qrels.write_text("".join(f"{q} {zero} {d} {g}\n" for (q, zero, _, g), d in moved))
    path = qrels.with_name("queries.tsv.manifest.json")
    manifest = json.loads(path.read_text())
    manifest["files"][qrels.name] = {"bytes": qrels.stat().st_size, "sha256": sha256(qrels)}
    path.write_text(json.dumps(manifest))
    snakemake(project, PAGE)
    assert {path: path.read_bytes() for path in kept} == kept
    assert cell(results, "bm25-bi", "retrieval-400") < before
    candidates = run_of(results / "runs" / SPLIT / f"{CANDIDATES}.trec.gz")
    missed = {q for q, doc in relevant_of(qrels.parent) if doc not in candidates[q]}
    table = pl.read_csv(
        results / "metrics" / SPLIT / f"bm25-bigrams.on.{CANDIDATES}.tsv", separator="\t"
    )
    values = table.filter(pl.col("query_id").is_in(missed), measure="RR@10")["value"]
    assert len(values) == len(missed) > 0 and values.sum() == 0

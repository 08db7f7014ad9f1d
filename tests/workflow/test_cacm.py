"""CACM through the graph: the ledger finds the published Lucene scores reproduced."""

import os

import polars as pl
import pytest

from projects import copy_project, invoke, snakemake

# Published for exactly this collection (Lucene BM25, k1 0.9, b 0.4, 1,000 hits), with and without
# RM3 (10 terms, 10 docs, weight 0.5).
PUBLISHED = {
    ("bm25", "ap"): 0.3123,
    ("bm25", "p30"): 0.1942,
    ("bm25-rm3", "ap"): 0.3648,
    ("bm25-rm3", "p30"): 0.2224,
}


@pytest.mark.shared_data
def test_published_scores(shared_data, tmp_path):
    project = copy_project(tmp_path)
    config = project / "config" / "config.yaml"
    text = config.read_text()
    chosen = next(line for line in text.splitlines() if line.startswith("papers:"))
    config.write_text(text.replace(chosen, "papers: [lexical-baselines]"))
    snakemake(project, env={**os.environ, "RESIDUUM_DATA": str(shared_data)})
    ledger = pl.read_csv(project / "results/smoke/ledger.tsv", separator="\t")
    cacm = ledger.filter(table="lexical-baselines-cacm")
    assert set(cacm["verdict"]) == {"reproduced"}
    result = {(r["row"], r["column"]): r for r in cacm.iter_rows(named=True)}
    assert {key: round(r["measured"], 4) for key, r in result.items()} == PUBLISHED
    assert {key: r["reported"] for key, r in result.items()} == PUBLISHED
    others = ledger.filter(pl.col("table") != "lexical-baselines-cacm")
    assert others.height and set(others["verdict"]) == {"not run"}
    table = pl.read_csv(project / "results/smoke/tables/lexical-baselines-cacm.tsv", separator="\t")
    assert set(table["n"]) == {52}

    # Asked for by name, its metrics are not made of what was exported before the files went.
    target = "results/smoke/metrics/cacm/test/bm25-default.tsv"
    env = {**os.environ, "RESIDUUM_DATA": str(tmp_path / "nothing")}
    status, output = invoke(project, target, env=env)
    assert status == 1, output
    assert "error: dataset cacm: no such file" in output
    assert "Access to cacm: put docs.jsonl" in output
    assert (project / target).is_file(), "nothing is lost"

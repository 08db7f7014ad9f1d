"""CACM through its dataset YAML: the published Lucene scores, to the last printed digit."""

import os

import polars as pl
import pytest

from projects import copy_project, snakemake

# Published for exactly this collection (Lucene BM25, k1 0.9, b 0.4, 1,000 hits), with and without
# RM3 (10 terms, 10 docs, weight 0.5).
PUBLISHED = {
    "bm25-default": {"AP@1000": 0.3123, "P@30": 0.1942},
    "bm25-default-rm3": {"AP@1000": 0.3648, "P@30": 0.2224},
}


@pytest.mark.shared_data
def test_published_scores(shared_data, tmp_path):
    project = copy_project(tmp_path)
    targets = [f"results/smoke/metrics/cacm/test/{system}.tsv" for system in PUBLISHED]
    snakemake(project, *targets, env={**os.environ, "RESIDUUM_DATA": str(shared_data)})
    for target, (_, expected) in zip(targets, PUBLISHED.items(), strict=True):
        metrics = pl.read_csv(project / target, separator="\t")
        assert metrics["query_id"].n_unique() == 52
        found = metrics.group_by("measure").agg(pl.col("value").mean())
        assert {m: round(v, 4) for m, v in found.iter_rows()} == expected

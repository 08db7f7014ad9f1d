"""The values of reranked runs cut at several depths, as TSV: its columns, its validating reader.

Usage: `read(path)`, columns as in `COLUMNS`; depth 0 is the first stage as it was. Must not know
how docs were reranked, nor what the values are drawn or chosen for.
"""

from pathlib import Path

import polars as pl

from residuum.artefacts import trec

COLUMNS = {
    "run": pl.String,
    "depth": pl.Int64,
    "query_id": pl.String,
    "measure": pl.String,
    "value": pl.Float64,
}
# Beside measures: the candidates' recall, the docs reranked.
RECALL, DOCS_RERANKED = "recall", "docs_reranked"


def read(path: Path) -> pl.DataFrame:
    """Read the TSV; a duplicate line or one without a finite value is a ResiduumError."""
    table = trec.read_table(path, COLUMNS, "\t", header=True)
    trec.refuse(path, table, ~pl.col("value").is_finite(), "not a finite number", header=True)
    duplicate = trec.repeats("run", "depth", "query_id", "measure")
    trec.refuse(path, table, duplicate, "duplicate line", header=True)
    return table

"""The values of reranked runs cut at several depths, as TSV: its columns, its validating reader.

Usage: `read(path)`, columns as in `COLUMNS`; depth 0 is the first stage as it was. Must not know
how docs were reranked, nor what the values are drawn or chosen for.
"""

import io
from pathlib import Path

import polars as pl

from residuum.core import files
from residuum.core.errors import ResiduumError

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
    text = files.read_bytes(path)
    form = f"{path}: expected a header and lines of `{' TAB '.join(COLUMNS)}`"
    if text.partition(b"\n")[0].decode(errors="replace").split("\t") != list(COLUMNS):
        raise ResiduumError(f"{form}; found {text[:80]!r}")
    try:
        table = pl.read_csv(io.BytesIO(text), separator="\t", schema=COLUMNS, quote_char=None)
    except pl.exceptions.PolarsError as error:
        raise ResiduumError(f"{form}; {error}") from None
    once = pl.struct("run", "depth", "query_id", "measure").is_first_distinct()
    finite = pl.col("value").is_finite().fill_null(False)
    bad = table.with_row_index("line", 2).filter(~(once & finite))
    if bad.height:
        line, *values = bad.row(0)
        raise ResiduumError(f"{path}, line {line}: not a finite number, or a duplicate: {values}")
    return table

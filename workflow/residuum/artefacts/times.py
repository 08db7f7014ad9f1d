"""Write and read how long a table's systems take for a query: seconds are no result.

Usage: `write(path, table)`, `read(path)`. Milliseconds are medians of repeats.
"""

from pathlib import Path

import polars as pl

from residuum.artefacts import columns, files
from residuum.artefacts.columns import Columns

AXIS = "ms a query"
PHASES = ("encode", "search", "score", "fuse", "rerank")  # of a search, in their order
COLUMNS: Columns = {
    **dict.fromkeys(["row", "label", "column", "header"], pl.String),
    "value": pl.Float64,
    **dict.fromkeys(["ms", "least_ms", "most_ms"], pl.Float64),
    **{f"{phase}_ms": pl.Float64 for phase in PHASES},  # 0 where a search has no such phase
    **dict.fromkeys(["queries", "at_once", "repeats", "threads"], pl.Int64),
    "machine": pl.String,
}


def write(path: Path, table: pl.DataFrame) -> None:
    """Write a line for each system, with the columns of COLUMNS."""
    files.write_text(path, table.select(*COLUMNS).write_csv(separator="\t"))


def read(path: Path) -> pl.DataFrame:
    """Return the lines of a file; one that does not fit raises ResiduumError."""
    table = columns.read(path, COLUMNS, header=True)
    odd = ~pl.all_horizontal(pl.col(pl.Float64).is_finite())
    columns.refuse(path, table, odd, "not a finite number", header=True)
    return table

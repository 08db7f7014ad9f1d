"""The TSVs of pages and tests, read back by those that judge, render or explain them.

Usage: `tsv.read(Path("tables/clear-table1.tsv"), ["row", "column"])`.
Must not know what a column means.
"""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from residuum.core import files
from residuum.core.errors import ResiduumError

AGAIN = "make it again: delete it, then snakemake --cores all"


def read(path: Path, columns: Iterable[str] = ()) -> pl.DataFrame:
    """Read a TSV; one that is not there, is cut short or lacks a column is a ResiduumError."""
    data = files.read_bytes(path)
    if not data.endswith(b"\n"):
        what = "its last line is cut short" if data else "it is empty"
        raise ResiduumError(f"{path}: {what}; {AGAIN}")
    try:
        found = pl.read_csv(data, separator="\t", infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        said = " ".join(str(error).split())
        raise ResiduumError(f"{path}: cannot be read as a TSV ({said}); {AGAIN}") from None
    if missing := [name for name in columns if name not in found.columns]:
        raise ResiduumError(f"{path}: it lacks the column {missing[0]}; {AGAIN}")
    return found

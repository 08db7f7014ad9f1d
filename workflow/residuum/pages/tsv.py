"""The TSVs of pages and tests: rows of a dataclass written, and read back as they were.

Usage: `frame(rows, Comparison).write_csv(...)`, `rows(Path("significance/clear-table1.tsv"),
Comparison)`. Must not know what they mean.
"""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import TypeVar, get_args

import polars as pl

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError

AGAIN = "make it again: delete it, then snakemake --cores all"
TYPES = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
Row = TypeVar("Row")


def columns(form: type) -> dict[str, type[pl.DataType]]:
    """Return the columns of a dataclass of texts, numbers and flags, any of which may be None."""
    types = {field.name: get_args(field.type) or (field.type,) for field in fields(form)}
    return {name: TYPES[next(t for t in types[name] if t is not NoneType)] for name in types}


def frame(rows: Sequence[Row], form: type[Row]) -> pl.DataFrame:
    """Return rows as a table with a column per field."""
    schema = columns(form)
    data = [[getattr(row, name) for name in schema] for row in rows]
    return pl.DataFrame(data, schema=schema, orient="row")


def rows(path: Path, form: type[Row], optional: Sequence[str] = ()) -> list[Row]:
    """Read a TSV as rows; columns that are optional may be absent, and others are not read.

    A file that is absent, is cut short or lacks a column is a ResiduumError.
    """
    data, schema = files.read_bytes(path), columns(form)
    if not data.endswith(b"\n"):
        what = "its last line is cut short" if data else "it is empty"
        raise ResiduumError(f"{path}: {what}; {AGAIN}")
    try:
        table = pl.read_csv(data, separator="\t", schema_overrides=schema, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        why = " ".join(str(error).split())
        raise ResiduumError(f"{path}: cannot be read as a TSV ({why}); {AGAIN}") from None
    if missing := [name for name in schema if name not in (*table.columns, *optional)]:
        raise ResiduumError(f"{path}: it lacks the column {missing[0]}; {AGAIN}")
    known = table.select(name for name in schema if name in table.columns)
    return [form(**row) for row in known.iter_rows(named=True)]

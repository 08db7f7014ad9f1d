"""Write and read a measurement of fidelity: four tables in a folder.

Usage: `write(folder, pairs, draws, margins, recall)`, `read(folder)`.
"""

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import polars as pl

from residuum.artefacts import files, intact, manifest
from residuum.artefacts.columns import Columns
from residuum.cli.errors import ResiduumError

COLUMNS: dict[str, Columns] = {
    # A row per bin of pairs by x, and number of dimensions. `exact` (for Gaussian projections) and
    # `guaranteed` (by Lemma 1) dimensions turn as many pairs as are allowed. `error` is the share
    # of pairs that projections to `dimensions` turn: mean, least and most of the draws.
    "pairs": {
        "from": pl.Float64, "to": pl.Float64, "pairs": pl.Int64, "margin": pl.Float64,
        "x": pl.Float64, "exact": pl.Int64, "guaranteed": pl.Int64, "dimensions": pl.Int64,
        "error": pl.Float64, "error_least": pl.Float64, "error_most": pl.Float64,
    },
    # A row per bin of pairs and draw: the least of the tried dimensions at which this draw alone
    # turns as few pairs as are allowed, or null.
    "draws": {"x": pl.Float64, "draw": pl.Int64, "dimensions": pl.Int64},
    # A row per query and group of docs by length: the n-th smallest margin.
    "margins": {
        "length": pl.String, "query_id": pl.String, "nearest": pl.Int64, "margin": pl.Float64,
    },
    # The share of queries whose first doc in the group stays among the first docs.
    "recall": {
        "length": pl.String, "docs": pl.Int64, "queries": pl.Int64, "dimensions": pl.Int64,
        "recall": pl.Float64, "recall_least": pl.Float64, "recall_most": pl.Float64,
    },
}  # fmt: skip


ALL = "all"  # docs of any length


class Measured(NamedTuple):
    """The four tables, with the columns of COLUMNS, and the facts in the manifest."""

    pairs: pl.DataFrame
    draws: pl.DataFrame
    margins: pl.DataFrame
    recall: pl.DataFrame
    facts: manifest.Facts


def write(folder: Path, **tables: Iterable[Mapping[str, object]]) -> None:
    """Write the tables pairs, draws, margins and recall into a folder, a row for each mapping."""
    for name, columns in COLUMNS.items():
        table = pl.DataFrame(list(tables[name]), schema=columns)
        files.write_text(folder / f"{name}.tsv", table.write_csv(separator="\t"))


def read(folder: Path) -> Measured:
    """Read a measurement; other bytes or columns than were recorded raise ResiduumError."""
    tables = {name: _read(folder / f"{name}.tsv", columns) for name, columns in COLUMNS.items()}
    return Measured(**tables, facts=manifest.facts(folder, "measurements of fidelity"))


def least(table: pl.DataFrame, by: list[str], enough: pl.Expr) -> pl.DataFrame:
    """Return, per group of rows, the least dimensions at which `enough` is true, or null."""
    reached = pl.col("dimensions").filter(enough).min()
    return table.group_by(by, maintain_order=True).agg(reached)


def _read(path: Path, columns: Columns) -> pl.DataFrame:
    data = files.read_bytes(intact.checked(path))
    header = data.partition(b"\n")[0].decode()
    if header.split("\t") != [*columns]:
        raise ResiduumError(f"{path}, line 1: expected {', '.join(columns)}, found {header!r}")
    try:
        return pl.read_csv(BytesIO(data), separator="\t", schema=columns)
    except pl.exceptions.PolarsError as error:
        text = str(error).splitlines()[0]
        raise ResiduumError(f"{path}: {text}. {files.REMAKE}") from None

"""Official training triples on disk: gzipped TSV of query_id, positive, negative.

Usage: `docpairs.write(path, rows)`, `docpairs.read(path, first=4_000_000)`. Writing streams.
Reading stops after the first triples that were requested.
"""

import gzip
import io
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import polars as pl

from residuum.artefacts import files, intact
from residuum.artefacts.streams import write_gzip_lines
from residuum.cli.errors import ResiduumError

DocPair = tuple[str, str, str]  # query_id, positive, negative
COLUMNS = dict.fromkeys(["query_id", "positive", "negative"], pl.String)


def write(path: Path, rows: Iterable[DocPair]) -> int:
    """Write triples in order and return their number; ids must be without white space."""
    return write_gzip_lines(path, map(_line, rows))


def _line(row: DocPair) -> str:
    line = "\t".join(row)
    if line.split() != [*row]:
        raise ResiduumError(f"triple {row}: an id is empty or holds white space")
    return line + "\n"


def read(path: Path, first: int | None = None) -> pl.DataFrame:
    """Return the first triples, or all; fewer triples than `first` raise ResiduumError."""
    try:
        with files.undamaged(path), gzip.open(intact.checked(path), "rb") as handle:
            lines = list(islice(handle, first))
    except FileNotFoundError:
        raise ResiduumError(f"{path}: no such file. {files.REMAKE}") from None
    if first and len(lines) < first:
        found = f"{len(lines):,} triples, but the model takes the first {first:,}"
        raise ResiduumError(f"{path}: {found}; lower negatives.triples.first or leave it out")
    data = io.BytesIO(b"".join(lines))
    if not lines:
        return pl.DataFrame(schema=COLUMNS)
    return pl.read_csv(data, separator="\t", has_header=False, schema=COLUMNS, quote_char=None)

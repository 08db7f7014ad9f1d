"""Hits that another vector than the first of a text wins, beside hits; their share, in manifests.

Usage: `write(folder, split, pairs)`, `read(folder, split)`; `recorded(run)` of a dense run or its
metrics. Models with one vector a text have neither.
"""

from pathlib import Path

import polars as pl

from residuum.artefacts import files, manifest, trec
from residuum.artefacts.columns import Columns

SHARE = "won_by_other_vectors"  # key in the manifests of a dense run and its metrics
FIRST = 10  # docs of a list that are looked at
PAIR: Columns = {"query_id": pl.String, "doc_id": pl.String}


def write(folder: Path, split: str, pairs: pl.DataFrame) -> None:
    """Write query_id and doc_id of a shard's first hits that other vectors win, as Parquet."""
    with files.whole(_path(folder, split)) as temporary:
        pairs.select(*PAIR).write_parquet(temporary)


def read(folder: Path, split: str) -> pl.DataFrame | None:
    """Read what `write` wrote; None if the shard's model has one vector a text."""
    path = _path(folder, split)
    return trec.read_parquet(path, PAIR) if path.is_file() else None


def recorded(artefact: Path) -> float | None:
    """Return the share of first hits that other vectors win; None if it is not recorded."""
    share = manifest.facts_of(artefact).get(SHARE)
    return None if share is None else float(share)


def _path(folder: Path, split: str) -> Path:
    return folder / f"{split}.others.parquet"

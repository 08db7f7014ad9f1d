"""Hits of a shard's search, by split, in files of some thousand queries each.

Usage: `write(folder, "dev", parts)`; `for tables in read(folders, "dev")` has the same queries of
all shards. So neither a search nor a merge holds the lists of all queries.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from residuum.artefacts import files, trec
from residuum.cli.errors import ResiduumError

LINES = 1_000_000  # of a file: a search holds one, a merge two, and the rows that it sorts
QUERIES = 20_000  # of a file at most: 60 MB of vectors of 768 dimensions


def queries_at_once(k: int) -> int:
    """Return how many queries a file holds, with `k` hits each."""
    return max(1, min(QUERIES, LINES // k))


def write(folder: Path, split: str, parts: Iterable[pl.DataFrame]) -> int:
    """Write the hits of some queries, then of others, as `trec.write_hits` does; count lines.

    Query ids rise within a part and from part to part, and each shard's parts are cut alike.
    """
    lines = 0
    for number, part in enumerate(parts):
        path = folder / split / f"{number:05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        trec.write_hits(path, part)
        lines += part.height
    return lines


def holds(folder: Path, split: str) -> bool:
    """Say whether a shard was searched for the queries of a split."""
    return (folder / split).is_dir()


def read(folders: Sequence[Path], split: str) -> Iterator[Iterator[pl.DataFrame]]:
    """Yield what `write` wrote for some queries, a table for each shard, then for others.

    A table is read when it is asked for.
    """
    names = [sorted(path.name for path in (folder / split).iterdir()) for folder in folders]
    for folder, found in zip(folders, names, strict=True):
        if found != names[0]:
            raise ResiduumError(
                f"{folder / split}: {len(found)} files, and {folders[0] / split} has "
                f"{len(names[0])}: they were cut for different depths. {files.REMAKE}"
            )
    for name in names[0]:
        yield (trec.read_hits(folder / split / name) for folder in folders)

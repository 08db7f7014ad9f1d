"""Process streams that do not fit in memory: in lists, for duplicates, or kept on disk.

Usage: `for batch in chunks(docs, 1000)`; `finder.add(doc_id)` for each, then `finder.repeated()`;
`with disk_list(path, doc_ids) as doc_ids: doc_ids[7]`; `with disk_dict(path) as texts:
texts.add(key, text)`; `with disk_lists(path, lists) as docs: docs[query_id]`.
"""

import os
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from random import Random
from typing import BinaryIO, TypeVar

import numpy as np

from residuum.artefacts import files

BUCKETS = 256
WAITING = 1 << 17  # digests held in memory: a megabyte
LINES_AT_ONCE = 256  # of a gzip file
TEXTS_AT_ONCE = 4096
END = np.dtype("<i8")
T = TypeVar("T")


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last possibly shorter, with one list in memory."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def write_gzip_lines(path: Path, lines: Iterable[str]) -> int:
    """Write lines, each with its end, as a gzip file, and return their number."""
    counts = []

    def blocks() -> Iterator[bytes]:
        for some in chunks(lines, LINES_AT_ONCE):
            counts.append(len(some))
            yield "".join(some).encode()

    files.write_gzip(path, blocks())
    return sum(counts)


class DuplicateFinder:
    """Digests of texts in 256 files; duplicates are found with a file at a time in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting = [array("Q") for _ in range(BUCKETS)]
        self._count = 0

    def add(self, text: str) -> None:
        """Add a text by its `files.digest`; among 10^19 pairs of texts, two share their digest."""
        digest = files.digest(text)
        self._waiting[digest % BUCKETS].append(digest)
        self._count += 1
        if self._count % WAITING == 0:
            self._spill()

    def _spill(self) -> None:
        for number, waiting in enumerate(self._waiting):
            if waiting:
                with open(self._folder / f"{number:03d}", "ab") as handle:
                    waiting.tofile(handle)
                del waiting[:]

    def repeated(self) -> Iterator[set[int]]:
        """Yield the sets of digests that were added more than once, file by file."""
        self._spill()
        for path in sorted(self._folder.iterdir()):
            digests, counts = np.unique(np.fromfile(path, np.uint64), return_counts=True)
            if (counts > 1).any():
                yield set(digests[counts > 1].tolist())


class DiskList:
    """Texts in a file, by number, and not in memory."""

    def __init__(self, texts: BinaryIO, ends: BinaryIO, length: int) -> None:
        self._texts, self._ends, self._length = texts, ends, length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, number: int) -> str:
        """Return the text of a number, counted from 0."""
        ends = os.pread(self._ends.fileno(), 2 * END.itemsize, number * END.itemsize)
        start, end = np.frombuffer(ends, END).tolist()
        return os.pread(self._texts.fileno(), end - start, start).decode()


def drawn(
    texts: "DiskList | Sequence[str]", count: int, left_out: Set[str], random: Random
) -> list[str]:
    """Draw at least `count` texts uniformly from those not left out; all if there are fewer."""
    size = min(len(texts), count + len(left_out))
    taken = map(texts.__getitem__, random.sample(range(len(texts)), size))
    return [text for text in taken if text not in left_out]


@contextmanager
def disk_list(path: Path, texts: Iterable[str]) -> Iterator[DiskList]:
    """Yield the texts as a DiskList, stored beside `path` until the block ends."""
    with (
        files.scratch(path) as folder,
        open(folder / "texts", "w+b") as held,
        open(folder / "ends", "w+b") as ends,
    ):
        length = end = 0
        ends.write(np.zeros(1, END).tobytes())
        for some in chunks(texts, TEXTS_AT_ONCE):
            encoded = [text.encode() for text in some]
            offsets = end + np.cumsum([len(text) for text in encoded], dtype=END)
            held.write(b"".join(encoded))
            ends.write(offsets.tobytes())
            length, end = length + len(some), int(offsets[-1])
        held.flush()
        ends.flush()
        yield DiskList(held, ends, length)


class DiskLists:
    """Ids in lists, by key, on disk; memory holds the keys."""

    def __init__(self, texts: DiskList, numbers: Mapping[str, int]) -> None:
        self._texts, self._numbers = texts, numbers

    def __contains__(self, key: str) -> bool:
        """Say whether a key has a list."""
        return key in self._numbers

    def __getitem__(self, key: str) -> list[str]:
        """Return the list of a key."""
        return self._texts[self._numbers[key]].split()

    def items(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each key and its list, in the order in which they came."""
        return ((key, self[key]) for key in self._numbers)


@contextmanager
def disk_lists(path: Path, lists: Iterable[tuple[str, Sequence[str]]]) -> Iterator[DiskLists]:
    """Yield lists of ids, none of which has white space, stored beside `path` until the block ends.

    A key comes once.
    """
    numbers = dict[str, int]()

    def texts() -> Iterator[str]:
        for key, ids in lists:
            numbers[key] = len(numbers)
            yield " ".join(ids)

    with disk_list(path, texts()) as held:
        yield DiskLists(held, numbers)


class DiskDict:
    """Texts in a file, by key, and not in memory."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute("CREATE TABLE held (key TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID")

    def __len__(self) -> int:
        return int(self._database.execute("SELECT count(*) FROM held").fetchone()[0])

    def add(self, key: str, text: str) -> bool:
        """Store a text under a key; return False, and keep the old text, if the key exists."""
        added = self._database.execute("INSERT OR IGNORE INTO held VALUES (?, ?)", (key, text))
        return added.rowcount == 1

    def pop(self, key: str) -> str | None:
        """Remove and return the text of a key, or None if the key does not exist."""
        found = self._database.execute("DELETE FROM held WHERE key = ? RETURNING text", (key,))
        rows = found.fetchall()
        return str(rows[0][0]) if rows else None

    def first(self) -> str:
        """Return the smallest key."""
        return str(self._database.execute("SELECT min(key) FROM held").fetchone()[0])


@contextmanager
def disk_dict(path: Path) -> Iterator[DiskDict]:
    """Yield an empty DiskDict, stored beside `path` until the block ends."""
    with files.scratch(path) as folder:
        database = sqlite3.connect(folder / "held.db", isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("PRAGMA synchronous = OFF")
            database.execute("BEGIN")
            yield DiskDict(database)
        finally:
            database.close()

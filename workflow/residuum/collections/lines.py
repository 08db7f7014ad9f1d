"""Read numbered lines of the user's files: plain, gzipped, or packed by Unix compress.

Usage: `for number, line in numbered(path): ...`. A byte order mark is removed.
"""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from residuum.artefacts.files import BOM, JOINED, undamaged
from residuum.cli.errors import ResiduumError

COMPRESSED = (".z", ".0z", ".1z", ".2z")  # Unix compress, as on TREC's disks
AGAIN = "Get the file again."
MOST_SHOWN = 60  # characters shown of a faulty line


def numbered(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (number from 1, line without its end), leaving out empty lines."""
    for number, line in ended(path, encoding):
        if line.strip():
            yield number, line.rstrip("\r\n")


def ended(path: Path, encoding: str = "utf-8", hint: str = AGAIN) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, line with its end); damaged data raises ResiduumError."""
    with undamaged(path, AGAIN), opened(path) as handle:
        for number, line in decoded(path, handle, encoding, hint):
            if number > 1 and line.startswith(BOM):
                raise ResiduumError(f"{path}, line {number}: {JOINED}")
            yield number, line.removeprefix(BOM)


def decoded(
    where: Path | str, lines: Iterable[bytes], encoding: str = "utf-8", hint: str = AGAIN
) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, line with its end).

    Undecodable bytes, to whose error `hint` is added, and an unknown encoding raise ResiduumError.
    """
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            yield number, line.decode(encoding)
    except UnicodeDecodeError as error:
        raise ResiduumError(
            f"{where}, line {number}: not {encoding.upper()} ({error.reason} at byte {error.start} "
            f"of the line). {hint}"
        ) from None
    except LookupError:
        raise ResiduumError(f"source.encoding: {encoding}: Python has no such encoding") from None


def opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    """Open a file for reading unpacked bytes; damaged data raises an error of `files.DAMAGE`."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")
    if path.suffix.lower() not in COMPRESSED:
        return open(path, "rb")
    from ir_datasets import lazy_libs

    try:
        return io.BytesIO(lazy_libs.unlzw3().unlzw(path))
    except ValueError as error:
        raise zlib.error(str(error)) from None

"""Read numbered lines of people's files: plain, gzipped, or packed by Unix compress.

Usage: `for number, line in numbered(path): ...`. A byte order mark is removed.
"""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from residuum.artefacts.files import BOM, JOINED, undamaged
from residuum.cli.errors import ResiduumError
from residuum.collections.faults import COMPRESSED

AGAIN = "Get the file again."
MOST_SHOWN = 60  # characters shown of a faulty line


def numbered(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (number from 1, line without its end), leaving out empty lines."""
    for number, line in ended(path, encoding):
        if line.strip():
            yield number, line.rstrip("\r\n")


def ended(path: Path, encoding: str = "utf-8", hint: str = "") -> Iterator[tuple[int, str]]:
    """Yield (number from 1, line with its end); `hint` is added to errors of decoding.

    Truncated data, undecodable bytes, and an unknown encoding raise ResiduumError.
    """
    number = 0
    try:
        with undamaged(path, AGAIN), opened(path) as handle:
            for number, line in enumerate(handle, start=1):
                text = line.decode(encoding)
                if number > 1 and text.startswith(BOM):
                    raise ResiduumError(f"{path}, line {number}: {JOINED}")
                yield number, text.removeprefix(BOM)
    except UnicodeDecodeError as error:
        raise ResiduumError(
            f"{path}, line {number}: not {encoding.upper()} ({error.reason} at byte {error.start} "
            f"of the line). {hint or AGAIN}"
        ) from None
    except LookupError:
        raise ResiduumError(f"source.encoding: {encoding}: Python has no such encoding") from None


def opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    """Open a file for reading unpacked bytes."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")
    if path.suffix.lower() not in COMPRESSED:
        return open(path, "rb")
    from ir_datasets import lazy_libs

    try:
        return io.BytesIO(lazy_libs.unlzw3().unlzw(path))
    except ValueError as error:
        raise ResiduumError(f"{path}: no data of compress, or damaged ({error}). {AGAIN}") from None

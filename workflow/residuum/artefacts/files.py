"""Files that appear whole or not at all, gzip without a clock, and hashes.

Usage: `with whole(path) as temporary: temporary.write_text(...)`. Must not know any stage.
"""

import gzip
import hashlib
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from residuum.cli.errors import ResiduumError

GZIP_LEVEL = 1  # runs are rewritten often and read at once: speed over size
GZIP_FORM = 31  # zlib's number for a gzip header, which it writes with mtime 0 and no file name


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it when the block ends without an error."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """Give an empty temporary directory beside `path`; it takes the place of `path` at the end."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        replace_directory(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """Give an empty directory beside `path` for what memory should not hold; it goes at the end."""
    folder = Path(path).with_name(f".{Path(path).name}.scratch")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def replace_directory(made: Path, path: Path) -> None:
    """Move a finished directory to its place, removing what an earlier job left there."""
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(made, path)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with LF line ends, whole or not at all."""
    with whole(path) as temporary:
        temporary.write_bytes(text.encode())


def gzip_bytes(data: bytes) -> bytes:
    """Compress with mtime 0 and no file name, so that equal data gives equal bytes."""
    return b"".join(_compressed([data]))


def write_gzip(path: Path, blocks: Iterable[bytes]) -> None:
    """Write the `gzip_bytes` of all blocks together, wherever one ends, holding one at a time."""
    with open(path, "wb") as handle:
        handle.writelines(_compressed(blocks))


def _compressed(blocks: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_FORM)
    yield from map(packer.compress, blocks)
    yield packer.flush()


def read_bytes(path: Path) -> bytes:
    """Read a file, decompressing `.gz`; a truncated or missing file is a ResiduumError."""
    path = Path(path)
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except FileNotFoundError:
        raise ResiduumError(f"{path}: no such file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ResiduumError(damaged(path, error)) from None
    except OSError as error:
        raise ResiduumError(f"{path}: cannot be read ({error.strerror})") from None


def read_lines(path: Path) -> list[str]:
    """Read the lines of a UTF-8 text, ended by line feeds only: other ends may stand in a line."""
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise ResiduumError(f"{path}: not UTF-8 ({error})") from None
    return text.removesuffix("\n").split("\n") if text else []


REMAKE = "If residuum made it, delete it and run the same command again; if not, get it again."


def damaged(path: Path, error: Exception, remedy: str = REMAKE) -> str:
    """Word the complaint about a gzip file that cannot be read to its end."""
    return f"{path}: the gzip data is truncated or damaged ({error}). {remedy}"


def sha256(path: Path) -> str:
    """Return the hex SHA-256 of a file's bytes."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of all files below a directory."""
    return sha256_tree(path) if Path(path).is_dir() else sha256(path)


def sha256_tree(path: Path) -> str:
    """Return one SHA-256 over the names and bytes of all files below a directory."""
    digest = hashlib.sha256()
    for file in sorted(p for p in Path(path).rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(path).as_posix()}\0{sha256(file)}\n".encode())
    return digest.hexdigest()

"""Files that appear whole or not at all, gzip without a clock, and hashes.

Usage: `with whole(path) as temporary: temporary.write_text(...)`.
"""

import codecs
import fcntl
import gzip
import hashlib
import os
import platform
import shutil
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from residuum.cli.errors import ROOM, ResiduumError, full

GZIP = b"\x1f\x8b"  # what such data begins with
BOM = "\ufeff"  # a byte order mark: before a text it is skipped, and within one two were joined
JOINED = "a byte order mark within the file: two files were joined. Delete it"
GZIP_LEVEL = 1  # runs are rewritten often and read at once: speed over size
GZIP_FORM = 31  # zlib's number for a gzip header, which it writes with mtime 0 and no file name
# A run of the same docs for every query is up to 23 times as long as its gzip data.
MOST_RATIO, SMALL = 64, 100_000_000  # times the file's size; bytes that are read at any ratio
PART, SCRATCH, WORK = "part", "scratch", "work"  # endings of the names beside a path
TRIES = 100  # of making a folder that others delete
LOCK = ".lock"  # ending of a lock file, behind one of these
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError)
BROKEN = "the compressed data is cut short or damaged"
State = tuple[int, int, int, int]
REMAKE = "If residuum made it, delete it and run the same command again; if not, get it again."


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it when the block ends without an error.

    A link stays, and its target is replaced. A folder, a device, and a file where a folder belongs
    raise ResiduumError. If another process writes the same file, this one waits for it.
    """
    target = path.resolve()
    if path.exists() and not path.is_file():  # the target of a pipe has no name that exists
        raise ResiduumError(f"{path}: a folder or a device, which no file replaces; name a file")
    with _room_for(path), _alone(target, PART, waits=True) as temporary:
        yield temporary
        os.replace(temporary, target)


@contextmanager
def _alone(path: Path, suffix: str, waits: bool = False) -> Iterator[Path]:
    """Give a free name beside `path` that no other process uses meanwhile.

    A lock file beside the name says whose it is, and the kernel frees the lock. So files of a
    killed process are deleted. A file without a lock file is not residuum's: a ResiduumError.
    """
    if not path.name:
        raise ResiduumError(f"{path}: no file or folder that can be replaced; name one")
    made = path.with_name(f".{path.name}.{suffix}")
    absent = [parent for parent in path.parents if not parent.exists()]
    lock = locked(path, Path(f"{made}{LOCK}"), waits)
    try:
        if os.path.lexists(made) and not lock.read(1):
            Path(lock.name).unlink()
            raise ResiduumError(
                f"{made}: exists, and is not residuum's, which writes {path.name} under that name "
                "first. Move it away or delete it, then run the same command again."
            )
        _remove(made)
        try:
            sign(lock)
            yield made
        finally:
            _remove(made)
            if not os.path.lexists(made):  # else the lock tells the next run whose it is
                Path(lock.name).unlink(missing_ok=True)
    finally:
        lock.close()
        with suppress(OSError):  # something was written there, or another process has one
            for parent in absent:
                parent.rmdir()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let only this process work in a folder, which stays; a second one raises ResiduumError.

    Long work starts with it, so that a second run ends before it begins.
    """
    with _alone(folder, WORK):
        yield


def locked(path: Path, lock_path: Path, waits: bool = False) -> IO[str]:
    """Open and lock the file that says which process writes `path`.

    It is empty, unless a process was killed while it wrote. The kernel frees the lock with the
    process. Without `waits`, a lock of another process raises ResiduumError. A file system without
    locks gives it to everyone.
    """
    while True:
        lock = _opened(path, lock_path)
        lock.seek(0)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            with lock:
                holder = lock.read() or "another process"
            raise ResiduumError(
                f"{path}: {holder} is writing it. Wait until that ends, or stop it."
            ) from None
        except OSError:
            return lock
        with suppress(FileNotFoundError):  # the one before has ended, and taken its lock away
            if os.path.samestat(os.fstat(lock.fileno()), lock_path.stat()):
                return lock
        lock.close()


def _opened(path: Path, lock_path: Path) -> IO[str]:
    """Open the lock file, after making its folder if there is none."""
    folder = lock_path.parent
    for _ in range(TRIES):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return open(lock_path, "a+", encoding="utf-8")
        except (FileExistsError, NotADirectoryError):
            raise ResiduumError(f"{path}: {folder} is a file, and no folder") from None
        except IsADirectoryError:
            text = f"{lock_path} is a folder, and a lock file belongs there. Move it away"
            raise ResiduumError(f"{path}: cannot be written: {text}") from None
        except FileNotFoundError:  # another process that wrote nothing has deleted its folder
            continue
        except OSError as error:
            raise ResiduumError(
                f"{path}: cannot be written ({error.strerror}). Name a path where you may write"
            ) from None
    raise ResiduumError(f"{path}: cannot be written: {folder} cannot be made")


def sign(lock: IO[str]) -> None:
    """Write the process that holds a lock into the lock's file."""
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {platform.node()}")
    lock.flush()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def drop_unfinished(folder: Path) -> None:
    """Delete the unfinished files of killed processes in a folder, and no other file."""
    for lock in folder.glob(f".*{LOCK}"):
        name, _, suffix = lock.name.removesuffix(LOCK)[1:].rpartition(".")
        with suppress(ResiduumError):  # it is being written, or another process deletes it
            if suffix in (PART, SCRATCH, WORK):
                with _alone(folder / name, suffix):
                    pass


@contextmanager
def _room_for(path: Path) -> Iterator[None]:
    """Turn what libraries raise where a disk is full into one ResiduumError."""
    try:
        yield
    except Exception as error:
        if not full(error):
            raise
        free = shutil.disk_usage(path.parent).free / 1e6
        raise ResiduumError(
            f"{path}: cannot be written: the disk is full, or a quota or a limit of file sizes is "
            f"reached ({free:,.0f} MB are free). {ROOM}"
        ) from None


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """Give an empty temporary directory beside `path`; it replaces `path` at the end.

    A link stays, and its target is replaced. A file under that name, and another process that makes
    the same directory, raise ResiduumError.
    """
    target = path.resolve() if path.is_symlink() else path
    if target.exists() and not target.is_dir():
        raise ResiduumError(f"{path}: a file, which no folder replaces; name a folder")
    with scratch(target, PART) as temporary:
        yield temporary
        replace_directory(temporary, target)


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Give an empty temporary directory that becomes `path`, which must not exist."""
    with scratch(path, PART) as temporary:
        if os.path.lexists(path):
            raise ResiduumError(f"{path}: exists. Name another folder with --output, or remove it.")
        yield temporary
        os.rename(temporary, path)


@contextmanager
def scratch(path: Path, suffix: str = SCRATCH) -> Iterator[Path]:
    """Give an empty directory beside `path`, deleted at the end, for data too large for memory.

    If another process has it, that is a ResiduumError.
    """
    with _room_for(path), _alone(path, suffix) as folder:
        folder.mkdir()
        yield folder


@contextmanager
def temporary(name: str) -> Iterator[Path]:
    """Give an empty directory among the system's temporary files, deleted at the end.

    Directories that killed processes left under the same name are deleted too.
    """
    prefix = f"residuum-{name}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # a process works in it, or has just deleted it
            found = left.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
                drop_unfinished(left)
                left.rmdir()
    with tempfile.TemporaryDirectory(prefix=prefix) as made, scratch(Path(made) / name) as folder:
        yield folder


def replace_directory(made: Path, path: Path) -> None:
    """Move a finished directory to its path, after deleting what an earlier job left there."""
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(made, path)


def stays(name: str) -> bool:
    """Say whether a relative path stays in its folder; a foreign file may name a harmful one."""
    return not name.startswith("/") and ".." not in name.split("/")


def within(folder: Path, name: str) -> Path:
    """Return a path that a foreign file names in a folder; a path outside is a ResiduumError."""
    if not stays(name):
        raise ResiduumError(
            f"{folder}: '{name}', which a file there names, leads out of the folder. Nothing "
            "outside is read or written. Get the folder again, or have it made again."
        )
    return folder / name


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with LF line ends as `write_blocks` does."""
    write_blocks(path, [text.encode()])


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines, each with its end, as `write_blocks` does."""
    write_blocks(path, map(str.encode, lines))


def write_blocks(path: Path, blocks: Iterable[bytes]) -> None:
    """Write a file whole or not at all, with one block in memory; it is gzip if named `.gz`."""
    with whole(path) as temporary:
        if path.suffix == ".gz":
            write_gzip(temporary, blocks)
        else:
            with open(temporary, "wb") as handle:
                handle.writelines(blocks)


def packed(path: Path) -> Path:
    """Return the path that gzip data is written to; one not named `.gz` is a ResiduumError."""
    if path.suffix != ".gz":
        raise ResiduumError(f"{path}: gzip data is written: name it {path.name}.gz")
    return path


def write_gzip(path: Path, blocks: Iterable[bytes]) -> None:
    """Compress blocks, holding one at a time; equal data gives equal bytes, however it is cut."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_FORM)
    with open(path, "wb") as handle:
        handle.writelines(map(packer.compress, blocks))
        handle.write(packer.flush())


def read_bytes(path: Path) -> bytes:
    """Read a file, decompressing `.gz`; a truncated or missing file is a ResiduumError."""
    try:
        if stat.S_ISCHR(mode := path.stat().st_mode) or stat.S_ISBLK(mode):
            raise ResiduumError(f"{path}: a device, and no file. Name a file")
        data = path.read_bytes()
        if path.suffix != ".gz":
            return data
        if data and not data.startswith(GZIP):
            raise ResiduumError(f"{path}: named .gz, and holds no gzip data. Name it without .gz")
        with undamaged(path):
            return _unpacked(path, data)
    except FileNotFoundError:
        raise ResiduumError(f"{path}: no such file") from None
    except OSError as error:
        raise ResiduumError(f"{path}: cannot be read ({error.strerror})") from None


def read_blocks(path: Path, size: int) -> Iterator[bytes]:
    """Yield the lines of a file in blocks of about `size` bytes, decompressing `.gz`."""
    opened = gzip.open if path.suffix == ".gz" else open
    rest = b""
    with undamaged(path), opened(path, "rb") as handle:
        while data := handle.read(size):
            lines, end, rest = (rest + data).rpartition(b"\n")
            if end:
                yield lines + end
    if rest:
        yield rest


def _unpacked(path: Path, data: bytes) -> bytes:
    """Decompress gzip data; data that would fill the memory raises ResiduumError."""
    most = max(SMALL, MOST_RATIO * len(data))
    parts, size = list[bytes](), 0
    while data:
        member = zlib.decompressobj(GZIP_FORM)
        parts.append(member.decompress(data, most + 1 - size))
        size += len(parts[-1])
        if size > most:
            raise ResiduumError(
                f"{path}: its gzip data unpacks to more than {most / 1e6:,.0f} MB, at least "
                f"{MOST_RATIO} times the file's size, as no table of lines does. If it is a table, "
                "unpack it"
            )
        if not member.eof:
            raise EOFError("it ends before its end-of-stream marker")
        data = member.unused_data.lstrip(b"\0")  # zeros may be behind a member
    return b"".join(parts)


def read_lines(path: Path) -> list[str]:
    """Read the lines of a UTF-8 text, which only line feeds end.

    A byte order mark before the first line is removed, and one before another line is an error.
    """
    data = read_bytes(path)
    refuse_joined(path, data)
    text = _decoded(path, data)
    return text.removesuffix("\n").split("\n") if text else []


def refuse_joined(path: Path, text: bytes) -> None:
    """Raise ResiduumError for a byte order mark before another line than the first."""
    if codecs.BOM_UTF8[:1] not in text:  # the search for one byte is much faster
        return
    if (at := text.find(b"\n" + codecs.BOM_UTF8)) >= 0:
        line = text.count(b"\n", 0, at) + 2
        raise ResiduumError(f"{path}, line {line}: {JOINED}")


def read_text(path: Path) -> str:
    """Read a UTF-8 text, without a byte order mark before the first character."""
    return _decoded(path, read_bytes(path))


def _decoded(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ResiduumError(f"{path}, line {line}: not UTF-8 ({error.reason})") from None


@contextmanager
def undamaged(where: Path | str, remedy: str = REMAKE) -> Iterator[None]:
    """Turn the error of compressed data that cannot be read to its end into a ResiduumError."""
    try:
        yield
    except DAMAGE as error:
        raise ResiduumError(f"{where}: {BROKEN} ({error}). {remedy}") from None


def digest(text: str) -> int:
    """Return a hash of a text in 64 bits, the same on every machine."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def sha256(path: Path) -> str:
    """Return the hex SHA-256 of a file, which a process reads again only after a change."""
    return _sha256(path, state(path))


def state(path: Path) -> State:
    """Return facts of a file that differ after each change, without reading its bytes.

    Programs can set the time of a file's modification, but not that of its last change (ctime).
    """
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns


@cache  # some hundred bytes for each file that a process reads
def _sha256(path: Path, _: State) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and bytes of all files of a directory."""
    if not path.is_dir():
        return sha256(path)
    within = sorted(file for file in path.rglob("*") if file.is_file())
    return sha256_of_all((file.relative_to(path), sha256(file)) for file in within)


def sha256_of_all(hashes: Iterable[tuple[Path, str]]) -> str:
    """Return the SHA-256 of a directory: of its files' names, in their order, and hashes."""
    lines = (f"{name.as_posix()}\0{digest}\n" for name, digest in hashes)
    return hashlib.sha256("".join(lines).encode()).hexdigest()

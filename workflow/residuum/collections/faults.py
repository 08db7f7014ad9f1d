"""Find where a file of a third party's collection is broken: file, line, and fault.

Usage: `with opened_below(home) as seen: ...`. Call `first(seen, error)` after a reader failed or
returned too little. It reads the files again, the last opened first.
"""

import gzip
import io
import os
import re
import sys
import tarfile
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import ParseError

from residuum.artefacts.files import BROKEN, DAMAGE
from residuum.collections.lines import COMPRESSED, opened
from residuum.config import roots

REMEDY = (
    "Delete it and get it again; `residuum datasets check` compares files with their published "
    "hashes."
)
MOST_SHOWN = 60  # bytes shown of a faulty line
Packed = IO[bytes] | gzip.GzipFile
Fault = tuple[str | None, int | None, str]  # member of an archive, line from 1, message
_EXPECTED = re.compile(r"expected (\d+) (fields|columns), got \d+")
_FILES = re.compile(r"found (\d+) files of the expected (\d+)")
_watched: dict[int, tuple[str, list[Path]]] = {}  # by the list's id, as watches may be nested


class MissingDocId(Exception):
    """A reader returned a doc without an id."""


class TooFewDocs(Exception):
    """A reader ended without an error, and with fewer records than are pinned."""


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not _watched:
        return
    name, mode = arguments[:2]
    if not isinstance(name, (str, os.PathLike)) or not isinstance(mode, str):
        return
    path = Path(os.path.abspath(os.fsdecode(name)))
    for folder, seen in _watched.values():
        if str(path).startswith(folder) and path not in seen[-1:] and not set("wax") & set(mode):
            seen.append(path)


_listen = cache(sys.addaudithook)  # cached: a hook cannot be removed


@contextmanager
def opened_below(folder: Path) -> Iterator[list[Path]]:
    """Yield a list to which every file below `folder` that is opened for reading is added."""
    _listen(_note)
    seen: list[Path] = []
    _watched[id(seen)] = (os.path.abspath(folder) + os.sep, seen)
    try:
        yield seen
    finally:
        del _watched[id(seen)]


def first(paths: Sequence[Path], error: Exception) -> str | None:
    """Describe the first fault in the files, the last opened first; None if none is found."""
    if lacking := _FILES.search(str(error)):
        return _files_lacking(paths, *lacking.groups())
    for path in reversed(list(dict.fromkeys(paths))):
        docstore = any(part.endswith(".pklz4") for part in path.parts)  # ir_datasets' index
        if path.is_file() and not docstore and (fault := _look(path, error)):
            member, line, message = fault
            where = filter(None, [str(path), member, f"line {line}" if line else None])
            return f"{', '.join(where)}: {message}. {REMEDY}{_unpacked(path)}"
    return None


def _unpacked(path: Path) -> str:
    """Name the archives that a plain file may come from, which have to be deleted as well."""
    if path.suffix.lower() in (".gz", *COMPRESSED):
        return ""
    home = roots.irds().absolute()
    folders = [folder for folder in path.parents if home in folder.parents]
    archives = sorted(archive for folder in folders for archive in folder.glob("*.tar.gz"))
    names = ", ".join(map(str, archives))
    return f" If it was unpacked from an archive, delete that too: {names}." if archives else ""


def _files_lacking(paths: Sequence[Path], present: str, expected: str) -> str:
    folder = Path(os.path.commonpath(paths)) if paths else Path()
    counts = Counter(path.relative_to(folder).parts[0] for path in dict.fromkeys(paths))
    each = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    return (
        f"{folder}: {present} files where {expected} are expected ({each}). Compare with the disks "
        "and copy what is missing or take away what does not belong."
    )


def _look(path: Path, error: Exception) -> Fault | None:
    """Find a file's first fault; damage of compressed data takes precedence over faulty lines."""
    if isinstance(error, ParseError) and path.suffix == ".xml":
        return None, error.position[0], f"the XML ends early or is broken ({error})"
    fault: Fault | None = None
    lines, member = _Counted(io.BytesIO()), None
    broken_json = ".json" in path.suffixes and "JSON" in type(error).__name__
    try:
        for member, handle in _texts(path):
            lines = _Counted(handle)
            for line, message in _json_faults(lines) if broken_json else _faults(lines, error):
                fault = fault or (member, line, message)
    except DAMAGE as damage:
        damaged = fault[1] if fault else lines.number
        return member, damaged or None, f"{BROKEN} here or nearby ({damage})"
    return fault


def _texts(path: Path) -> Iterator[tuple[str | None, Packed]]:
    with opened(path) as handle:
        if path.suffix.lower() == ".gz" and ".tar" in path.suffixes:
            yield from streamed(handle)
        else:
            yield None, handle


def streamed(unpacked: Packed) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the files of a tar read as a stream; tarfile would stop silently at a bad header."""
    with tarfile.open(fileobj=unpacked, mode="r|") as tar:
        for entry in tar:
            if member := tar.extractfile(entry):
                yield entry.name.removeprefix("./"), member
    while unpacked.read(1 << 20):
        pass


class _Counted:
    """Lines of a binary file, iterated or read in pieces, with the number of the last line."""

    def __init__(self, handle: Packed) -> None:
        self.handle, self.number, self.ended = handle, 0, True

    def read(self, size: int = -1) -> bytes:
        piece = self.handle.readline(size)
        self.number += bool(piece and self.ended)
        self.ended = piece.endswith(b"\n") if piece else self.ended
        return piece

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.read, b"")


def _json_faults(lines: _Counted) -> Iterator[tuple[int, str]]:
    from ir_datasets import lazy_libs

    ijson = lazy_libs.ijson()
    try:
        deque(ijson.basic_parse(lines), maxlen=0)
    except ijson.JSONError as error:
        text = " ".join(str(error).split())[:MOST_SHOWN]
        yield lines.number, f"the JSON is broken or ends in the middle ({text})"
    deque(lines, maxlen=0)


def _faults(lines: _Counted, error: Exception) -> Iterator[tuple[int, str]]:
    """Yield faults that explain the reader's error, or that make a reader drop docs silently."""
    # In TREC's SGML, each <DOC> has a DOCNO and an end tag; each <top> has an end tag.
    tagged = isinstance(error, (MissingDocId, TooFewDocs, AssertionError))
    start, tag, named, line = 0, b"", True, b"\n"
    for line in lines:
        if message := _line_fault(line, error):
            yield lines.number, message
        opening = next(filter(line.startswith, (b"<DOC>", b"<top>")), b"")
        if tagged and opening:
            if tag:
                yield start, f"the {tag.decode()} that begins here does not end"
            start, tag, named = lines.number, opening, opening != b"<DOC>"
        elif tag == b"<DOC>" and line.startswith(b"<DOCNO>"):
            named = not re.fullmatch(rb"<DOCNO>\s*</DOCNO>\s*", line)
        elif tag and line.startswith(tag.replace(b"<", b"</")):
            if not named:
                yield start, "the <DOC> that begins here has no DOCNO"
            tag = b""
    if tag:
        yield start, f"the {tag.decode()} that begins here does not end"
    elif isinstance(error, TooFewDocs) and not line.endswith(b"\n"):
        text = f"the last line has no line end, as if it were cut short: {_shown(line)}"
        yield lines.number, text


def _line_fault(line: bytes, error: Exception) -> str | None:
    """Describe the fault of a line of a table, given the reader's error; None if it is sound."""
    if expected := _EXPECTED.search(str(error)):
        columns, tabbed = int(expected[1]), expected[2] == "fields"
        count = len(line.rstrip(b"\r\n").split(b"\t" if tabbed else None))
        if line.strip(b"\r\n") and count != columns:
            by = "tabs" if tabbed else "white space"
            text = f"{columns} columns, separated by {by}, are expected; {count} found"
            return f"{text}: {_shown(line)}"
    if isinstance(error, MissingDocId) and line.startswith(b"\t"):
        return f"the line has no id: {_shown(line)}"
    if isinstance(error, UnicodeDecodeError):
        try:
            line.decode()
        except UnicodeDecodeError as fault:
            return f"not UTF-8 ({fault.reason} at byte {fault.start} of the line)"
    if "invalid literal for int()" in str(error) and not re.search(rb"(^|\s)[+-]?\d+\s*$", line):
        return f"the relevance must be a whole number: {_shown(line)}"
    return None


def _shown(line: bytes) -> str:
    text = line.rstrip(b"\r\n").decode(errors="replace")
    return repr(text[:MOST_SHOWN]) + " ..." * (len(text) > MOST_SHOWN)


def listed(paths: Iterable[Path]) -> str:
    """Name files for a message: all of a few, else the first and their number."""
    every = list(dict.fromkeys(paths))
    shown = ", ".join(map(str, every[:3]))
    return shown + (f" and {len(every) - 3:,} others" if len(every) > 3 else "")

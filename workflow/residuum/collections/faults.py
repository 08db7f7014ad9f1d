"""Where a file of somebody else's collection is broken: the file, the line, what stands there.

Usage: `faults.first(paths, error)` after a reader failed with that error, or with `MissingDocId` or
`TooFewDocs` where it noticed nothing. Reads files again, from the last one opened to the first.
Must not know any collection.
"""

import gzip
import io
import os
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple
from xml.etree.ElementTree import ParseError

from residuum.config import roots

DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError)
COMPRESSED = (".z", ".0z", ".1z", ".2z")  # Unix compress, as on TREC's disks
REMEDY = (
    "Delete it and get it again; `residuum datasets check` compares files with their published "
    "hashes."
)
BROKEN = "the compressed data is cut short or damaged"
MOST_SHOWN = 60  # bytes of an offending line
Packed = IO[bytes] | gzip.GzipFile
_EXPECTED = re.compile(r"expected (\d+) (fields|columns), got \d+")
_FILES = re.compile(r"found (\d+) files of the expected (\d+)")


class MissingDocId(Exception):
    """A reader handed on a doc without an id."""


class TooFewDocs(Exception):
    """A reader ended without an error and with fewer records than are pinned."""


class Fault(NamedTuple):
    """A line, counted from 1, and what is wrong there; None where no line is known."""

    line: int | None
    message: str
    member: str | None = None


def first(paths: Sequence[Path], error: Exception) -> str | None:
    """Word the first fault that stands in one of the files; None where all look sound."""
    if lacking := _FILES.search(str(error)):
        return _files_lacking(paths, *map(int, lacking.groups()))
    for path in reversed(list(dict.fromkeys(paths))):
        docstore = any(part.endswith(".pklz4") for part in path.parts)  # ir_datasets' own form
        fault = _look(path, error) if path.is_file() and not docstore else None
        if fault:
            return _worded(path, fault)
    return None


def _worded(path: Path, fault: Fault) -> str:
    line = f"line {fault.line}" if fault.line else None
    place = ", ".join(filter(None, [str(path), fault.member, line]))
    return f"{place}: {fault.message}. {REMEDY}{_unpacked(path)}"


def _unpacked(path: Path) -> str:
    """Name the archives that a plain file may have been unpacked from, which must go as well."""
    if path.suffix.lower() in (".gz", *COMPRESSED):
        return ""
    home = roots.irds().absolute()
    folders = [folder for folder in path.parents if home in folder.parents]
    archives = sorted(archive for folder in folders for archive in folder.glob("*.tar.gz"))
    names = ", ".join(map(str, archives))
    return f" If it was unpacked from an archive, delete that too: {names}." if archives else ""


def _files_lacking(paths: Sequence[Path], found: int, expected: int) -> str:
    folder = Path(os.path.commonpath(paths)) if paths else Path()
    counts = Counter(path.relative_to(folder).parts[0] for path in dict.fromkeys(paths))
    each = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    return (
        f"{folder}: {found} files where {expected} are expected ({each}). Compare with the disks "
        "and copy what is missing or take away what does not belong."
    )


def _look(path: Path, error: Exception) -> Fault | None:
    """Read a file to its end; damage of compressed data says more than what it made of a line."""
    if isinstance(error, ParseError) and path.suffix == ".xml":
        return Fault(error.position[0], f"the XML ends early or is broken ({error})")
    found: Fault | None = None
    lines, member = _Counted(io.BytesIO()), None
    broken_json = ".json" in path.suffixes and "JSON" in type(error).__name__
    try:
        for member, handle in _texts(path):
            lines = _Counted(handle)
            fault = _json(lines) if broken_json else _check(lines, error)
            found = found or (fault and fault._replace(member=member))
            for _ in lines:
                pass
    except DAMAGE as damage:
        line = found.line if found else lines.number
        return Fault(line or None, f"{BROKEN} here or nearby ({damage})", member)
    return found


def _texts(path: Path) -> Iterator[tuple[str | None, Packed]]:
    """Open a file's text, or that of each member of a tar."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSED:
        yield None, io.BytesIO(_unlzw(path))
    elif suffix == ".gz" and ".tar" in path.suffixes:
        with gzip.open(path) as unpacked:
            yield from streamed(unpacked)
    else:
        with gzip.open(path) if suffix == ".gz" else open(path, "rb") as handle:
            yield None, handle


def _unlzw(path: Path) -> bytes:
    from ir_datasets import lazy_libs

    try:
        return bytes(lazy_libs.unlzw3().unlzw(path))
    except ValueError as error:
        raise zlib.error(str(error)) from None


def streamed(unpacked: Packed) -> Iterator[tuple[str, IO[bytes]]]:
    """Stream the files of a tar that is read forwards only; tarfile itself ends at a bad header."""
    with tarfile.open(fileobj=unpacked, mode="r|") as tar:
        for entry in tar:
            if member := tar.extractfile(entry):
                yield entry.name.removeprefix("./"), member
    while unpacked.read(1 << 20):
        pass


class _Counted:
    """Lines of bytes, iterated or read piece by piece, and the number of the last one."""

    def __init__(self, handle: Packed) -> None:
        self.handle, self.number, self.ended = handle, 0, True

    def read(self, size: int = -1) -> bytes:
        piece = self.handle.readline(size)
        self.number += bool(piece and self.ended)
        self.ended = piece.endswith(b"\n") if piece else self.ended
        return piece

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.read, b"")


def _json(lines: _Counted) -> Fault | None:
    from ir_datasets import lazy_libs

    ijson = lazy_libs.ijson()
    try:
        for _ in ijson.basic_parse(lines):
            pass
    except ijson.JSONError as error:
        text = " ".join(str(error).split())[:MOST_SHOWN]
        return Fault(lines.number, f"the JSON is broken or ends in the middle ({text})")
    return None


def _check(lines: _Counted, error: Exception) -> Fault | None:
    """Look for what the reader complained of, or for what makes it drop docs without a word."""
    tags, tagged = _Docs(), isinstance(error, (MissingDocId, TooFewDocs, AssertionError))
    line = b"\n"
    for line in lines:
        fault = _line_fault(lines.number, line, error)
        if fault := fault or (tags.line(lines.number, line) if tagged else None):
            return fault
    if isinstance(error, TooFewDocs) and not (line.endswith(b"\n") or tags.end()):
        text = f"the last line has no line end, as if it were cut short: {_shown(line)}"
        return Fault(lines.number, text)
    return tags.end()


def _line_fault(number: int, line: bytes, error: Exception) -> Fault | None:
    """Say what is wrong with a line of a table, looking for what the reader complained of."""
    if expected := _EXPECTED.search(str(error)):
        columns, tabbed = int(expected[1]), expected[2] == "fields"
        found = len(line.rstrip(b"\r\n").split(b"\t" if tabbed else None))
        if line.strip(b"\r\n") and found != columns:
            by = "tabs" if tabbed else "white space"
            text = f"{columns} columns, separated by {by}, are expected; {found} found"
            return Fault(number, f"{text}: {_shown(line)}")
    if isinstance(error, MissingDocId) and line.startswith(b"\t"):
        return Fault(number, f"the line has no id: {_shown(line)}")
    if isinstance(error, UnicodeDecodeError):
        try:
            line.decode()
        except UnicodeDecodeError as fault:
            return Fault(number, f"not UTF-8 ({fault.reason} at byte {fault.start} of the line)")
    if "invalid literal for int()" in str(error) and not re.search(rb"(^|\s)[+-]?\d+\s*$", line):
        return Fault(number, f"the relevance must be a whole number: {_shown(line)}")
    return None


class _Docs:
    """Follows TREC's tags: each <DOC> has a DOCNO and an end, each <top> an end."""

    def __init__(self) -> None:
        self.start, self.tag, self.named = 0, b"", True

    def line(self, number: int, line: bytes) -> Fault | None:
        tag = next((tag for tag in (b"<DOC>", b"<top>") if line.startswith(tag)), b"")
        if tag:
            fault = self.end()
            self.start, self.tag, self.named = number, tag, tag != b"<DOC>"
            return fault
        if self.tag == b"<DOC>" and line.startswith(b"<DOCNO>"):
            self.named = not re.fullmatch(rb"<DOCNO>\s*</DOCNO>\s*", line)
        if self.tag and line.startswith(self.tag.replace(b"<", b"</")):
            named, self.tag = self.named, b""
            return None if named else Fault(self.start, "the <DOC> that begins here has no DOCNO")
        return None

    def end(self) -> Fault | None:
        what = self.tag.decode()
        return Fault(self.start, f"the {what} that begins here does not end") if what else None


def _shown(line: bytes) -> str:
    text = line.rstrip(b"\r\n").decode(errors="replace")
    return repr(text[:MOST_SHOWN]) + " ..." * (len(text) > MOST_SHOWN)


def listed(paths: Iterable[Path]) -> str:
    """Name files for a message; of many, the first and how many there are."""
    every = list(dict.fromkeys(paths))
    shown = ", ".join(map(str, every[:3]))
    return shown + (f" and {len(every) - 3:,} others" if len(every) > 3 else "")

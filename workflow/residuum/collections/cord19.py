"""Read a full release of CORD-19: a row of metadata per paper, and parsed texts in tars.

Usage: `papers(archive, store)`; `store` is a zip file of the parsed texts. Releases before 12 May
2020 have a tar per subset, and say whether a parse exists. Later releases have a single tar, and
name the parse's file.
"""

import csv
import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.collections.faults import BROKEN, DAMAGE, REMEDY, streamed

METADATA = "metadata.csv"
Row = dict[str, str]


class Paper(NamedTuple):
    """A row of the metadata, with its body as (section, paragraph); no parse means no body."""

    doc_id: str
    title: str
    doi: str
    date: str
    abstract: str
    body: list[tuple[str, str]]


def papers(archive: Path, store: Path) -> Iterator[Paper]:
    """Stream the papers of a release; repeated rows are repeated.

    If the release lacks a parse that the metadata names, the body is empty, and standard error
    reports a count. An unreadable file raises ResiduumError with archive, member and line.
    """
    rows = _metadata(archive)
    _store(archive, store, {parse_of(row) for row in rows} - {""})
    with ZipFile(store) as bodies:
        stored = set(bodies.namelist())
        for row in rows:
            plain = row["cord_uid"], row["title"], row["doi"], row["publish_time"], row["abstract"]
            parse = parse_of(row)
            parts = json.loads(bodies.read(parse)) if parse in stored else []
            yield Paper(*plain, [(section, text) for section, text in parts])


def parse_of(row: Row) -> str:
    """Return the path of the preferred parse: PMC's XML, else the first PDF's, else ""."""
    if "pmc_json_files" in row:
        return (row["pmc_json_files"] or row["pdf_json_files"]).split(";")[0].strip()
    folder = row["full_text_file"]
    if row["has_pmc_xml_parse"] == "True":
        return f"{folder}/pmc_json/{row['pmcid']}.xml.json"
    if row["has_pdf_parse"] == "True":
        return f"{folder}/pdf_json/{row['sha'].split(';')[0].strip()}.json"
    return ""


def _metadata(archive: Path) -> list[Row]:
    for name, member in _members(archive):
        if name.rpartition("/")[2] == METADATA:
            return list(_rows(f"{archive}, {name}", member))
    raise ResiduumError(f"{archive}: it holds no {METADATA}. {REMEDY}")


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with _readable(str(archive)), gzip.open(archive) as unpacked:
        yield from streamed(unpacked)


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """Turn an error of damaged compressed data in the block into one that names its place."""
    try:
        yield
    except DAMAGE as error:
        raise ResiduumError(f"{where}: {BROKEN} ({error}). {REMEDY}") from None


def _rows(where: str, lines: Iterable[bytes]) -> Iterator[Row]:
    """Yield the metadata's rows; only line feeds end a line, as titles may hold U+2028."""
    reader = csv.reader((line.decode() for line in lines), strict=True)
    start = 1
    try:
        header = _checked(next(reader, []))
        start = reader.line_num + 1
        for cells in reader:
            if cells:
                yield _row(header, cells)
            start = reader.line_num + 1
        return
    except csv.Error as error:
        message = f"a quote in the row that begins here is not closed, or not doubled ({error})"
    except UnicodeDecodeError as error:
        start, message = reader.line_num + 1, f"not UTF-8 ({error})"
    except ValueError as error:
        message = str(error)
    raise ResiduumError(f"{where}, line {start}: {message}. {REMEDY}")


def _checked(header: list[str]) -> list[str]:
    """Return a header that has the columns of one of the two layouts; else raise ResiduumError."""
    needed = {"cord_uid", "title", "doi", "publish_time", "abstract"}
    old = {"has_pmc_xml_parse", "has_pdf_parse", "full_text_file", "pmcid", "sha"}
    layout = {"pmc_json_files", "pdf_json_files"} if "pmc_json_files" in header else old
    if missing := sorted((needed | layout) - set(header)):
        raise ValueError(f"the header lacks {', '.join(missing)}")
    return header


def _row(header: list[str], cells: list[str]) -> Row:
    if len(cells) != len(header):
        raise ValueError(f"the row has {len(cells)} columns where the header has {len(header)}")
    row = dict(zip(header, cells, strict=True))
    if not row["cord_uid"].strip():
        raise ValueError("the row has no cord_uid")
    return row


def _store(archive: Path, store: Path, required: set[str]) -> None:
    """Make the store of this archive's parses unless it exists."""
    state, missing = archive.stat(), set(required)
    mark = f"1 {state.st_size} {state.st_mtime_ns}".encode()  # format, archive
    with suppress(FileNotFoundError, BadZipFile), ZipFile(store) as made:
        if made.comment == mark:
            return
    with files.whole(store) as temporary, ZipFile(temporary, "w", ZIP_DEFLATED) as bodies:
        bodies.comment = mark
        parses = _parses(archive, missing)
        for name, body in track(parses, f"read {archive.name}", len(required), "parses"):
            bodies.writestr(name, body, compresslevel=1)
            missing.remove(name)
    if missing:
        print(
            f"{archive.name}: {len(missing):,} of {len(required):,} parses that {METADATA} names "
            f"are not in the release; their bodies are empty. The first is {min(missing)}",
            file=sys.stderr,
        )


def _parses(archive: Path, required: set[str]) -> Iterator[tuple[str, bytes]]:
    for packed, member in _members(archive):
        if packed.endswith(".tar.gz"):
            where = f"{archive}, {packed}"
            with _readable(where):
                for name, parse in streamed(gzip.GzipFile(fileobj=member)):
                    if name in required:
                        yield name, _body(f"{where}/{name}", parse.read())


def _body(where: str, text: bytes) -> bytes:
    """Return the sections and paragraphs of a parse; another text raises ResiduumError."""
    try:
        parts = json.loads(text).get("body_text", [])
        return json.dumps([(part["section"], part["text"]) for part in parts]).encode()
    except json.JSONDecodeError as error:
        message = f"{where}, line {error.lineno}: not JSON ({error.msg})"
    except (UnicodeDecodeError, AttributeError, KeyError, TypeError) as error:
        message = f"{where}: not a parse of a paper ({type(error).__name__}: {error})"
    raise ResiduumError(f"{message}. {REMEDY}")

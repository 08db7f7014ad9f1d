"""Read a full release of CORD-19: a row of metadata per paper, and parsed texts in tars.

Usage: `papers(archive, store)`; `store` is a zip file of the parsed texts. Releases before 12 May
2020 have a tar per subset, and say whether a parse exists. Later releases have a single tar, and
name the parse's file.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from residuum.artefacts.files import undamaged, whole
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.collections.faults import REMEDY, streamed
from residuum.collections.forms import csv_rows
from residuum.collections.lines import decoded

METADATA = "metadata.csv"
NEEDED = {"cord_uid", "title", "doi", "publish_time", "abstract"}  # columns
OLD_LAYOUT = {"has_pmc_xml_parse", "has_pdf_parse", "full_text_file", "pmcid", "sha"}
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
            where = f"{archive}, {name}"
            lines = (line for _, line in decoded(where, member, hint=REMEDY))
            return [_checked(*row) for row in csv_rows(where, lines, REMEDY)]
    raise ResiduumError(f"{archive}: it holds no {METADATA}. {REMEDY}")


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with undamaged(archive, REMEDY), gzip.open(archive) as unpacked:
        yield from streamed(unpacked)


def _checked(where: str, row: Row) -> Row:
    """Return a row that has the columns of one of the two layouts, and an id."""
    layout = {"pmc_json_files", "pdf_json_files"} if "pmc_json_files" in row else OLD_LAYOUT
    if missing := sorted((NEEDED | layout) - row.keys()):
        start = where.rpartition(",")[0]
        raise ResiduumError(f"{start}, line 1: the header lacks {', '.join(missing)}. {REMEDY}")
    if not row["cord_uid"].strip():
        raise ResiduumError(f"{where}: the row has no cord_uid. {REMEDY}")
    return row


def _store(archive: Path, store: Path, required: set[str]) -> None:
    """Make the store of this archive's parses unless it exists."""
    state, missing = archive.stat(), set(required)
    mark = f"1 {state.st_size} {state.st_mtime_ns}".encode()  # format, archive
    with suppress(FileNotFoundError, BadZipFile), ZipFile(store) as made:
        if made.comment == mark:
            return
    with whole(store) as temporary, ZipFile(temporary, "w", ZIP_DEFLATED) as bodies:
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
            with undamaged(where, REMEDY):
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

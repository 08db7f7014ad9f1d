"""TREC's forms: docs in SGML, and topics, in <top> elements or in XML.

Usage: `docs(path, "latin-1")` yields records with title and body, `topics(path, "title", ...)`
query_ids and texts. Text is taken out of markup as ir_datasets does it for TREC's disks. Must not
know any collection.
"""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from residuum.artefacts.files import damaged
from residuum.cli.errors import ResiduumError, unknown
from residuum.collections.faults import COMPRESSED

AGAIN = "Get the file again."
MOST_SHOWN = 60  # characters of an offending line
# Of ir_datasets/formats/trec.py: TrecDocs, whose parser `sax` reads the disks; TrecQueries.
TITLE = {"headline", "title", "h3", "h4"}
BODY = {"text", "hl", "head", "ttl", "dd", "date", "lp", "leadpara"}
DOCNO = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.S)
TAGS = {
    "query_id": re.compile(r"<num>\s*(?:Number:)?"),
    "title": re.compile(r"<title>\s*(?:Topic:)?"),
    "description": re.compile(r"<desc>\s*(?:Description:)?"),
    "narrative": re.compile(r"<narr>\s*(?:Narrative:)?"),
}
NUMBERS = ("number", "num", "id")  # what XML calls a topic's id


def docs(path: Path, encoding: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each doc of a file and where it starts: doc_id, title and body.

    Markup that does not close, a doc without a DOCNO, and a file without docs are ResiduumErrors.
    """
    start, lines, count = 0, list[str](), 0
    for number, line in _lines(path, encoding):
        where = f"{path}, line {number}"
        for part in re.split(r"(?<=</DOC>)(?!\n)", line):
            opens = "<DOC>" in part
            if opens and start:
                text = f"<DOC> within the doc of line {start}, which lacks its </DOC>"
                raise ResiduumError(f"{where}: {text}. Add it, or get the file again.")
            start = number if opens else start
            if start:
                lines.append(part)
            if "</DOC>" in part:
                if not start:
                    raise ResiduumError(f"{where}: </DOC> closes no doc. {AGAIN}")
                yield f"{path}, line {start}", _doc(f"{path}, line {start}", "".join(lines))
                start, lines, count = 0, [], count + 1
    if start:
        text = f"<DOC> without </DOC> to the file's end: it is cut short. {AGAIN}"
        raise ResiduumError(f"{path}, line {start}: {text}")
    if not count:
        raise ResiduumError(f"{path}: no <DOC> in it; expected docs in TREC's SGML")


def _doc(where: str, markup: str) -> dict[str, object]:
    from ir_datasets.util.html_parsing import sax_html_parser

    if (docno := DOCNO.search(markup)) is None:
        text = f"a doc without <DOCNO>its id</DOCNO>: {markup[:MOST_SHOWN]!r}"
        raise ResiduumError(f"{where}: {text}")
    title, body = sax_html_parser(markup[markup.index("<DOC>") :], fields=[TITLE, BODY])
    return {"doc_id": docno[1].strip(), "title": title, "body": body}


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        with _opened(path) as handle:
            for number, line in enumerate(handle, start=1):
                text = line.decode(encoding)
                yield number, text.removeprefix("\ufeff") if number == 1 else text
    except UnicodeDecodeError as error:
        text = f"not {encoding.upper()} ({error.reason} at byte {error.start} of the line)"
        hint = "Older collections are latin-1: say `encoding: latin-1` in the source"
        raise ResiduumError(f"{path}, line {number}: {text}. {hint}.") from None
    except LookupError:
        raise ResiduumError(f"source.encoding: {encoding}: Python has no such encoding") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ResiduumError(damaged(path, error, AGAIN)) from None


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix.lower() not in COMPRESSED:
        return open(path, "rb")
    from ir_datasets import lazy_libs

    try:
        return io.BytesIO(lazy_libs.unlzw3().unlzw(path))
    except ValueError as error:
        raise ResiduumError(f"{path}: no data of compress, or damaged ({error}). {AGAIN}") from None


def topics(path: Path, field: str, encoding: str) -> Iterator[tuple[str, str]]:
    """Yield query_id and the text of one field of each topic: title, description or narrative.

    XML may have others; a topic without the field, or without a number, is a ResiduumError.
    """
    if ".xml" in path.suffixes:
        yield from _xml_topics(path, field)
        return
    if field not in TAGS or field == "query_id":
        known = {*TAGS} - {"query_id"}
        raise ResiduumError(f"query_field: {unknown('field of a topic', field, known)}")
    fields, reading, start, count = dict[str, str](), "", 0, 0
    for number, line in _lines(path, encoding):
        if line.startswith("<top>"):
            if start:
                raise _unclosed(path, start)
            start = number
        elif line.startswith("</top>"):
            yield _topic(f"{path}, line {start or number}", fields, field)
            fields, reading, start, count = {}, "", 0, count + 1
        elif match := next(((n, m) for n, tag in TAGS.items() if (m := tag.match(line))), None):
            reading, fields[match[0]] = match[0], line[match[1].end() :]
        elif line.startswith("<") and not line.startswith("</"):
            reading = ""  # of another section
        elif reading:
            fields[reading] += line
    if start:
        raise _unclosed(path, start)
    if not count:
        raise ResiduumError(f"{path}: no <top> in it; expected topics in TREC's form")


def _unclosed(path: Path, start: int) -> ResiduumError:
    return ResiduumError(f"{path}, line {start}: <top> without </top>. Add it, or get it again.")


def _topic(where: str, fields: dict[str, str], field: str) -> tuple[str, str]:
    clean = {name: re.sub(r"</\w+>", "", text).strip() for name, text in fields.items()}
    for needed in ("query_id", field):
        if not clean.get(needed):
            has = ", ".join(name for name in clean if clean[name]) or "nothing"
            number = " <num>" if needed == "query_id" else ""
            raise ResiduumError(f"{where}: a topic without {needed}{number}; it has {has}")
    return clean["query_id"], clean[field]


def _xml_topics(path: Path, field: str) -> Iterator[tuple[str, str]]:
    try:
        with _opened(path) as handle:
            root = ElementTree.parse(handle).getroot()
    except ElementTree.ParseError as error:
        line, _ = error.position
        text = f"the XML ends early or is broken ({error}). {AGAIN}"
        raise ResiduumError(f"{path}, line {line}: {text}") from None
    for number, topic in enumerate(root, start=1):
        children = {child.tag: "".join(child.itertext()) for child in topic}
        fields = {**topic.attrib, **children}
        query_id = next((fields[name] for name in NUMBERS if name in fields), "")
        where = f"{path}, topic {number}"
        yield _topic(where, {**fields, "query_id": query_id}, field)

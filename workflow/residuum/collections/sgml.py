"""Read TREC's forms: docs in SGML, and topics in <top> elements or in XML.

Usage: `docs(path, "latin-1")` yields records with title and body, `topics(path, "title", ...)`
query_ids and texts. Text is taken out of markup as ir_datasets does for TREC's disks.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from residuum.artefacts.files import undamaged
from residuum.cli.errors import ResiduumError, unknown
from residuum.collections.lines import AGAIN, MOST_SHOWN, ended, opened

OLDER = "Older collections are latin-1: say `encoding: latin-1` in the source."
# From ir_datasets/formats/trec.py: TrecDocs, whose parser `sax` reads the disks, and TrecQueries.
TITLE = {"headline", "title", "h3", "h4"}
BODY = {"text", "hl", "head", "ttl", "dd", "date", "lp", "leadpara"}
DOCNO = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.S)
TAGS = {  # names of a topic's parts in TREC's files, and labels before their text
    "num": ("query_id", "Number:"),
    "title": ("title", "Topic:"),
    "desc": ("description", "Description:"),
    "narr": ("narrative", "Narrative:"),
}
OF_TOPICS = [name for name, _ in TAGS.values() if name != "query_id"]
# A part begins at its tag, anywhere in a line; any other tag at the start of a line ends it.
PARTS = re.compile(rf"(?=</?top>|<(?:{'|'.join(TAGS)})>)", re.I)
PART = re.compile(r"\s*<(/?\w+)\b[^>]*>")
NUMBERS = ("number", "num", "id")  # what XML calls a topic's id


def docs(path: Path, encoding: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield (file and line, record) of each doc of a file; a record has doc_id, title and body.

    Unclosed markup, a doc without a DOCNO, and a file without docs raise ResiduumError.
    """
    start, lines, count = 0, list[str](), 0
    for number, line in ended(path, encoding, OLDER):
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
    if DOCNO.search(markup, docno.end()):
        text = f"a doc with a second <DOCNO>, where each doc has one id: {markup[:MOST_SHOWN]!r}"
        raise ResiduumError(f"{where}: {text}")
    title, body = sax_html_parser(markup[markup.index("<DOC>") :], fields=[TITLE, BODY])
    return {"doc_id": docno[1].strip(), "title": title, "body": body}


def is_topics(path: Path, encoding: str) -> bool:
    """Say whether a file holds topics: its name ends in .xml, or it begins as topics do."""
    if any(suffix.lower() == ".xml" for suffix in path.suffixes):
        return True
    return bool(re.match(r"<(top|topics|topic|\?xml)\b", _start(path, encoding), re.I))


def _start(path: Path, encoding: str) -> str:
    return next((line.strip() for _, line in ended(path, encoding, OLDER) if line.strip()), "")


def topics(path: Path, field: str, encoding: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield (file and line, (query_id, text)) of each topic, where the text is one of its fields.

    TREC's fields are title, description and narrative; XML may have others. A topic without the
    field or a number raises ResiduumError.
    """
    if not _start(path, encoding).lower().startswith("<top>"):
        yield from _xml_topics(path, field)
        return
    if field not in OF_TOPICS:
        raise ResiduumError(f"query_field: {unknown('field of a topic', field, OF_TOPICS)}")
    fields, reading, start = dict[str, str](), "", 0
    for number, line in ended(path, encoding, OLDER):
        for part in filter(None, PARTS.split(line)):
            match = PART.match(part)
            tag = match[1].lower() if match else ""
            if tag == "top":
                if start:
                    raise _unclosed(path, start)
                start = number
            elif tag == "/top":
                where = f"{path}, line {start or number}"
                yield where, _topic(where, fields, field)
                fields, reading, start = {}, "", 0
            elif match and tag in TAGS:
                reading, before = TAGS[tag]
                if reading in fields:
                    raise _twice(f"{path}, line {number}", tag)
                fields[reading] = part[match.end() :].lstrip().removeprefix(before)
            elif match and not tag.startswith("/"):
                reading = ""  # another section begins
            elif reading:
                fields[reading] += part
    if start:
        raise _unclosed(path, start)


def _unclosed(path: Path, start: int) -> ResiduumError:
    return ResiduumError(f"{path}, line {start}: <top> without </top>. Add it, or get it again.")


def _twice(where: str, tag: str) -> ResiduumError:
    return ResiduumError(f"{where}: a second <{tag}> in one topic, which has one. Delete one.")


def _topic(where: str, fields: dict[str, str], field: str) -> tuple[str, str]:
    clean = {name: re.sub(r"</\w+>", "", text).strip() for name, text in fields.items()}
    for needed in ("query_id", field):
        if not clean.get(needed):
            has = ", ".join(name for name in clean if clean[name]) or "nothing"
            number = " <num>" if needed == "query_id" else ""
            raise ResiduumError(f"{where}: a topic without {needed}{number}; it has {has}")
    return clean["query_id"], clean[field]


def _xml_topics(path: Path, field: str) -> Iterator[tuple[str, tuple[str, str]]]:
    try:
        with undamaged(path, AGAIN), opened(path) as handle:
            root = ElementTree.parse(handle).getroot()
    except ElementTree.ParseError as error:
        line, _ = error.position
        text = f"the XML ends early or is broken ({error}). {AGAIN}"
        raise ResiduumError(f"{path}, line {line}: {text}") from None
    except (ValueError, LookupError) as error:
        text = f"its XML declares an encoding that cannot be read ({error}). Save it in UTF-8"
        raise ResiduumError(f"{path}, line 1: {text}") from None
    for number, topic in enumerate(root, start=1):
        children = {child.tag: "".join(child.itertext()) for child in topic}
        for tag in {field, *NUMBERS}:
            if len(topic.findall(tag)) > 1:
                raise _twice(f"{path}, topic {number}", tag)
        fields = {**topic.attrib, **(children or {"title": topic.text or ""})}  # without parts
        query_id = next((fields[name] for name in NUMBERS if name in fields), "")
        where = f"{path}, topic {number}"
        yield where, _topic(where, {**fields, "query_id": query_id}, field)

"""Read PubMed as NLM publishes it: gzipped XML files, in which newer files revise or delete.

Usage: `docs(collection)` of source `pubmed`. Files are read from the newest to the oldest, so that
the first record of a PMID is its last revision.
"""

import gzip
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError, iterparse

from residuum.artefacts.files import undamaged
from residuum.cli.errors import ResiduumError
from residuum.collections.files import resolved
from residuum.config.schema.datasets import Collection
from residuum.config.schema.sources import PubmedSource

NAME = re.compile(r"(pubmed\d\dn)(\d{4})\.xml\.gz")
MOST = 100_000_000  # PMIDs have at most eight digits
AGAIN = "Get the file again."


class Record(NamedTuple):
    """A record of MEDLINE; a missing abstract is ""."""

    pmid: int
    version: int
    title: str
    abstract: str


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Stream (PMID, fields) of the last revision of every record with an abstract.

    The text is title and abstract. Standard error reports the number of skipped records.
    ResiduumError names a file that is damaged, is no XML, differs from the MD5 beside it, or is
    missing in the numbering.
    """
    source, counts = collection.source, Counter[str]()
    assert isinstance(source, PubmedSource)
    paths = resolved(source.folder, collection.access, source.within)
    _check_numbers(paths)
    known = bytearray(MOST)  # by PMID: 1 if a newer file has or deletes it
    for path in reversed(paths):
        _check_sum(path)
        records, deleted = read(path)
        last = dict[int, Record]()
        for record in records:
            if record.pmid not in last or record.version >= last[record.pmid].version:
                last[record.pmid] = record
        counts["older revisions"] += len(records) - len(last)
        for pmid in deleted:
            known[pmid] = 1
        for record in last.values():
            if known[record.pmid]:
                counts["revised or deleted later"] += 1
            elif record.abstract:
                text = f"{record.title} {record.abstract}".strip()
                fields = {"title": record.title, "abstract": record.abstract}
                yield str(record.pmid), {"text": text, **fields}
            else:
                counts["records without an abstract"] += 1
            known[record.pmid] = 1
    left = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    if left:
        print(f"{paths[0].parent}: left out {left}", file=sys.stderr)


def read(path: Path) -> tuple[list[Record], list[int]]:
    """Return the records of a file, and the PMIDs that the file deletes."""
    records: list[Record] = []
    deleted: list[int] = []
    try:
        with undamaged(path, AGAIN), gzip.open(path) as file:
            events = iterparse(file, events=("start", "end"))
            _, root = next(events)
            for event, element in events:
                if event == "end" and element.tag == "PubmedArticle":
                    records.append(_record(path, len(records) + 1, element))
                    root.clear()
                elif event == "end" and element.tag == "DeleteCitation":
                    deleted += (_pmid(path, "DeleteCitation", one) for one in element.iter("PMID"))
    except ParseError as error:
        line, column = error.position
        text = f"not well-formed XML, or cut short, at column {column} ({error.msg})"
        raise ResiduumError(f"{path}, line {line}: {text}. {AGAIN}") from None
    if root.tag != "PubmedArticleSet":
        raise ResiduumError(f"{path}: expected a PubmedArticleSet, found {root.tag}. {AGAIN}")
    return records, deleted


def _record(path: Path, number: int, article: Element) -> Record:
    """Return a record with its own title; the parts of its abstract are joined by spaces."""
    found = article.find("MedlineCitation/PMID")  # others are those of references
    if found is None:
        raise ResiduumError(f"{path}, record {number}: it has no MedlineCitation/PMID. {AGAIN}")
    pmid = _pmid(path, f"record {number}", found)
    version = found.get("Version", "1")
    title = article.find("MedlineCitation/Article/ArticleTitle")
    parts = article.iterfind("MedlineCitation/Article/Abstract/AbstractText")
    abstract = " ".join(filter(None, map(_text, parts)))
    revision = int(version) if version.isdecimal() else 1
    return Record(pmid, revision, "" if title is None else _text(title), abstract)


def _pmid(path: Path, where: str, element: Element) -> int:
    text = (element.text or "").strip()
    if not re.fullmatch(r"[0-9]{1,8}", text):
        raise ResiduumError(f"{path}, {where}: a PMID has one to eight digits, found {text[:60]!r}")
    return int(text)


def _text(element: Element) -> str:
    """Return the text of an element and of markup within it, on one line."""
    return " ".join("".join(element.itertext()).split())


def _check_numbers(paths: Iterable[Path]) -> None:
    """Refuse files with other names, and gaps in the files' numbers."""
    numbers: dict[str, list[int]] = {}
    for path in paths:
        match = NAME.fullmatch(path.name)
        if not match:
            text = "no name of NLM's files, such as pubmed20n0001.xml.gz; put it elsewhere"
            raise ResiduumError(f"{path}: {text}")
        numbers.setdefault(match[1], []).append(int(match[2]))
    for stem, present in numbers.items():
        if gaps := [n for n in range(min(present), max(present)) if n not in present]:
            name = f"{stem}{gaps[0]:04}.xml.gz"
            text = f"{name} is missing ({len(gaps)} such files), and later ones are there. Get it"
            raise ResiduumError(f"{path.parent}: {text}")


def _check_sum(path: Path) -> None:
    """Compare a file with the MD5 file beside it, if there is one: `MD5(name)= hex`."""
    beside = path.with_name(f"{path.name}.md5")
    if not beside.is_file():
        return
    stated = re.search(r"\b[0-9a-f]{32}\b", beside.read_text(errors="replace").lower())
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "md5").hexdigest()
    if stated is None or stated[0] != found:
        said = stated[0] if stated else "no MD5"
        raise ResiduumError(f"{path}: its MD5 is {found}, {beside.name} says {said}. {AGAIN}")
